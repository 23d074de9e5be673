//! Bulk changes: all changes in a request are stored, or none.

use axum::http::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;

use super::{delete_change, put_change};
use crate::rules::{minimal_rule, pushrules_path, rule_ids, start_unlimited};
use crate::support::{Service, on_both_engines};

on_both_engines! {
    crate::rules::start_unlimited_on:
    changes_are_made_in_order_and_in_all_scopes,
    nothing_is_changed_if_one_change_is_rejected,
    concurrent_bulk_and_single_changes_are_all_made,
}

async fn changes_are_made_in_order_and_in_all_scopes(service: Service) {
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/old", &minimal_rule("room")).await;
    alice.put_rule_ok("device/tablet/room/only", &minimal_rule("room")).await;
    // Fills the cache, which must not return the old rules afterwards.
    alice.get_rules("").await;
    let mut put_below = put_change("global", "c");
    put_below["after"] = json!("a");
    alice
        .change_rules(&json!([
            put_change("global", "a"),
            put_change("global", "b"),
            put_below,
            delete_change("old"),
            { "op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": false },
            { "op": "set_actions", "kind": "room", "rule_id": "c", "actions": [] },
            { "op": "set_enabled", "kind": "override", "rule_id": ".m.rule.master", "enabled": true },
            put_change("device/phone", "p"),
            { "op": "delete", "scope": "device/tablet", "kind": "room", "rule_id": "only" },
        ]))
        .await;
    let rulesets = alice.get_rules("").await;
    assert_eq!(rule_ids(&rulesets["global"]["room"], false), ["b", "a", "c"]);
    let room_rules = &rulesets["global"]["room"];
    assert_eq!((&room_rules[1]["enabled"], &room_rules[2]["actions"]), (&json!(false), &json!([])));
    assert_eq!(rulesets["global"]["override"][0]["enabled"], true);
    let devices: Vec<&String> = rulesets["device"].as_object().unwrap().keys().collect();
    assert_eq!(devices, ["phone"]);
    assert_eq!(rule_ids(&rulesets["device"]["phone"]["room"], false), ["p"]);
    alice.change_rules(&json!([])).await;
    assert_eq!(alice.get_rules("").await, rulesets);
}

async fn nothing_is_changed_if_one_change_is_rejected(service: Service) {
    let alice = service.user_client("alice").await;
    alice.change_rules(&json!([put_change("global", "a"), put_change("device/phone", "p")])).await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    let mut misplaced_put = put_change("global", "x");
    misplaced_put["before"] = json!("none");
    for (rejected_change, status, errcode, error) in [
        (delete_change("none"), 404, "M_NOT_FOUND", "there is no room rule \"none\""),
        (
            misplaced_put,
            400,
            "M_UNKNOWN",
            "there is no room rule \"none\" to place the rule next to",
        ),
        (
            put_change("global", ".x"),
            400,
            "M_INVALID_PARAM",
            "rule ids that begin with a dot are reserved for built-in rules",
        ),
        (json!({ "op": "put" }), 400, "M_MISSING_PARAM", "kind is missing"),
        (json!([]), 400, "M_BAD_JSON", "the change must be a JSON object"),
    ] {
        let changes = json!([
            put_change("global", "b"),
            delete_change("a"),
            put_change("device/phone", "q"),
            put_change("device/new", "n"),
            rejected_change,
            put_change("global", "c"),
        ]);
        let response = alice.post_rules("bulk", &json!({ "changes": changes })).await;
        let expected = json!({
            "errcode": errcode, "error": format!("changes[4]: {error}"), "change": 4,
        });
        assert_eq!((response.status, response.json()), (status, expected));
        assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
    }
}

/// Bulk changes add pairs of rules to two scopes while other clients put single rules. Readers must
/// always see both rules of a pair, or none.
async fn concurrent_bulk_and_single_changes_are_all_made(service: Service) {
    const CLIENTS: usize = 16;
    const ROUNDS: usize = 10;
    let alice = service.user_client("alice").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let alice = alice.clone();
        clients.spawn(async move {
            for round in 0..ROUNDS {
                let id = format!("c{client}r{round}");
                if client % 2 == 0 {
                    alice.put_rule_ok(&format!("global/room/{id}"), &minimal_rule("room")).await;
                    continue;
                }
                let pair = [put_change("global", &id), put_change("device/phone", &id)];
                let mut rejected_changes = pair.to_vec();
                rejected_changes.push(delete_change("none"));
                let response =
                    alice.post_rules("bulk", &json!({ "changes": rejected_changes })).await;
                assert_eq!(response.status_and_errcode(), (404, "M_NOT_FOUND".into()));
                alice.change_rules(&json!(pair)).await;
            }
        });
    }
    let reader = {
        let alice = alice.clone();
        tokio::spawn(async move {
            loop {
                let rulesets = alice.get_rules("").await;
                let room_ids = rule_ids(&rulesets["global"]["room"], false);
                let phone_rules = &rulesets["device"]["phone"]["room"];
                let phone_ids =
                    if phone_rules.is_null() { Vec::new() } else { rule_ids(phone_rules, false) };
                let is_bulk = |id: &&String| {
                    let client: usize = id[1..id.find('r').unwrap()].parse().unwrap();
                    client % 2 == 1
                };
                let pair_ids: Vec<&String> = room_ids.iter().filter(is_bulk).collect();
                assert_eq!(pair_ids, phone_ids.iter().collect::<Vec<_>>());
                if room_ids.len() == CLIENTS * ROUNDS {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
    };
    clients.join_all().await;
    reader.await.unwrap();
}

#[tokio::test]
async fn a_change_takes_effect_for_the_next_evaluation() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let event = json!({ "event": { "type": "m.room.message", "sender": "@bob:ring.example",
        "room_id": "!r:ring.example", "content": { "body": "cake" } } });
    let explain = async || alice.post_rules("explain", &event).await.expect_json(StatusCode::OK);
    assert_eq!(explain().await["rule"]["rule_id"], ".m.rule.message");
    let cake_change = json!({ "op": "put", "kind": "content", "rule_id": "cake",
        "rule": { "actions": [], "pattern": "cake" } });
    alice.change_rules(&json!([put_change("global", "!r:ring.example"), cake_change])).await;
    assert_eq!(explain().await["rule"]["rule_id"], "cake");
    assert_eq!(alice.post_rules("reset", &json!({})).await.status, 200);
    assert_eq!(explain().await["rule"]["rule_id"], ".m.rule.message");
}
