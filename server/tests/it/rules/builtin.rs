//! Built-in rules: everybody has them, nobody can delete them, their owner can change some of
//! them.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{KINDS, at, ids, least, service};

#[tokio::test]
async fn everybody_has_the_built_in_rules_with_their_own_name_in_them() {
    let service = service().await;
    let alice = service.person("alice").await;
    let global = alice.shown("global/").await;
    let count: usize = KINDS.iter().map(|kind| ids(&global[kind], true).len()).sum();
    assert_eq!(count, 18);
    assert_eq!(global["content"][0]["pattern"], "alice");
    let invited = alice.shown("global/override/.m.rule.invite_for_me").await;
    assert_eq!(invited["conditions"][2]["pattern"], "@alice:ring.example");
    let mentioned = alice.shown("global/override/.m.rule.is_user_mention").await;
    assert_eq!(mentioned["conditions"][0]["value"], "@alice:ring.example");
    let master = alice.shown("global/override/.m.rule.master").await;
    assert_eq!((&master["default"], &master["enabled"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn what_is_shown_of_all_rules_is_the_same_before_and_after_a_rule_came_and_went() {
    let service = service().await;
    let alice = service.person("alice").await;
    let before = alice.get(&at("")).await.text;
    alice.puts("global/room/a", &least("room")).await;
    assert_ne!(alice.get(&at("")).await.text, before);
    alice.delete("global/room/a").await.expect(StatusCode::OK);
    assert_eq!(alice.get(&at("")).await.text, before);
}

#[tokio::test]
async fn enabled_and_actions_of_a_built_in_rule_can_be_changed() {
    let service = service().await;
    let (alice, bob) = (service.person("alice").await, service.person("bob").await);
    let path = "global/override/.m.rule.master";
    alice.puts(&format!("{path}/enabled"), &json!(true)).await;
    assert_eq!(alice.shown(path).await["enabled"], true);
    alice.puts(&format!("{path}/actions"), &json!({ "actions": ["notify"] })).await;
    assert_eq!(alice.shown(path).await["actions"], json!(["notify"]));
    let all: Value = alice.shown("").await;
    assert_eq!(all["global"]["override"][0], alice.shown(path).await);
    assert_eq!(bob.shown(path).await["enabled"], false);
}

#[tokio::test]
async fn built_in_rules_of_every_kind_can_be_changed_and_stay_where_they_are() {
    let service = service().await;
    let alice = service.person("alice").await;
    let before = alice.shown("global/").await;
    let mut changed = 0;
    for kind in KINDS {
        for id in ids(&before[kind], true) {
            let path = format!("global/{kind}/{id}");
            let rule = alice.shown(&path).await;
            let (enabled, actions) = (rule["enabled"] == false, json!(["notify", "coalesce"]));
            alice.puts(&format!("{path}/enabled"), &json!(enabled)).await;
            assert_eq!(alice.shown(&format!("{path}/enabled")).await["enabled"], enabled, "{path}");
            alice.puts(&format!("{path}/actions"), &json!({ "actions": actions })).await;
            let mut expected = rule;
            expected["enabled"] = json!(enabled);
            expected["actions"] = actions;
            assert_eq!(alice.shown(&path).await, expected, "{path}");
            changed += 1;
        }
        let after = alice.shown(&format!("global/{kind}/")).await;
        assert_eq!(ids(&after, true), ids(&before[kind], true), "{kind}");
    }
    assert_eq!(changed, 18, "content and underride have some, too");
}

#[tokio::test]
async fn a_built_in_rule_is_not_deleted_nor_put() {
    let service = service().await;
    let alice = service.person("alice").await;
    let path = "global/override/.m.rule.master";
    alice.puts(&format!("{path}/enabled"), &json!(true)).await;
    assert_eq!(alice.delete(path).await.errcode(), (404, "M_NOT_FOUND".into()));
    for id in [".m.rule.master", ".mine", ".", ".."] {
        let answer = alice.put(&format!("global/override/{id}"), &least("override")).await;
        assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()), "{id}");
    }
    assert_eq!(alice.shown(path).await["enabled"], true);
}
