//! Built-in rules, which users can change but not delete.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{KINDS, ids, minimal_rule, pushrules, service};

#[tokio::test]
async fn built_in_rules_contain_the_user_name() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let global = alice.get_rules("global/").await;
    let count: usize = KINDS.iter().map(|kind| ids(&global[kind], true).len()).sum();
    assert_eq!(count, 18);
    assert_eq!(global["content"][0]["pattern"], "alice");
    let invited = alice.get_rules("global/override/.m.rule.invite_for_me").await;
    assert_eq!(invited["conditions"][2]["pattern"], "@alice:ring.example");
    let mentioned = alice.get_rules("global/override/.m.rule.is_user_mention").await;
    assert_eq!(mentioned["conditions"][0]["value"], "@alice:ring.example");
    let master = alice.get_rules("global/override/.m.rule.master").await;
    assert_eq!((&master["default"], &master["enabled"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn creating_and_deleting_a_rule_restores_the_response() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let before = alice.get(&pushrules("")).await.text;
    alice.put_ok("global/room/a", &minimal_rule("room")).await;
    assert_ne!(alice.get(&pushrules("")).await.text, before);
    alice.delete("global/room/a").await.expect_json(StatusCode::OK);
    assert_eq!(alice.get(&pushrules("")).await.text, before);
}

#[tokio::test]
async fn enabled_and_actions_of_a_built_in_rule_can_be_changed() {
    let service = service().await;
    let (alice, bob) = (service.user_client("alice").await, service.user_client("bob").await);
    let path = "global/override/.m.rule.master";
    alice.put_ok(&format!("{path}/enabled"), &json!(true)).await;
    assert_eq!(alice.get_rules(path).await["enabled"], true);
    alice.put_ok(&format!("{path}/actions"), &json!({ "actions": ["notify"] })).await;
    assert_eq!(alice.get_rules(path).await["actions"], json!(["notify"]));
    let all: Value = alice.get_rules("").await;
    assert_eq!(all["global"]["override"][0], alice.get_rules(path).await);
    assert_eq!(bob.get_rules(path).await["enabled"], false);
}

#[tokio::test]
async fn built_in_rules_of_every_kind_can_be_changed_and_keep_their_position() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let before = alice.get_rules("global/").await;
    let mut count = 0;
    for kind in KINDS {
        for id in ids(&before[kind], true) {
            let path = format!("global/{kind}/{id}");
            let rule = alice.get_rules(&path).await;
            let (enabled, actions) = (rule["enabled"] == false, json!(["notify", "coalesce"]));
            alice.put_ok(&format!("{path}/enabled"), &json!(enabled)).await;
            assert_eq!(
                alice.get_rules(&format!("{path}/enabled")).await["enabled"],
                enabled,
                "{path}"
            );
            alice.put_ok(&format!("{path}/actions"), &json!({ "actions": actions })).await;
            let mut expected = rule;
            expected["enabled"] = json!(enabled);
            expected["actions"] = actions;
            assert_eq!(alice.get_rules(&path).await, expected, "{path}");
            count += 1;
        }
        let after = alice.get_rules(&format!("global/{kind}/")).await;
        assert_eq!(ids(&after, true), ids(&before[kind], true), "{kind}");
    }
    assert_eq!(count, 18, "content and underride have built-in rules too");
}

#[tokio::test]
async fn a_built_in_rule_cannot_be_deleted_or_replaced() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let path = "global/override/.m.rule.master";
    alice.put_ok(&format!("{path}/enabled"), &json!(true)).await;
    assert_eq!(alice.delete(path).await.status_and_errcode(), (404, "M_NOT_FOUND".into()));
    for id in [".m.rule.master", ".mine", ".", ".."] {
        let response = alice.put(&format!("global/override/{id}"), &minimal_rule("override")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{id}");
    }
    assert_eq!(alice.get_rules(path).await["enabled"], true);
}
