//! Enabling, disabling and deleting rules.

use serde_json::json;

use super::{Alice, RULES, forms, hostile_names, location, notify, row, rule_page, rule_path};

#[tokio::test]
async fn user_rules_and_built_in_rules_are_turned_off_and_on() {
    let mut alice = Alice::new().await;
    alice.client.put_ok("device/phone/room/a", &notify()).await;
    for rule in ["device/phone/room/a", "global/underride/.m.rule.message"] {
        for (button, enabled) in [("disable", false), ("enable", true)] {
            let page = alice.browser.get(RULES).await;
            let form = row(&page, rule);
            // The second submit changes nothing.
            for _ in 0..2 {
                let response = form.press(button, &mut alice.browser).await;
                alice.browser.follow(&response).await.assert_page(200, "Saved.");
                let stored = alice.client.get_rules(&format!("{rule}/enabled")).await;
                assert_eq!(stored, json!({ "enabled": enabled }));
            }
        }
    }
    // The master rule, which the page shows above all groups.
    let page = alice.browser.get(RULES).await;
    let response =
        row(&page, "global/override/.m.rule.master").press("enable", &mut alice.browser).await;
    assert_eq!(
        location(&response),
        format!("{RULES}?changed=global%2Foverride%2F.m.rule.master&notice=saved")
    );
}

#[tokio::test]
async fn a_rule_is_deleted_on_its_page_after_a_warning() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c"]).await;
    let page = alice.browser.get(RULES).await;
    // The list has a link, so that one click deletes nothing.
    assert_eq!(row(&page, "global/room/b").buttons, ["disable"]);
    let link = format!("href=\"{}#delete\"", rule_page("global/room/b"));
    assert!(page.text.contains(&link), "{link}: {}", page.text);

    let page = alice.browser.get(&rule_page("global/room/b")).await;
    page.assert_page(200, "A deleted rule cannot be brought back.");
    let form = row(&page, "global/room/b");
    // The second submit finds the rule deleted.
    for _ in 0..2 {
        let deleted = form.press("delete", &mut alice.browser).await;
        assert_eq!(location(&deleted), format!("{RULES}?changed=global%2Froom%2Fb&notice=removed"));
        alice.browser.follow(&deleted).await.assert_page(200, "Removed.");
        assert_eq!(alice.rooms().await, "a c");
    }
}

#[tokio::test]
async fn a_built_in_rule_is_not_deleted() {
    let mut alice = Alice::new().await;
    let rule = "global/underride/.m.rule.message";
    let page = alice.browser.get(&rule_page(rule)).await;
    assert!(forms(&page).iter().all(|form| form.value("rule").is_none()), "{}", page.text);
    let form = row(&alice.browser.get(RULES).await, rule);
    form.set("change", "delete").submit(&mut alice.browser).await;
    alice.client.get_rules(rule).await;
}

#[tokio::test]
async fn changing_a_deleted_rule_says_that_it_was_removed() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let page = alice.browser.get(RULES).await;
    alice.client.delete("global/room/b").await;
    let response = row(&page, "global/room/b").press("disable", &mut alice.browser).await;
    response.assert_page(409, "\u{2068}b\u{2069} was removed in the meantime");
    assert_eq!(alice.rooms().await, "a");
}

#[tokio::test]
async fn rules_with_hostile_names_are_turned_off_and_deleted() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["first"]).await;
    for name in hostile_names() {
        let rule = rule_path("global", "room", &name);
        alice.client.put_ok(&rule, &notify()).await;
        let page = alice.browser.get(RULES).await;
        row(&page, &rule).press("disable", &mut alice.browser).await;
        let stored = alice.client.get_rules(&format!("{rule}/enabled")).await;
        assert_eq!(stored, json!({ "enabled": false }), "{name:?}");
        let page = alice.browser.get(&rule_page(&rule)).await;
        row(&page, &rule).press("delete", &mut alice.browser).await;
        assert_eq!(alice.rooms().await, "first", "{name:?}");
    }
}

#[tokio::test]
async fn a_change_after_the_session_has_ended_is_not_saved() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let form = row(&alice.browser.get(RULES).await, "global/room/b");
    alice.expire_sessions();
    for change in ["disable", "delete"] {
        let response = form.clone().set("change", change).submit(&mut alice.browser).await;
        assert_eq!(location(&response), "/oauth/sign_in?return_to=rules&notice=not-saved");
    }
    assert_eq!(alice.rooms().await, "a b");
}

#[tokio::test]
async fn a_form_from_another_site_changes_nothing() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let form = row(&alice.browser.get(RULES).await, "global/room/b").set("change", "delete");
    let response = form.clone().set("csrf", "x").submit(&mut alice.browser).await;
    response.assert_page(403, "This form could not be checked");
    alice.browser.fetch_site = Some("cross-site");
    form.submit(&mut alice.browser).await.assert_page(403, "This form could not be checked");
    assert_eq!(alice.rooms().await, "a b");
}

#[tokio::test]
async fn a_malformed_form_is_rejected() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let form = row(&alice.browser.get(RULES).await, "global/room/b");
    for (field, value) in [
        ("change", ""),
        ("change", "explode"),
        ("rule", ""),
        ("rule", "global/room/"),
        ("rule", "elsewhere/room/b"),
    ] {
        let form = form.clone().set("change", "delete").set(field, value);
        let response = form.submit(&mut alice.browser).await;
        assert_eq!(response.status, 400, "{field}={value}: {response:?}");
    }
    assert_eq!(alice.rooms().await, "a b");
}
