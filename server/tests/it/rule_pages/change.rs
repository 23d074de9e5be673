//! Enabling, disabling and deleting rules.

use serde_json::json;

use super::{
    Alice, RULES_PATH, hostile_names, location, notifying_rule, parse_forms, rule_form,
    rule_page_url, rule_path,
};

#[tokio::test]
async fn user_rules_and_built_in_rules_are_disabled_and_enabled() {
    let mut alice = Alice::new().await;
    alice.client.put_rule_ok("device/phone/room/a", &notifying_rule()).await;
    for rule in ["device/phone/room/a", "global/underride/.m.rule.message"] {
        for (button, enabled) in [("disable", false), ("enable", true)] {
            let page = alice.browser.get(RULES_PATH).await;
            let form = rule_form(&page, rule);
            // The second submit changes nothing.
            for _ in 0..2 {
                let response = form.press(button, &mut alice.browser).await;
                alice.browser.follow(&response).await.assert_page(200, "Saved.");
                let stored_state = alice.client.get_rules(&format!("{rule}/enabled")).await;
                assert_eq!(stored_state, json!({ "enabled": enabled }));
            }
        }
    }
    // The master rule, which the page shows above all groups.
    let page = alice.browser.get(RULES_PATH).await;
    let response = rule_form(&page, "global/override/.m.rule.master")
        .press("enable", &mut alice.browser)
        .await;
    assert_eq!(
        location(&response),
        format!("{RULES_PATH}?changed=global%2Foverride%2F.m.rule.master&notice=saved")
    );
}

#[tokio::test]
async fn a_rule_is_deleted_on_its_page_after_a_warning() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["a", "b", "c"]).await;
    let page = alice.browser.get(RULES_PATH).await;
    // The list has only a link, so that one click cannot delete a rule.
    assert_eq!(rule_form(&page, "global/room/b").buttons, ["disable"]);
    let link = format!("href=\"{}#delete\"", rule_page_url("global/room/b"));
    assert!(page.text.contains(&link), "{link}: {}", page.text);

    let page = alice.browser.get(&rule_page_url("global/room/b")).await;
    page.assert_page(200, "A deleted rule cannot be brought back.");
    let form = rule_form(&page, "global/room/b");
    // The second submit finds the rule deleted.
    for _ in 0..2 {
        let response = form.press("delete", &mut alice.browser).await;
        assert_eq!(
            location(&response),
            format!("{RULES_PATH}?changed=global%2Froom%2Fb&notice=removed")
        );
        alice.browser.follow(&response).await.assert_page(200, "Removed.");
        assert_eq!(alice.room_rule_ids().await, "a c");
    }
}

#[tokio::test]
async fn a_built_in_rule_cannot_be_deleted() {
    let mut alice = Alice::new().await;
    let rule = "global/underride/.m.rule.message";
    let page = alice.browser.get(&rule_page_url(rule)).await;
    assert!(parse_forms(&page).iter().all(|form| form.field("rule").is_none()), "{}", page.text);
    let form = rule_form(&alice.browser.get(RULES_PATH).await, rule);
    form.with_field("change", "delete").submit(&mut alice.browser).await;
    alice.client.get_rules(rule).await;
}

#[tokio::test]
async fn changing_a_deleted_rule_reports_that_it_was_deleted() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["a", "b"]).await;
    let page = alice.browser.get(RULES_PATH).await;
    alice.client.delete_rule("global/room/b").await;
    let response = rule_form(&page, "global/room/b").press("disable", &mut alice.browser).await;
    response.assert_page(409, "\u{2068}b\u{2069} was removed in the meantime");
    assert_eq!(alice.room_rule_ids().await, "a");
}

#[tokio::test]
async fn rules_with_hostile_names_are_disabled_and_deleted() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["first"]).await;
    for name in hostile_names() {
        let rule = rule_path("global", "room", &name);
        alice.client.put_rule_ok(&rule, &notifying_rule()).await;
        let page = alice.browser.get(RULES_PATH).await;
        rule_form(&page, &rule).press("disable", &mut alice.browser).await;
        let stored_state = alice.client.get_rules(&format!("{rule}/enabled")).await;
        assert_eq!(stored_state, json!({ "enabled": false }), "{name:?}");
        let page = alice.browser.get(&rule_page_url(&rule)).await;
        rule_form(&page, &rule).press("delete", &mut alice.browser).await;
        assert_eq!(alice.room_rule_ids().await, "first", "{name:?}");
    }
}

#[tokio::test]
async fn a_change_after_the_session_has_ended_is_not_saved() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["a", "b"]).await;
    let form = rule_form(&alice.browser.get(RULES_PATH).await, "global/room/b");
    alice.expire_sessions();
    for change in ["disable", "delete"] {
        let response = form.clone().with_field("change", change).submit(&mut alice.browser).await;
        assert_eq!(location(&response), "/oauth/sign_in?return_to=rules&notice=not-saved");
    }
    assert_eq!(alice.room_rule_ids().await, "a b");
}

#[tokio::test]
async fn a_form_from_another_site_changes_nothing() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["a", "b"]).await;
    let form = rule_form(&alice.browser.get(RULES_PATH).await, "global/room/b")
        .with_field("change", "delete");
    let response = form.clone().with_field("csrf", "x").submit(&mut alice.browser).await;
    response.assert_page(403, "This form could not be checked");
    alice.browser.fetch_site = Some("cross-site");
    form.submit(&mut alice.browser).await.assert_page(403, "This form could not be checked");
    assert_eq!(alice.room_rule_ids().await, "a b");
}

#[tokio::test]
async fn a_malformed_form_is_rejected() {
    let mut alice = Alice::new().await;
    alice.add_room_rules(&["a", "b"]).await;
    let form = rule_form(&alice.browser.get(RULES_PATH).await, "global/room/b");
    for (field, value) in [
        ("change", ""),
        ("change", "explode"),
        ("rule", ""),
        ("rule", "global/room/"),
        ("rule", "elsewhere/room/b"),
    ] {
        let form = form.clone().with_field("change", "delete").with_field(field, value);
        let response = form.submit(&mut alice.browser).await;
        assert_eq!(response.status, 400, "{field}={value}: {response:?}");
    }
    assert_eq!(alice.room_rule_ids().await, "a b");
}
