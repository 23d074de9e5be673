//! A tab of a headless Chromium. All tests share one browser, in turns, since to start one takes
//! longer than to use it; each has a new tab and no cookies.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use axum::http::Method;
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use test_engines::{Chromedriver, EngineError};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard};
use url::{ParseError, Url};

/// How long anything may take on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Where the browser is talked to; longer than any test, as the browser is.
pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static DRIVER: LazyLock<Result<Chromedriver, EngineError>> = LazyLock::new(Chromedriver::start);
static BROWSER: Mutex<Option<Client>> = Mutex::const_new(None);

/// What a test sees, and where it points and types.
pub(super) struct Tab {
    client: Client,
    _turn: MutexGuard<'static, Option<Client>>,
}

impl Tab {
    /// A new tab; an error where there is no browser.
    pub(super) async fn open() -> Result<Self, &'static EngineError> {
        let driver = DRIVER.as_ref()?.url();
        let mut turn = BROWSER.lock().await;
        let client = match &*turn {
            Some(client) => client.clone(),
            None => turn.insert(start(&driver).await).clone(),
        };
        let before = client.windows().await.unwrap();
        let new = client.new_window(true).await.unwrap().handle;
        for window in before {
            client.switch_to_window(window).await.unwrap();
            client.close_window().await.unwrap();
        }
        client.switch_to_window(new).await.unwrap();
        let tab = Self { client, _turn: turn };
        tab.devtools("Network.enable", json!({})).await;
        tab.devtools("Network.clearBrowserCookies", json!({})).await;
        // As if its window were in front: otherwise the first click is what brings it there.
        tab.devtools("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await;
        Ok(tab)
    }

    pub(super) async fn goto(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    pub(super) async fn back(&self) {
        self.client.back().await.unwrap();
    }

    pub(super) async fn url(&self) -> Url {
        self.client.current_url().await.unwrap()
    }

    /// The element, as soon as it is there.
    pub(super) async fn find(&self, css: &str) -> Element {
        let wait = self.client.wait().at_most(PATIENCE);
        match wait.for_element(Locator::Css(css)).await {
            Ok(element) => element,
            Err(error) => panic!("{css}: {error}: {} {}", self.url().await, self.text().await),
        }
    }

    pub(super) async fn has(&self, css: &str) -> bool {
        !self.client.find_all(Locator::Css(css)).await.unwrap().is_empty()
    }

    pub(super) async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    /// Types into a field, in place of what it held.
    pub(super) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// What can be read, without the marks around names that keep their direction.
    pub(super) async fn text(&self) -> String {
        let text = self.evaluate("document.body?.innerText ?? ''").await;
        text.as_str().unwrap_or_default().replace(['\u{2068}', '\u{2069}'], "")
    }

    /// Waits until the page says this.
    pub(super) async fn says(&self, what: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text().await;
            if text.contains(what) {
                return;
            }
            assert!(Instant::now() < end, "{what}: {} {text}", self.url().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The value of an expression in the page.
    pub(super) async fn evaluate(&self, expression: &str) -> Value {
        self.client.execute(&format!("return {expression}"), vec![]).await.unwrap()
    }

    /// Runs a script that ends with the answer of a promise.
    pub(super) async fn run(&self, script: &str, promise: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap();
        let awaited =
            format!("const done = arguments[0]; ({promise}).then(done, (e) => done(String(e)))");
        self.client.execute_async(&awaited, vec![]).await.unwrap()
    }

    /// A picture of the whole page, this wide.
    pub(super) async fn picture(&self, width: u32) -> Vec<u8> {
        self.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        let mut height = 400;
        // The space above grows with the window, so the first answer is a little short.
        for _ in 0..3 {
            self.resize(width, height).await;
            let needed = self.evaluate("document.documentElement.scrollHeight").await;
            height = needed.as_u64().unwrap().try_into().unwrap();
        }
        self.client.screenshot().await.unwrap()
    }

    pub(super) async fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// `light` or `dark`.
    pub(super) async fn prefer(&self, scheme: &str) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// The languages that the browser asks for from now on.
    pub(super) async fn accept_language(&self, languages: &str) {
        let headers = json!({ "headers": { "Accept-Language": languages } });
        self.devtools("Network.setExtraHTTPHeaders", headers).await;
    }

    pub(super) async fn without_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// Keeps these files from being loaded, by a pattern of their URLs.
    pub(super) async fn without(&self, url: &str) {
        self.devtools("Network.setBlockedURLs", json!({ "urls": [url] })).await;
    }

    /// What Chromium can and `WebDriver` has no word for.
    async fn devtools(&self, command: &'static str, parameters: Value) {
        self.client.issue_cmd(Devtools { command, parameters }).await.unwrap();
    }
}

/// Starts the browser: as root it must do without its sandbox, and it is to call nobody but us.
async fn start(driver: &str) -> Client {
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
    ];
    let options = json!({ "args": arguments, "prefs": { "intl.accept_languages": "en-US" } });
    let wanted = json!({ "goog:chromeOptions": options, "pageLoadStrategy": "normal" });
    let Value::Object(wanted) = wanted else { unreachable!("it is one") };
    let mut builder = ClientBuilder::new(HttpConnector::new());
    builder.capabilities(wanted).connect(driver).await.unwrap()
}

#[derive(Debug)]
struct Devtools {
    command: &'static str,
    parameters: Value,
}

impl WebDriverCompatibleCommand for Devtools {
    fn endpoint(&self, driver: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        driver.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let body = json!({ "cmd": self.command, "params": self.parameters });
        (Method::POST, Some(body.to_string()))
    }
}
