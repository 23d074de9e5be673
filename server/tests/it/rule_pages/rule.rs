//! The page that shows one rule as JSON.

use belfry_core::percent::encode;
use serde_json::json;

use super::{Alice, RULE_PATH, RULES_PATH, hostile_names, rule_page_url, rule_path, unescape};
use crate::oauth::assert_security_headers;
use crate::support::TestResponse;

/// Returns the JSON that the page shows.
#[track_caller]
fn json_on_page(page: &TestResponse) -> serde_json::Value {
    let (_, rest) = page.text.split_once("<pre class=\"source\" dir=\"ltr\">").unwrap();
    serde_json::from_str(&unescape(rest.split_once("</pre>").unwrap().0)).unwrap()
}

#[tokio::test]
async fn a_rule_is_displayed_as_the_api_returns_it() {
    let mut alice = Alice::new().await;
    let rule = json!({ "actions": ["notify"], "pattern": "p", "org.x": { "y": [1, null] } });
    alice.client.put_rule_ok("device/phone/room/b", &rule).await;
    for (rule, title, group) in [
        ("device/phone/room/b", "Messages in the room \u{2068}b\u{2069}", "Rooms"),
        (
            "global/underride/.m.rule.message",
            "Messages in all other rooms",
            "When nothing else fits",
        ),
        ("global/override/.m.rule.master", "Pause everything", "Before everything else"),
        ("global/content/.m.rule.contains_user_name", "Messages with your username", "Words"),
    ] {
        let page = alice.browser.get(&rule_page_url(rule)).await;
        // The list links to this page for deleting the rule, so the heading names it.
        page.assert_page(200, &format!("<h1>{title}</h1>"));
        page.assert_page(200, &format!("<title>{title} · "));
        page.assert_page(200, &format!("<p class=\"quiet small\">{group} · On "));
        page.assert_page(200, "The rule as JSON</h2>");
        assert_security_headers(&page, "'self'");
        assert_eq!(json_on_page(&page), alice.client.get_rules(rule).await, "{rule}");
    }
}

#[tokio::test]
async fn rules_with_hostile_names_are_displayed() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        let rule = rule_path("global", "content", &name);
        alice
            .client
            .put_rule_ok(&rule, &json!({ "actions": [], "pattern": name, "x": name }))
            .await;
        // The page is opened by the link on the list.
        let page = alice.browser.get(RULES_PATH).await;
        let (_, row) = page.text.split_once(&format!("value=\"{rule}\"")).unwrap();
        let (_, link) = row.split_once("class=\"button secondary\" href=\"").unwrap();
        let page = alice.browser.get(&unescape(link.split_once('"').unwrap().0)).await;
        for raw_text in ["<script>", "\u{202e}", "onfocus=\"alert", "\r"] {
            assert!(!page.text.contains(raw_text), "{raw_text:?}: {}", page.text);
        }
        assert_eq!(json_on_page(&page), alice.client.get_rules(&rule).await, "{name:?}");
        alice.client.delete_rule(&rule).await;
    }
}

#[tokio::test]
async fn unknown_rules_are_not_found() {
    let mut alice = Alice::new().await;
    for rule in ["", "x/room/a", "global/x/a", "global/room/a", "global/room/.m.rule.x"] {
        let path = format!("{RULE_PATH}?rule={}", encode(rule));
        alice.browser.get(&path).await.assert_page(404, "Page not found");
    }
    alice.browser.get(RULE_PATH).await.assert_page(404, "Page not found");
}
