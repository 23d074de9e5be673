//! Hostile rule names on the page.

use belfry_core::percent;
use serde_json::json;

use super::{Alice, seen_field};
use crate::oauth::assert_security_headers;
use crate::support::browser::visible_text;

const HOSTILE_NAMES: [&str; 6] = [
    "<script>alert(1)<script>",
    "\"><img src=x onerror=alert(1)>",
    "\u{202e}gnp.exe\u{2069}\u{2066}",
    "a\r\nb\tc\u{7}",
    "{{7*7}} & %20 + {$x}",
    " ",
];

#[tokio::test]
async fn hostile_names_are_escaped_and_can_be_changed_and_removed() {
    let mut alice = Alice::new().await;
    let long_name = "\u{202e}<b>é".repeat(31) + "1234567";
    assert_eq!(long_name.len(), 255);
    let names: Vec<&str> = HOSTILE_NAMES.into_iter().chain([&*long_name]).collect();
    for name in &names {
        let id = percent::encode(name);
        alice
            .put_rule(
                &format!("global/content/{id}"),
                &json!({"pattern": name, "actions": ["notify"]}),
            )
            .await;
        alice
            .put_rule(&format!("device/{id}/content/x"), &json!({"pattern": "x", "actions": []}))
            .await;
        let user_id = percent::encode(&format!("@{}:x", name.trim()).replace('/', ""));
        if user_id.len() < 250 {
            alice.put_rule(&format!("global/sender/{user_id}"), &json!({"actions": []})).await;
        }
    }
    let page = alice.get_page().await;
    assert_security_headers(&page, "'self'");
    for tag in ["<script>alert", "<img", "<b>", "onerror=alert(1)>"] {
        assert!(!page.text.contains(tag), "{tag}: {}", page.text);
    }
    for control in ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2067}'] {
        assert!(!page.text.contains(control));
    }
    assert_eq!(page.text.matches('\u{2068}').count(), page.text.matches('\u{2069}').count());
    assert!(page.text.contains("\u{2068}\\u202egnp.exe\\u2069\\u2066\u{2069}"));

    for (index, name) in names.iter().enumerate() {
        let rule = percent::encode(name);
        let seen = seen_field(&alice.get_page().await, &rule);
        let fields = [("change", "keyword"), ("rule", &*rule), ("seen", &*seen), ("sound", "on")];
        let page = alice.submit(&fields).await;
        let count = names.len() - index;
        assert!(visible_text(&page).contains(&format!("Keywords|{count}|Saved.|")), "{name:?}");
        let actions = alice.get_rules(&format!("global/content/{rule}/actions")).await;
        assert_eq!(actions["actions"][0], "notify", "{name:?}");
        // A stale form for the same rule.
        let page = alice.post(&[("change", "keyword"), ("rule", &rule), ("seen", &seen)]).await;
        assert_eq!(page.status, 409, "{name:?}");
        assert!(!page.text.contains("<script>alert") && !page.text.contains('\u{202e}'));
        alice.submit(&[("change", "remove-keyword"), ("rule", &rule)]).await;
    }
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
}

#[tokio::test]
async fn hostile_words_are_added_as_they_were_entered() {
    let mut alice = Alice::new().await;
    for word in [
        HOSTILE_NAMES[0],
        HOSTILE_NAMES[1],
        HOSTILE_NAMES[2],
        HOSTILE_NAMES[4],
        "/path",
        "\\n",
        ".hidden",
        "..",
        "*",
    ] {
        let page = alice.submit(&[("change", "keyword"), ("word", word), ("sound", "on")]).await;
        assert!(!page.text.contains("<script>alert") && !page.text.contains('\u{202e}'));
        let rules = alice.get_rules("global/content/").await;
        let rule = rules.as_array().unwrap().iter().find(|rule| rule["pattern"] == word);
        let rule = rule.unwrap_or_else(|| panic!("{rules}"));
        let page = alice.submit(&[("change", "mute-word"), ("word", word)]).await;
        assert!(!page.text.contains("<script>alert") && !page.text.contains('\u{202e}'));
        let id = percent::encode(rule["rule_id"].as_str().unwrap());
        assert_eq!(
            alice.get_rules(&format!("global/content/{id}/actions")).await["actions"],
            json!([])
        );
        page.assert_page(200, &format!("name=\"rule\" value=\"{id}\">"));
    }
}
