//! Moving, enabling and disabling rules on the list.

use serde_json::json;

use super::{Alice, RULES, hostile_names, location, notify, row, rule_path};

#[tokio::test]
async fn a_rule_is_moved_up_and_down() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c"]).await;
    for (rule, button, order) in
        [("b", "up", "b a c"), ("b", "down", "a b c"), ("b", "down", "a c b"), ("c", "up", "c a b")]
    {
        let page = alice.browser.get(RULES).await;
        let form = row(&page, &format!("global/room/{rule}"));
        let response = form.press(button, &mut alice.browser).await;
        let expected = format!("{RULES}?open=global%2Froom&notice=saved");
        assert_eq!(location(&response), expected);
        alice.browser.follow(&response).await.page(200, "Saved.");
        assert_eq!(alice.rooms().await, order, "{rule} {button}");
    }
    let page = alice.browser.get(RULES).await;
    let buttons = |rule: &str| row(&page, rule).buttons.join(" ");
    assert_eq!(buttons("global/room/c"), "down disable delete");
    assert_eq!(buttons("global/room/a"), "up down disable delete");
    assert_eq!(buttons("global/room/b"), "up disable delete");
    assert_eq!(buttons("global/underride/.m.rule.call"), "disable");
}

#[tokio::test]
async fn a_move_after_the_order_has_changed_in_another_tab_does_nothing() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c", "d"]).await;
    let stale = alice.browser.get(RULES).await;
    let mut other = alice.service.browser().signed_in("alice").await;
    let page = other.get(RULES).await;
    row(&page, "global/room/c").press("up", &mut other).await;
    assert_eq!(alice.rooms().await, "a c b d");

    let response = row(&stale, "global/room/d").press("up", &mut alice.browser).await;
    response.page(409, "The order has changed in the meantime.");
    assert_eq!(alice.rooms().await, "a c b d");
    // The page shows the current order, with which the move succeeds.
    row(&response, "global/room/d").press("up", &mut alice.browser).await;
    assert_eq!(alice.rooms().await, "a c d b");
}

#[tokio::test]
async fn a_move_that_is_submitted_twice_moves_once() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c", "d"]).await;
    let page = alice.browser.get(RULES).await;
    for _ in 0..2 {
        let response = row(&page, "global/room/c").press("up", &mut alice.browser).await;
        assert_eq!(response.status, 303, "{response:?}");
        assert_eq!(alice.rooms().await, "a c b d");
    }
}

#[tokio::test]
async fn rules_of_users_and_builtin_rules_are_turned_off_and_on() {
    let mut alice = Alice::new().await;
    alice.client.put_ok("device/phone/room/a", &notify()).await;
    for rule in ["device/phone/room/a", "global/underride/.m.rule.message"] {
        for (button, enabled) in [("disable", false), ("enable", true)] {
            let page = alice.browser.get(RULES).await;
            let form = row(&page, rule);
            // The second submit changes nothing.
            for _ in 0..2 {
                let response = form.press(button, &mut alice.browser).await;
                alice.browser.follow(&response).await.page(200, "Saved.");
                let stored = alice.client.get_rules(&format!("{rule}/enabled")).await;
                assert_eq!(stored, json!({ "enabled": enabled }));
            }
        }
    }
    // The rule before all others has no group.
    let page = alice.browser.get(RULES).await;
    let response =
        row(&page, "global/override/.m.rule.master").press("enable", &mut alice.browser).await;
    assert_eq!(location(&response), format!("{RULES}?notice=saved"));
}

#[tokio::test]
async fn changing_a_deleted_rule_says_that_it_does_not_exist() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let page = alice.browser.get(RULES).await;
    alice.client.delete("global/room/b").await;
    for button in ["up", "disable"] {
        let response = row(&page, "global/room/b").press(button, &mut alice.browser).await;
        response.page(409, "This rule does not exist any more, so nothing was changed:");
    }
    assert_eq!(alice.rooms().await, "a");
}

#[tokio::test]
async fn rules_with_hostile_names_are_moved_and_turned_off() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        alice.add_rooms(&["first"]).await;
        let rule = rule_path("global", "room", &name);
        alice.client.put_ok(&rule, &notify()).await;
        let page = alice.browser.get(RULES).await;
        row(&page, &rule).press("down", &mut alice.browser).await;
        assert_eq!(alice.rooms().await, format!("first {name}"));
        let page = alice.browser.get(RULES).await;
        row(&page, "global/room/first").press("down", &mut alice.browser).await;
        assert_eq!(alice.rooms().await, format!("{name} first"));
        row(&page, &rule).press("disable", &mut alice.browser).await;
        let stored = alice.client.get_rules(&format!("{rule}/enabled")).await;
        assert_eq!(stored, json!({ "enabled": false }), "{name:?}");
        alice.client.delete(&rule).await;
    }
}

#[tokio::test]
async fn a_change_after_the_session_has_ended_is_not_saved() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let page = alice.browser.get(RULES).await;
    alice.expire_sessions();
    for button in ["up", "disable", "delete"] {
        let response = row(&page, "global/room/b").press(button, &mut alice.browser).await;
        assert_eq!(location(&response), "/oauth/sign_in?return_to=rules&notice=not-saved");
    }
    assert_eq!(alice.rooms().await, "a b");
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b"]).await;
    let form = row(&alice.browser.get(RULES).await, "global/room/b");
    let response = form.clone().set("csrf", "x").press("up", &mut alice.browser).await;
    response.page(403, "This form could not be checked");
    alice.browser.fetch_site = Some("cross-site");
    form.press("up", &mut alice.browser).await.page(403, "This form could not be checked");
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
        ("above", "%zz"),
    ] {
        let form = form.clone().set("change", "up").set(field, value);
        let response = form.submit(&mut alice.browser).await;
        assert_eq!(response.status, 400, "{field}={value}: {response:?}");
    }
    assert_eq!(alice.rooms().await, "a b");
}
