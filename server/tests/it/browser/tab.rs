//! A tab in a headless Chromium. Tests reuse the browsers of earlier tests, because starting one is
//! slow. A browser runs one test at a time, in a new tab without cookies.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Method;
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use test_engines::{Chromedriver, EngineError};
use tokio::runtime::Runtime;
use url::{ParseError, Url};

/// The timeout of every wait, long enough for a loaded machine.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The runtime of the connection to the browser, which outlives the tests.
pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static DRIVER: LazyLock<Result<Chromedriver, EngineError>> = LazyLock::new(Chromedriver::start);
/// The browsers that no test uses at present.
static IDLE_BROWSERS: Mutex<Vec<Client>> = Mutex::new(vec![]);

/// Keys as `WebDriver` represents them in typed text.
pub(super) const TAB_KEY: &str = "\u{e004}";
pub(super) const ENTER_KEY: &str = "\u{e007}";
pub(super) const SHIFT_KEY: &str = "\u{e008}";
pub(super) const SPACE_KEY: &str = "\u{e00d}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Enter,
    Space,
}

/// A tab. When it is dropped, other tests can use its browser.
pub(super) struct Tab {
    client: Client,
}

impl Drop for Tab {
    fn drop(&mut self) {
        idle_browsers().push(self.client.clone());
    }
}

impl Tab {
    /// Opens a new tab; fails if there is no browser.
    pub(super) async fn open() -> Result<Self, &'static EngineError> {
        let driver_url = DRIVER.as_ref()?.url();
        let idle_browser = idle_browsers().pop();
        let client = match idle_browser {
            Some(client) => client,
            None => start_browser(&driver_url).await,
        };
        let old_windows = client.windows().await.unwrap();
        let new_window = client.new_window(true).await.unwrap().handle;
        for window in old_windows {
            client.switch_to_window(window).await.unwrap();
            client.close_window().await.unwrap();
        }
        client.switch_to_window(new_window).await.unwrap();
        let tab = Self { client };
        tab.run_devtools("Network.enable", json!({})).await;
        tab.run_devtools("Network.clearBrowserCookies", json!({})).await;
        // Emulates a focused window; otherwise the first click would only focus it.
        tab.run_devtools("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await;
        Ok(tab)
    }

    /// Opens a page, and waits until its buttons take effect.
    pub(super) async fn goto(&self, url: &str) {
        self.goto_without_waiting(url).await;
        self.wait_until_pause_ends().await;
    }

