//! Built-in rules, which users can change but not delete.

use serde_json::json;

use super::{KINDS, minimal_rule, rule_ids, start_unlimited};

#[tokio::test]
async fn built_in_rules_contain_the_user_name() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let global = alice.get_rules("global/").await;
    let count: usize = KINDS.iter().map(|kind| rule_ids(&global[kind], true).len()).sum();
    assert_eq!(count, 18);
    assert_eq!(global["content"][0]["pattern"], "alice");
    let invite_rule = alice.get_rules("global/override/.m.rule.invite_for_me").await;
    assert_eq!(invite_rule["conditions"][2]["pattern"], "@alice:ring.example");
    let mention_rule = alice.get_rules("global/override/.m.rule.is_user_mention").await;
    assert_eq!(mention_rule["conditions"][0]["value"], "@alice:ring.example");
    let master_rule = alice.get_rules("global/override/.m.rule.master").await;
    assert_eq!((&master_rule["default"], &master_rule["enabled"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn built_in_rules_of_every_kind_can_be_changed_and_keep_their_position() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let rules_before = alice.get_rules("global/").await;
    let mut count = 0;
    for kind in KINDS {
        for id in rule_ids(&rules_before[kind], true) {
            let path = format!("global/{kind}/{id}");
            let rule = alice.get_rules(&path).await;
            let enabled = rule["enabled"] == false;
            let actions = json!(["notify", "coalesce"]);
            alice.put_rule_ok(&format!("{path}/enabled"), &json!(enabled)).await;
            assert_eq!(
                alice.get_rules(&format!("{path}/enabled")).await["enabled"],
                enabled,
                "{path}"
            );
            alice.put_rule_ok(&format!("{path}/actions"), &json!({ "actions": actions })).await;
            let mut expected = rule;
            expected["enabled"] = json!(enabled);
            expected["actions"] = actions;
            assert_eq!(alice.get_rules(&path).await, expected, "{path}");
            count += 1;
        }
        let rules_after = alice.get_rules(&format!("global/{kind}/")).await;
        assert_eq!(rule_ids(&rules_after, true), rule_ids(&rules_before[kind], true), "{kind}");
    }
    assert_eq!(count, 18, "content and underride have built-in rules too");
}

#[tokio::test]
async fn a_built_in_rule_cannot_be_deleted_or_replaced() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let path = "global/override/.m.rule.master";
    alice.put_rule_ok(&format!("{path}/enabled"), &json!(true)).await;
    assert_eq!(alice.delete_rule(path).await.status_and_errcode(), (404, "M_NOT_FOUND".into()));
    for id in [".m.rule.master", ".mine", ".", ".."] {
        let response =
            alice.put_rule(&format!("global/override/{id}"), &minimal_rule("override")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{id}");
    }
    assert_eq!(alice.get_rules(path).await["enabled"], true);
}
