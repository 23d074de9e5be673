//! The order of rules: where a rule goes, and next to what it can be placed.

use serde_json::json;

use super::{KINDS, least, service};
use crate::support::Caller;

async fn with_rules(alice: &Caller, kind: &str, ids: &[&str]) {
    // The last is put first, so that they stand as they are named.
    for id in ids.iter().rev() {
        alice.puts(&format!("global/{kind}/{id}"), &least(kind)).await;
    }
}

#[tokio::test]
async fn a_new_rule_goes_on_top_of_its_kind_below_the_master_rule() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in KINDS {
        with_rules(&alice, kind, &["a", "b", "c"]).await;
        assert_eq!(alice.own(&format!("global/{kind}/")).await, ["a", "b", "c"], "{kind}");
    }
    let rules = alice.shown("global/override/").await;
    let ids: Vec<&str> =
        rules.as_array().unwrap().iter().map(|rule| rule["rule_id"].as_str().unwrap()).collect();
    assert_eq!(ids[..5], [".m.rule.master", "a", "b", "c", ".m.rule.suppress_notices"]);
    let rules = alice.shown("global/underride/").await;
    assert_eq!((&rules[2]["rule_id"], &rules[3]["rule_id"]), (&json!("c"), &json!(".m.rule.call")));
}

#[tokio::test]
async fn before_and_after_place_a_new_rule() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (query, order) in [
        ("before=b", ["a", "new", "b", "c"]),
        ("after=b", ["a", "b", "new", "c"]),
        ("before=a", ["new", "a", "b", "c"]),
        ("after=c", ["a", "b", "c", "new"]),
        // Both: both must exist, and `before` decides.
        ("before=a&after=c", ["new", "a", "b", "c"]),
        ("after=a&before=c", ["a", "b", "new", "c"]),
    ] {
        for kind in KINDS {
            with_rules(&alice, kind, &["a", "b", "c"]).await;
            alice.puts(&format!("global/{kind}/new?{query}"), &least(kind)).await;
            assert_eq!(alice.own(&format!("global/{kind}/")).await, order, "{kind} {query}");
            for id in ["a", "b", "c", "new"] {
                alice.delete(&format!("global/{kind}/{id}")).await;
            }
        }
    }
}

#[tokio::test]
async fn before_and_after_move_a_rule_that_is_there() {
    let service = service().await;
    let alice = service.person("alice").await;
    with_rules(&alice, "room", &["a", "b", "c", "d"]).await;
    for (moved, query, order) in [
        ("a", "after=c", ["b", "c", "a", "d"]),
        ("d", "before=b", ["d", "b", "c", "a"]),
        ("b", "before=c", ["d", "b", "c", "a"]),
        ("a", "after=d", ["d", "a", "b", "c"]),
    ] {
        alice.puts(&format!("global/room/{moved}?{query}"), &least("room")).await;
        assert_eq!(alice.own("global/room/").await, order, "{moved} {query}");
    }
}

#[tokio::test]
async fn a_replaced_rule_keeps_its_place_and_whether_it_is_enabled() {
    let service = service().await;
    let alice = service.person("alice").await;
    with_rules(&alice, "room", &["a", "b", "c"]).await;
    alice.puts("global/room/b/enabled", &json!(false)).await;
    alice.puts("global/room/b", &json!({ "actions": ["coalesce"] })).await;
    assert_eq!(alice.own("global/room/").await, ["a", "b", "c"]);
    let rule = alice.shown("global/room/b").await;
    assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(false), &json!(["coalesce"])));
    alice.puts("global/room/b?after=c", &least("room")).await;
    assert_eq!(alice.shown("global/room/b").await["enabled"], false);
}

/// Attack 94, and the one error that the contract shows.
#[tokio::test]
async fn a_neighbour_that_is_none_is_refused_and_the_order_stays() {
    let service = service().await;
    let alice = service.person("alice").await;
    with_rules(&alice, "room", &["a", "b"]).await;
    alice.puts("global/sender/elsewhere", &least("sender")).await;
    alice.puts("device/phone/room/elsewhere", &least("room")).await;
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
        let answer = alice.put(&path, &json!({ "actions": ["coalesce"] })).await;
        assert_eq!(answer.errcode(), (400, "M_UNKNOWN".into()), "{query}");
        assert_eq!(alice.own("global/room/").await, ["a", "b"], "{query}");
        assert_eq!(alice.shown("global/room/a").await["actions"], json!(["notify"]), "{query}");
    }
    for query in ["before=%", "after=%zz", "before=%ff"] {
        let answer = alice.put(&format!("global/room/a?{query}"), &least("room")).await;
        assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()), "{query}");
    }
}

#[tokio::test]
async fn a_neighbour_is_named_with_escapes_as_in_any_query() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/%21a%20b", &least("room")).await;
    alice.puts("global/room/c?after=%21a+b", &least("room")).await;
    assert_eq!(alice.own("global/room/").await, ["!a b", "c"]);
}