    /// Opens a page, whose buttons may not take effect yet.
    pub(super) async fn goto_without_waiting(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    pub(super) async fn go_back(&self) {
        self.client.back().await.unwrap();
        self.wait_until_pause_ends().await;
    }

    /// Waits until no button is shown as disabled any more.
    pub(super) async fn wait_until_pause_ends(&self) {
        self.find(":root:not(:has(button[aria-disabled]))").await;
    }

    pub(super) async fn url(&self) -> Url {
        self.client.current_url().await.unwrap()
    }

    pub(super) async fn find(&self, css: &str) -> Element {
        let wait = self.client.wait().at_most(TIMEOUT);
        match wait.for_element(Locator::Css(css)).await {
            Ok(element) => element,
            Err(error) => {
                panic!("{css}: {error}: {} {}", self.url().await, self.visible_text().await)
            }
        }
    }

    pub(super) async fn has_element(&self, css: &str) -> bool {
        !self.client.find_all(Locator::Css(css)).await.unwrap().is_empty()
    }

    pub(super) async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    pub(super) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Sends keys to the element that has the focus.
    pub(super) async fn press(&self, keys: &str) {
        self.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Presses a key that is not held already.
    pub(super) async fn key_down(&self, key: Key) {
        self.key_event("keyDown", key, false).await;
    }

    pub(super) async fn repeat_key(&self, key: Key) {
        self.key_event("keyDown", key, true).await;
    }

    pub(super) async fn key_up(&self, key: Key) {
        self.key_event("keyUp", key, false).await;
    }

    async fn key_event(&self, event_type: &str, key: Key, is_repeat: bool) {
        let (name, code, key_code, text) = match key {
            Key::Enter => ("Enter", "Enter", 13, "\r"),
            Key::Space => (" ", "Space", 32, " "),
        };
        let event = json!({
            "type": event_type,
            "key": name,
            "code": code,
            "windowsVirtualKeyCode": key_code,
            "text": text,
            "autoRepeat": is_repeat,
        });
        self.run_devtools("Input.dispatchKeyEvent", event).await;
    }

    /// Presses the mouse button in the middle of an element of the current page.
    pub(super) async fn mouse_down(&self, css: &str) {
        self.mouse_event("mousePressed", css).await;
    }

    pub(super) async fn mouse_up(&self, css: &str) {
        self.mouse_event("mouseReleased", css).await;
    }

    async fn mouse_event(&self, event_type: &str, css: &str) {
        self.find(css).await;
        let expression = format!(
            "(() => {{
                const element = document.querySelector(\"{css}\");
                element.scrollIntoView({{ block: 'center' }});
                const {{ x, y, width, height }} = element.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()"
        );
        let center = self.evaluate(&expression).await;
        let event = json!({
            "type": event_type,
            "x": center[0],
            "y": center[1],
            "button": "left",
            "clickCount": 1,
        });
        self.run_devtools("Input.dispatchMouseEvent", event).await;
    }

    /// Presses the tab key until the element has the focus.
    pub(super) async fn tab_to(&self, css: &str) {
        self.find(css).await;
        for _ in 0..200 {
            if self.has_element(&format!(":is({css}):focus")).await {
                return;
            }
            self.press(TAB_KEY).await;
        }
        panic!("{css} cannot be reached: {}", self.visible_text().await);
    }

    /// Returns the visible text, without bidirectional isolation characters.
    pub(super) async fn visible_text(&self) -> String {
        let value = self.evaluate("document.body?.innerText ?? ''").await;
        value.as_str().unwrap_or_default().replace(['\u{2068}', '\u{2069}'], "")
    }

    /// Waits until the page contains this text.
    pub(super) async fn wait_for_text(&self, expected: &str) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let text = self.visible_text().await;
            if text.contains(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{expected}: {} {text}", self.url().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until an element is in the visible part of the page.
    pub(super) async fn wait_until_in_view(&self, css: &str) {
        self.find(css).await;
        let is_in_view_expression = format!(
            "(({{ top, bottom }}) => top >= 0 && bottom <= innerHeight)\
             (document.querySelector(\"{css}\").getBoundingClientRect())"
        );
        let deadline = Instant::now() + TIMEOUT;
        while self.evaluate(&is_in_view_expression).await != true {
            assert!(Instant::now() < deadline, "{css} is not in view: {}", self.url().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn evaluate(&self, expression: &str) -> Value {
        self.client.execute(&format!("return {expression}"), vec![]).await.unwrap()
    }

    /// Returns the result of a promise that uses axe-core. Runs axe-core's script first unless the
    /// page already has it.
    pub(super) async fn run_axe(&self, script: &str, promise: &str) -> Value {
        if self.evaluate("typeof axe").await == "undefined" {
            self.client.execute(script, vec![]).await.unwrap();
        }
        let async_script =
            format!("const done = arguments[0]; ({promise}).then(done, (e) => done(String(e)))");
        self.client.execute_async(&async_script, vec![]).await.unwrap()
    }

    /// Returns a screenshot of the whole page with this width.
    pub(super) async fn screenshot(&self, width: u32) -> Vec<u8> {
        self.run_devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        let mut height = 400;
        // The top margin grows with the window, so the first height is too small.
        for _ in 0..3 {
            self.resize(width, height).await;
            let scroll_height = self.evaluate("document.documentElement.scrollHeight").await;
            height = scroll_height.as_u64().unwrap().try_into().unwrap();
        }
        self.client.screenshot().await.unwrap()
    }

    pub(super) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.run_devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Sets the preferred colour scheme, `light` or `dark`.
    pub(super) async fn prefer_color_scheme(&self, scheme: &str) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.run_devtools("Emulation.setEmulatedMedia", media).await;
    }

    pub(super) async fn set_accept_language(&self, languages: &str) {
        let headers = json!({ "headers": { "Accept-Language": languages } });
        self.run_devtools("Network.setExtraHTTPHeaders", headers).await;
    }

    /// Sets the time zone of scripts, such as `Europe/Berlin`.
    pub(super) async fn set_time_zone(&self, zone: &str) {
        self.run_devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })).await;
    }

    pub(super) async fn disable_scripts(&self) {
        self.run_devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// Runs a script in every new page, before its own scripts.
    pub(super) async fn run_in_new_pages(&self, script: &str) {
        let source = json!({ "source": script });
        self.run_devtools("Page.addScriptToEvaluateOnNewDocument", source).await;
    }

    pub(super) async fn block_url(&self, pattern: &str) {
        self.run_devtools("Network.setBlockedURLs", json!({ "urls": [pattern] })).await;
    }

    /// Runs a `DevTools` command, for features that `WebDriver` lacks.
    async fn run_devtools(&self, command: &'static str, parameters: Value) {
        self.client.issue_cmd(DevtoolsCommand { command, parameters }).await.unwrap();
    }
}

fn idle_browsers() -> MutexGuard<'static, Vec<Client>> {
    IDLE_BROWSERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a browser without a sandbox, which root cannot use, and without background requests.
async fn start_browser(driver_url: &str) -> Client {
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
    let capabilities = json!({ "goog:chromeOptions": options, "pageLoadStrategy": "normal" });
    let Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
    let mut builder = ClientBuilder::new(HttpConnector::new());
    builder.capabilities(capabilities).connect(driver_url).await.unwrap()
}

#[derive(Debug)]
struct DevtoolsCommand {
    command: &'static str,
    parameters: Value,
}

impl WebDriverCompatibleCommand for DevtoolsCommand {
    fn endpoint(&self, driver: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        driver.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let body = json!({ "cmd": self.command, "params": self.parameters });
        (Method::POST, Some(body.to_string()))
    }
}
