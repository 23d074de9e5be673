//! The pages for all rules of an account: the list, a single rule, and the trial of a message.

mod add;
mod change;
mod list;
mod rule;
mod trial;
mod trial_input;

use belfry::config::{Config, RateLimitMode};
use serde_json::{Value, json};

use crate::rules::pushrules_path;
use crate::support::browser::visible_text;
use crate::support::service::config_with;
use crate::support::{Browser, Service, TestClient, TestResponse};

const RULES_PATH: &str = "/oauth/account/rules";
const RULE_PATH: &str = "/oauth/account/rules/rule";
const TRY_PATH: &str = "/oauth/account/try";

/// A service with Alice, her client and her browser.
struct Alice {
    service: Service,
    client: TestClient,
    browser: Browser,
}

/// Returns a profile tag of 240 characters. Most of them are escaped in HTML.
fn long_escaped_tag(number: usize) -> String {
    format!("{}{number:03}", "&".repeat(237))
}

/// Returns Alice with a thousand device profiles of one rule each, as many as the limits allow.
async fn alice_with_a_thousand_profiles() -> Alice {
    let alice = Alice::new().await;
    let profiles = (0..1000).map(long_escaped_tag).map(|tag| {
        let rules = json!({ "override": [{ "rule_id": tag, "actions": [], "conditions": [] }] });
        (tag, rules)
    });
    let rules = json!({ "global": {}, "device": profiles.collect::<serde_json::Map<_, _>>() });
    let request_line = format!("POST {}", pushrules_path("import"));
    let response = alice.client.send(&request_line, rules.to_string()).await;
    assert_eq!(response.status, 200, "{response:?}");
    alice
}

impl Alice {
    async fn new() -> Self {
        Self::with_config(|_| ()).await
    }

    /// Starts a service without rate limits and with changed settings.
    async fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        let service = Service::start_with(config_with(|config| {
            config.limits.mode = RateLimitMode::Off;
            change(config);
        }))
        .await;
        let client = service.user_client("alice").await;
        let browser = service.browser().sign_in_as("alice").await;
        Self { service, client, browser }
    }

    /// Adds room rules in this order.
    async fn add_room_rules(&self, ids: &[&str]) {
        for id in ids.iter().rev() {
            let path = format!("global/room/{}", belfry_core::percent::encode(id));
            self.client.put_rule_ok(&path, &json!({ "actions": [] })).await;
        }
    }

    /// Returns the ids of the room rules in order, separated by spaces.
    async fn room_rule_ids(&self) -> String {
        let rules = self.client.get_rules("global/room/").await;
        let ids = rules.as_array().unwrap().iter().map(|rule| rule["rule_id"].as_str().unwrap());
        ids.collect::<Vec<_>>().join(" ")
    }

    /// Advances the clock until all sessions have expired.
    fn expire_sessions(&self) {
        self.service.clock.advance(365 * 86_400);
    }
}

/// A form on a page.
#[derive(Debug, Clone)]
struct PageForm {
    action: String,
    fields: Vec<(String, String)>,
    /// The values of its buttons.
    buttons: Vec<String>,
}

impl PageForm {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the form with this value in a field.
    fn with_field(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(field, _)| field != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    async fn submit(&self, browser: &mut Browser) -> TestResponse {
        let fields: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        browser.post(&self.action, &fields).await
    }

    /// Submits the form with one of its buttons.
    async fn press(&self, button: &str, browser: &mut Browser) -> TestResponse {
        assert!(self.buttons.iter().any(|value| value == button), "{button}: {self:?}");
        self.clone().with_field("change", button).submit(browser).await
    }
}

/// Replaces the HTML escapes in an attribute or in the text of an element.
fn unescape(html: &str) -> String {
    let escapes = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    escapes.iter().fold(html.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(unescape(rest.split_once('"')?.0))
}

/// Parses all forms on a page.
fn parse_forms(page: &TestResponse) -> Vec<PageForm> {
    let parse_form = |form: &str| {
        let (form_tag, rest) = form.split_once('>').unwrap();
        let content = rest.split_once("</form>").unwrap().0;
        let opening_tags = |name: &str| -> Vec<String> {
            let tag_start = format!("<{name} ");
            content
                .split(&tag_start)
                .skip(1)
                .map(|tag| format!(" {}", tag.split_once('>').unwrap().0))
                .collect()
        };
        let mut fields: Vec<(String, String)> = opening_tags("input")
            .iter()
            .map(|tag| {
                (attribute(tag, "name").unwrap(), attribute(tag, "value").unwrap_or_default())
            })
            .collect();
        for area in content.split("<textarea ").skip(1) {
            let (tag, text) = area.split_once('>').unwrap();
            let text = text.split_once("</textarea>").unwrap().0;
            // A browser ignores a line break at the beginning.
            let text = text.strip_prefix('\n').unwrap_or(text);
            fields.push((attribute(&format!(" {tag}"), "name").unwrap(), unescape(text)));
        }
        let buttons =
            opening_tags("button").iter().filter_map(|tag| attribute(tag, "value")).collect();
        PageForm { action: attribute(&format!(" {form_tag}"), "action").unwrap(), fields, buttons }
    };
    page.text.split("<form").skip(1).map(parse_form).collect()
}

/// Returns the form for the rule with this path.
#[track_caller]
fn rule_form(page: &TestResponse, rule: &str) -> PageForm {
    let form = parse_forms(page).into_iter().find(|form| form.field("rule") == Some(rule));
    form.unwrap_or_else(|| panic!("{rule}: {}", page.text))
}

/// Returns the URL of the page for the rule with this path.
fn rule_page_url(rule: &str) -> String {
    format!("{RULE_PATH}?rule={}", belfry_core::percent::encode(rule))
}

/// Returns the path and the query of a redirect, without the fragment.
#[track_caller]
fn location(response: &TestResponse) -> &str {
    assert_eq!(response.status, 303, "{response:?}");
    let location = response.header("location");
    location.split_once('#').map_or(location, |(path, _)| path)
}

/// Returns names that attack the page or the browser.
fn hostile_names() -> Vec<String> {
    [
        "<script>alert(1)<b>",
        "\" autofocus onfocus=\"alert(1)",
        "&amp;&#60;",
        "\u{202e}gnp.exe\u{2066}\u{2069}",
        "a\r\nb\tc\u{1}",
        "100% +&=?#;",
        "{{7*7}}{ $rule }",
        "  spaces  ",
        "ключ 鍵 مفتاح",
        "a.b..c",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(["x".repeat(255), "é".repeat(127), "<".repeat(255)])
    .collect()
}

/// Returns the path of a rule as forms contain it.
fn rule_path(scope: &str, kind: &str, id: &str) -> String {
    let [scope, id] = [scope, id].map(belfry_core::percent::encode);
    format!("{}/{kind}/{id}", scope.replace("%2F", "/"))
}

/// Returns the body of a rule that notifies.
fn notifying_rule() -> Value {
    json!({ "actions": ["notify"] })
}
