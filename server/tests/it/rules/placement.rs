//! Order of rules: default positions, `before` and `after`.

use serde_json::json;

use super::{minimal_rule, start_unlimited};
use crate::support::TestClient;

/// Adds room rules in this order.
async fn put_rules(alice: &TestClient, ids: &[&str]) {
    for id in ids.iter().rev() {
        alice.put_rule_ok(&format!("global/room/{id}"), &minimal_rule("room")).await;
    }
}

#[tokio::test]
async fn a_rule_is_placed_before_or_after_another() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    put_rules(&alice, &["a", "b%20c"]).await;
    alice.put_rule_ok("global/room/a/enabled", &json!(false)).await;
    for (id, query, order) in [
        ("new", "", &["new", "a", "b c"][..]),
        ("x", "before=%62+c", &["new", "a", "x", "b c"]),
        ("y", "after=b%20c", &["new", "a", "x", "b c", "y"]),
        // With both, both rules must exist, and `before` takes precedence.
        ("z", "before=a&after=y", &["new", "z", "a", "x", "b c", "y"]),
        // Existing rules move, and stay at their position without a neighbour.
        ("a", "after=y", &["new", "z", "x", "b c", "y", "a"]),
        ("y", "before=new", &["y", "new", "z", "x", "b c", "a"]),
        ("z", "", &["y", "new", "z", "x", "b c", "a"]),
    ] {
        alice.put_rule_ok(&format!("global/room/{id}?{query}"), &minimal_rule("room")).await;
        assert_eq!(alice.user_rule_ids("global/room/").await, order, "{id} {query}");
    }
    assert_eq!(alice.get_rules("global/room/a").await["enabled"], false);
}

#[tokio::test]
async fn an_invalid_neighbour_is_rejected_and_the_order_is_unchanged() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    put_rules(&alice, &["a", "b"]).await;
    alice.put_rule_ok("global/sender/elsewhere", &minimal_rule("sender")).await;
    alice.put_rule_ok("device/phone/room/elsewhere", &minimal_rule("room")).await;
    for query in [
        "before=unknown",
        "after=elsewhere",
        "before=.m.rule.master",
        "after=a",
        "before=",
        "before=b&after=unknown",
        "before=b&before=b",
    ] {
        let path = format!("global/room/a?{query}");
        let response = alice.put_rule(&path, &json!({ "actions": ["coalesce"] })).await;
        assert_eq!(response.status_and_errcode(), (400, "M_UNKNOWN".into()), "{query}");
        assert_eq!(alice.user_rule_ids("global/room/").await, ["a", "b"], "{query}");
        assert_eq!(alice.get_rules("global/room/a").await["actions"], json!(["notify"]), "{query}");
    }
    for query in ["before=%", "before=%ff"] {
        let response =
            alice.put_rule(&format!("global/room/a?{query}"), &minimal_rule("room")).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{query}");
    }
}
