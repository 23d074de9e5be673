//! Deleting rules, and restoring them.

use serde_json::json;

use super::{Alice, RULES, editor, hostile_names, location, notify, row, rule_path, undo};

#[tokio::test]
async fn a_deleted_rule_is_restored_as_it_was() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c"]).await;
    let rule = json!({ "actions": ["notify"], "pattern": "p", "org.x": { "y": [1, null] } });
    alice.client.put_ok("global/room/b", &rule).await;
    alice.client.put_ok("global/room/b/enabled", &json!(false)).await;
    let before = alice.client.get_rules("global/room/").await;

    let page = alice.browser.get(RULES).await;
    let deleted = row(&page, "global/room/b").press("delete", &mut alice.browser).await;
    deleted.page(200, "Deleted: \u{2068}b\u{2069}");
    assert_eq!(alice.rooms().await, "a c");
    let restored = undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
    assert_eq!(location(&restored), format!("{RULES}?open=global%2Froom&notice=restored"));
    alice.browser.follow(&restored).await.page(200, "The rule is back.");
    assert_eq!(alice.client.get_rules("global/room/").await, before);
}

#[tokio::test]
async fn the_second_submit_of_a_deletion_says_so_and_still_offers_to_undo() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a", "b", "c"]).await;
    let before = alice.client.get_rules("global/room/").await;
    let form = row(&alice.browser.get(RULES).await, "global/room/b");
    form.press("delete", &mut alice.browser).await;
    let second = form.press("delete", &mut alice.browser).await;
    second.page(200, "This rule is already deleted: \u{2068}b\u{2069}");
    assert_eq!(alice.rooms().await, "a c");
    // Restoring twice restores once.
    for _ in 0..2 {
        let restored = undo(&second).unwrap().press("restore", &mut alice.browser).await;
        assert_eq!(restored.status, 303, "{restored:?}");
        assert_eq!(alice.client.get_rules("global/room/").await, before);
    }
}

#[tokio::test]
async fn restoring_does_not_replace_a_rule_that_was_created_in_the_meantime() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let page = alice.browser.get(RULES).await;
    let deleted = row(&page, "global/room/a").press("delete", &mut alice.browser).await;
    alice.client.put_ok("global/room/a", &notify()).await;
    let response = undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
    response.page(409, "You already have a rule with this name: \u{2068}a\u{2069}");
    assert_eq!(alice.client.get_rules("global/room/a/actions").await, notify());
    assert!(undo(&response).is_some(), "the deleted rule is still there");
}

#[tokio::test]
async fn restoring_respects_the_limits() {
    let mut alice = Alice::with(|config| config.rules.max_rules = 2).await;
    alice.add_rooms(&["a", "b"]).await;
    let page = alice.browser.get(RULES).await;
    let deleted = row(&page, "global/room/a").press("delete", &mut alice.browser).await;
    alice.add_rooms(&["c"]).await;
    let form = undo(&deleted).unwrap();
    let full = form.press("restore", &mut alice.browser).await;
    full.page(409, "You have as many rules as this server allows: 2. Delete some first.");
    // The deleted rule is still in the form.
    alice.client.delete("global/room/c").await;
    undo(&full).unwrap().press("restore", &mut alice.browser).await;
    assert_eq!(alice.rooms().await, "a b");

    // A form that was changed is validated like a request of a client.
    alice.client.delete("global/room/a").await;
    for (field, value, reason) in [
        ("json", "{\"actions\":[\"ring\"]}", "actions[0] must be notify"),
        ("json", "{", "the body is not JSON"),
        ("rule", "global/room/.m.rule.x", "Names that begin with a dot"),
    ] {
        let response = form.clone().set(field, value).press("restore", &mut alice.browser).await;
        response.page(409, reason);
    }
    assert_eq!(alice.rooms().await, "b");
}

#[tokio::test]
async fn rules_with_hostile_names_are_deleted_and_restored() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["first", "last"]).await;
    for name in hostile_names() {
        let rule = rule_path("global", "room", &name);
        let path = format!("{rule}?after=first");
        alice.client.put_ok(&path, &json!({ "actions": [], "pattern": name, "org.x": name })).await;
        let before = alice.client.get_rules("global/room/").await;
        let page = alice.browser.get(RULES).await;
        let deleted = row(&page, &rule).press("delete", &mut alice.browser).await;
        assert_eq!(alice.rooms().await, "first last", "{name:?}");
        undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
        assert_eq!(alice.client.get_rules("global/room/").await, before);
        // The rules next to it are found by their names, too.
        let page = alice.browser.get(RULES).await;
        let deleted = row(&page, "global/room/last").press("delete", &mut alice.browser).await;
        undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
        assert_eq!(alice.client.get_rules("global/room/").await, before);
        alice.client.delete(&rule).await;
    }
}

#[tokio::test]
async fn a_large_rule_is_restored() {
    let mut alice = Alice::new().await;
    let rule = json!({ "actions": [], "org.x": "\"<é".repeat(12_000) });
    alice.client.put_ok("global/room/a", &rule).await;
    let before = alice.client.get_rules("global/room/").await;
    let page = alice.browser.get(RULES).await;
    assert!(page.text.len() < 100_000, "the list does not contain it");
    let form = row(&page, "global/room/a");
    let deleted = form.press("delete", &mut alice.browser).await;
    let again = form.press("delete", &mut alice.browser).await;
    again.page(200, "This rule is already deleted");
    assert!(undo(&again).is_none(), "the form did not contain it");
    undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
    assert_eq!(alice.client.get_rules("global/room/").await, before);
}

#[tokio::test]
async fn a_deleted_rule_is_not_lost_when_the_session_has_ended() {
    let mut alice = Alice::new().await;
    alice.add_rooms(&["a"]).await;
    let page = alice.browser.get(RULES).await;
    let deleted = row(&page, "global/room/a").press("delete", &mut alice.browser).await;
    alice.expire_sessions();
    let page = undo(&deleted).unwrap().press("restore", &mut alice.browser).await;
    page.page(401, "You were signed out, so nothing was saved.");
    let mut browser = alice.service.browser().signed_in("alice").await;
    let page = undo(&deleted).unwrap().press("restore", &mut browser).await;
    page.page(403, "You have signed in since this page was opened");
    editor(&page).submit(&mut browser).await;
    let client = alice.service.user("alice").await;
    assert_eq!(client.get_rules("global/room/a/actions").await, json!({ "actions": [] }));
}
