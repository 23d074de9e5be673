//! Order of rules: default positions, `before` and `after`.

use serde_json::json;

use super::{KINDS, minimal_rule, start_unlimited};
use crate::support::TestClient;

async fn put_rules(alice: &TestClient, kind: &str, ids: &[&str]) {
    // New rules go on top, so add them in reverse.
    for id in ids.iter().rev() {
        alice.put_rule_ok(&format!("global/{kind}/{id}"), &minimal_rule(kind)).await;
    }
}

#[tokio::test]
async fn a_new_rule_is_placed_at_the_top_of_its_kind_below_the_master_rule() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for kind in KINDS {
        put_rules(&alice, kind, &["a", "b", "c"]).await;
        assert_eq!(
            alice.user_rule_ids(&format!("global/{kind}/")).await,
            ["a", "b", "c"],
            "{kind}"
        );
    }
    let rules = alice.get_rules("global/override/").await;
    let ids: Vec<&str> =
        rules.as_array().unwrap().iter().map(|rule| rule["rule_id"].as_str().unwrap()).collect();
    assert_eq!(ids[..5], [".m.rule.master", "a", "b", "c", ".m.rule.suppress_notices"]);
    let rules = alice.get_rules("global/underride/").await;
    assert_eq!((&rules[2]["rule_id"], &rules[3]["rule_id"]), (&json!("c"), &json!(".m.rule.call")));
}

#[tokio::test]
async fn before_and_after_place_a_new_rule() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (query, order) in [
        ("before=b", ["a", "new", "b", "c"]),
        ("after=b", ["a", "b", "new", "c"]),
        ("before=a", ["new", "a", "b", "c"]),
        ("after=c", ["a", "b", "c", "new"]),
        // With both, both rules must exist, and `before` takes precedence.
        ("before=a&after=c", ["new", "a", "b", "c"]),
        ("after=a&before=c", ["a", "b", "new", "c"]),
    ] {
        for kind in KINDS {
            put_rules(&alice, kind, &["a", "b", "c"]).await;
            alice.put_rule_ok(&format!("global/{kind}/new?{query}"), &minimal_rule(kind)).await;
            assert_eq!(
                alice.user_rule_ids(&format!("global/{kind}/")).await,
                order,
                "{kind} {query}"
            );
            for id in ["a", "b", "c", "new"] {
                alice.delete_rule(&format!("global/{kind}/{id}")).await;
            }
        }
    }
}

#[tokio::test]
async fn before_and_after_move_an_existing_rule() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    put_rules(&alice, "room", &["a", "b", "c", "d"]).await;
    for (id, query, order) in [
        ("a", "after=c", ["b", "c", "a", "d"]),
        ("d", "before=b", ["d", "b", "c", "a"]),
        ("b", "before=c", ["d", "b", "c", "a"]),
        ("a", "after=d", ["d", "a", "b", "c"]),
    ] {
        alice.put_rule_ok(&format!("global/room/{id}?{query}"), &minimal_rule("room")).await;
        assert_eq!(alice.user_rule_ids("global/room/").await, order, "{id} {query}");
    }
}

#[tokio::test]
async fn a_replaced_rule_keeps_its_position_and_enabled_state() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    put_rules(&alice, "room", &["a", "b", "c"]).await;
    alice.put_rule_ok("global/room/b/enabled", &json!(false)).await;
    alice.put_rule_ok("global/room/b", &json!({ "actions": ["coalesce"] })).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a", "b", "c"]);
    let rule = alice.get_rules("global/room/b").await;
    assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(false), &json!(["coalesce"])));
    alice.put_rule_ok("global/room/b?after=c", &minimal_rule("room")).await;
    assert_eq!(alice.get_rules("global/room/b").await["enabled"], false);
}

#[tokio::test]
async fn an_invalid_neighbour_is_rejected_and_the_order_is_unchanged() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    put_rules(&alice, "room", &["a", "b"]).await;
    alice.put_rule_ok("global/sender/elsewhere", &minimal_rule("sender")).await;
    alice.put_rule_ok("device/phone/room/elsewhere", &minimal_rule("room")).await;
    for query in [
        "before=unknown",
        "after=unknown",
        "before=elsewhere",
        "after=elsewhere",
        "before=.m.rule.master",
        "after=.m.rule.suppress_notices",
        "before=a",
        "after=a",
        "before=",
        "before=b&after=unknown",
        "before=unknown&after=b",
        "before=b&before=b",
        "after=b&after=b",
        "before=b%00",
    ] {
        let path = format!("global/room/a?{query}");
        let response = alice.put_rule(&path, &json!({ "actions": ["coalesce"] })).await;
        assert_eq!(response.status_and_errcode(), (400, "M_UNKNOWN".into()), "{query}");
        assert_eq!(alice.user_rule_ids("global/room/").await, ["a", "b"], "{query}");
        assert_eq!(alice.get_rules("global/room/a").await["actions"], json!(["notify"]), "{query}");
    }
    for query in ["before=%", "after=%zz", "before=%ff"] {
        let response =
            alice.put_rule(&format!("global/room/a?{query}"), &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{query}");
    }
}

#[tokio::test]
async fn before_and_after_are_percent_decoded() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/%21a%20b", &minimal_rule("room")).await;
    alice.put_rule_ok("global/room/c?after=%21a+b", &minimal_rule("room")).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["!a b", "c"]);
}
