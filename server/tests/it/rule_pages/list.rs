//! The list of all rules.

use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition};
use belfry_store::SerializedDocument;
use jiff::Timestamp;
use serde_json::json;

use super::{
    Alice, RULE_PATH, RULES_PATH, TRY_PATH, alice_with_a_thousand_profiles, hostile_names,
    location, parse_forms, rule_form, rule_path,
};
use crate::oauth::assert_security_headers;
use crate::support::TestResponse;
use crate::support::browser::visible_text;

#[tokio::test]
async fn all_rules_are_listed_in_evaluation_order() {
    let mut alice = Alice::new().await;
    let loud_actions = json!(["notify", { "set_tweak": "sound" }, { "set_tweak": "highlight" }]);
    for (path, body) in [
        ("global/content/sweets", json!({ "pattern": "cake", "actions": loud_actions })),
        ("global/room/!loud:x", json!({ "actions": ["notify"] })),
        ("global/room/!quiet:x", json!({ "actions": ["dont_notify"] })),
        ("global/room/!quiet:x/enabled", json!(false)),
        ("global/underride/.m.rule.message/enabled", json!(false)),
        ("device/phone/sender/@bob:x", json!({ "actions": [] })),
        ("global/override/polls", json!({ "actions": [], "conditions": [] })),
    ] {
        alice.client.put_rule_ok(path, &body).await;
    }
    let page = alice.browser.get(RULES_PATH).await;
    page.assert_page(200, "<h1>All rules</h1>");
    assert_security_headers(&page, "'self'");
    let text = visible_text(&page);
    let mut remaining_text = text.as_str();
    for expected in [
        "Before everything else|While this rule is enabled, nothing notifies you.|\
         Pause everything|Disabled|.m.rule.master|Built-in|Details|",
        "On devices with the profile phone|People|1|Messages from @bob:x|Enabled|Silent|Delete|Details|",
        "On all devices|Above all others|12|\
         Rule with conditions of its own|Enabled|polls|Silent|Delete|Details|\
         Messages from bots|Enabled|.m.rule.suppress_notices|Silent|Built-in|Details|",
        "Words|2|Messages with the word cake|Enabled|sweets|Notifies|Sound|Highlight|Delete|Details|\
         Messages with your username|Enabled|.m.rule.contains_user_name|",
        "Rooms|2|Messages in the room !quiet:x|Disabled|Delete|Details|\
         Messages in the room !loud:x|Enabled|Notifies|Delete|",
        "When nothing else fits|5|Calls|Enabled|.m.rule.call|",
        "Messages in all other rooms|Disabled|.m.rule.message|Built-in|Details|",
    ] {
        let Some((_, after)) = remaining_text.split_once(expected) else {
            panic!("{expected}: {remaining_text}")
        };
        remaining_text = after;
    }
    // The overview does not repeat the rules.
    assert!(!alice.browser.get("/oauth/account").await.text.contains("sweets"));
}

#[tokio::test]
async fn a_signed_out_user_signs_in_and_returns() {
    let mut alice = Alice::new().await;
    alice.expire_sessions();
    for (path, section) in [(RULES_PATH, "rules"), (RULE_PATH, "rules"), (TRY_PATH, "try")] {
        let response = alice.browser.get(path).await;
        assert_eq!(location(&response), format!("/oauth/sign_in?return_to={section}"), "{path}");
    }
}

#[tokio::test]
async fn groups_with_user_rules_are_open() {
    let mut alice = Alice::new().await;
    let count_open = |page: &TestResponse| page.text.matches("<details open>").count();
    assert_eq!(count_open(&alice.browser.get(RULES_PATH).await), 0);
    alice.add_room_rules(&["!a:x"]).await;
    assert_eq!(count_open(&alice.browser.get(RULES_PATH).await), 1);
    // A group whose rule was changed is open.
    assert_eq!(
        count_open(
            &alice.browser.get(&format!("{RULES_PATH}?changed=global%2Fcontent%2Fgone")).await
        ),
        2
    );
}

#[tokio::test]
async fn hostile_names_are_escaped_and_visible() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        let path = rule_path("global", "room", &name);
        alice.client.put_rule_ok(&path, &json!({ "actions": [], "org.x": name })).await;
    }
    alice.client.put_rule_ok("device/%E2%80%AEa%3Cb%3E/room/a", &json!({ "actions": [] })).await;
    let override_rule = json!({ "actions": [], "conditions": [] });
    alice.client.put_rule_ok("global/override/%E2%80%AEid%3Cb%3E", &override_rule).await;
    let page = alice.browser.get(RULES_PATH).await;
    for raw_text in ["<script>", "onfocus=\"alert", "<b>", "\u{202e}", "\u{2066}", "\r", "\u{1}"] {
        assert!(!page.text.contains(raw_text), "{raw_text:?}: {}", page.text);
    }
    for text in [
        "Messages in the room \u{2068}&#60;script&#62;alert(1)&#60;b&#62;\u{2069}",
        "Messages in the room \u{2068}\\u202egnp.exe\\u2066\\u2069\u{2069}",
        "Messages in the room \u{2068}a\\u000d\\u000ab\\u0009c\\u0001\u{2069}",
        "<bdi>\\u202eid&#60;b&#62;</bdi>",
        "On devices with the profile \u{2068}\\u202ea&#60;b&#62;\u{2069}",
        "{{7*7}}{ $rule }",
    ] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    assert_eq!(page.text.matches('\u{2068}').count(), page.text.matches('\u{2069}').count());
}

/// Returns Alice with a thousand rules of one kind, as many as the limits allow.
async fn alice_with_a_thousand_rules() -> Alice {
    let alice = Alice::new().await;
    let mut document = RuleDocument::new("global".parse().unwrap());
    for number in 0..1000 {
        let rule = json!({ "pattern": "x".repeat(900), "actions": ["notify"] }).to_string();
        let rule = NewRule::parse(
            RuleKind::Content,
            rule.as_bytes(),
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        let id = format!("{:03}", 999 - number).parse().unwrap();
        document.put(RuleKind::Content, id, rule, RulePosition::default()).unwrap();
    }
    let store = alice.service.store();
    let account_id = store.account_by_name("alice").await.unwrap().unwrap().id;
    let rulesets = store.rulesets_for_update(account_id, alice.service.now()).await.unwrap();
    store.save_document(&rulesets, SerializedDocument::new(document)).await.unwrap();
    alice
}

#[tokio::test]
async fn a_thousand_rules_are_split_into_pages() {
    let mut alice = alice_with_a_thousand_rules().await;
    let page = alice.browser.get(RULES_PATH).await;
    let text = visible_text(&page);
    assert!(text.contains("Words|1001|Messages with the word xxx"), "{text}");
    let title = format!("|Messages with the word {}…|Enabled|000|", "x".repeat(200));
    assert!(text.contains(&title), "{text}");

    // Every rule is on one of the linked pages.
    let mut path = RULES_PATH.to_owned();
    let mut rule_names = Vec::new();
    loop {
        let page = alice.browser.get(&path).await;
        assert!(page.text.len() < 100_000, "{} bytes", page.text.len());
        let rules = parse_forms(&page);
        let rules = rules.iter().filter_map(|form| form.field("rule"));
        rule_names
            .extend(rules.filter(|rule| rule.starts_with("global/content/")).map(str::to_owned));
        let Some((before, _)) = page.text.split_once("\" rel=\"next\"") else { break };
        path = super::unescape(before.rsplit_once("href=\"").unwrap().1);
    }
    let numbers = (0..1000).map(|number| format!("global/content/{number:03}"));
    let expected_names: Vec<String> =
        numbers.chain(["global/content/.m.rule.contains_user_name".into()]).collect();
    assert_eq!(rule_names, expected_names);
    let last_page = alice.browser.get(&format!("{RULES_PATH}?page=999")).await;
    assert!(visible_text(&last_page).contains("Page 21 of 21"));
}

#[tokio::test]
async fn a_thousand_profiles_are_split_into_pages() {
    let mut alice = alice_with_a_thousand_profiles().await;
    let mut rule_count = 0;
    for number in 1..=21 {
        let page = alice.browser.get(&format!("{RULES_PATH}?page={number}")).await;
        assert!(page.text.len() < 1_000_000, "{} bytes", page.text.len());
        let rules = parse_forms(&page);
        let rules = rules.iter().filter_map(|form| form.field("rule"));
        rule_count += rules.filter(|rule| rule.starts_with("device/")).count();
    }
    assert_eq!(rule_count, 1000);
}

#[tokio::test]
async fn a_changed_rule_is_shown_on_its_page() {
    let mut alice = alice_with_a_thousand_rules().await;
    let second_page_url = format!("{RULES_PATH}?page=2");
    let page = alice.browser.get(&second_page_url).await;
    let response =
        rule_form(&page, "global/content/060").press("disable", &mut alice.browser).await;
    let expected = format!("{second_page_url}&changed=global%2Fcontent%2F060&notice=saved");
    assert_eq!(location(&response), expected);
    let page = alice.browser.follow(&response).await;
    page.assert_page(200, "Saved.");
    let anchor = response.header("location").split_once('#').unwrap().1;
    let (_, row) = page.text.split_once(&format!(" id=\"{anchor}\">")).unwrap();
    let row = row.split_once("</li>").unwrap().0;
    assert!(row.contains("aria-checked=\"false\" name=\"change\" value=\"enable\">"), "{row}");
    // The notice is there, and not at the top of the page.
    assert!(row.contains("role=\"status\">Saved.") && page.text.matches("Saved.").count() == 1);
    assert_eq!(page.text.matches("<details open>").count(), 1);
    // A link from a different page of the list opens the correct page too.
    let path = format!("{RULES_PATH}?changed=global%2Fcontent%2F060");
    assert!(alice.browser.get(&path).await.text.contains(anchor));
}
