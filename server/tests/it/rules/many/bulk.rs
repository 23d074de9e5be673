//! Bulk changes: all changes in a request are stored, or none.

use axum::http::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;

use super::{delete_change, put_change};
use crate::rules::{ids, minimal_rule, pushrules, service};
use crate::support::{Service, on_both_engines};

on_both_engines! {
    crate::rules::unlimited_service:
    changes_are_made_in_order_and_in_all_scopes,
    nothing_is_changed_if_one_change_is_rejected,
    bulk_changes_and_single_changes_of_many_clients_are_all_made,
}

async fn changes_are_made_in_order_and_in_all_scopes(service: Service) {
    let alice = service.user_client("alice").await;
    alice.put_ok("global/room/old", &minimal_rule("room")).await;
    alice.put_ok("device/tablet/room/only", &minimal_rule("room")).await;
    // Fills the cache, which must not return the old rules afterwards.
    alice.get_rules("").await;
    let mut below = put_change("global", "c");
    below["after"] = json!("a");
    alice
        .change_rules(&json!([
            put_change("global", "a"),
            put_change("global", "b"),
            below,
            delete_change("old"),
            { "op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": false },
            { "op": "set_actions", "kind": "room", "rule_id": "c", "actions": [] },
            { "op": "set_enabled", "kind": "override", "rule_id": ".m.rule.master", "enabled": true },
            put_change("device/phone", "p"),
            { "op": "delete", "scope": "device/tablet", "kind": "room", "rule_id": "only" },
        ]))
        .await;
    let all = alice.get_rules("").await;
    assert_eq!(ids(&all["global"]["room"], false), ["b", "a", "c"]);
    let room = &all["global"]["room"];
    assert_eq!((&room[1]["enabled"], &room[2]["actions"]), (&json!(false), &json!([])));
    assert_eq!(all["global"]["override"][0]["enabled"], true);
    let devices: Vec<&String> = all["device"].as_object().unwrap().keys().collect();
    assert_eq!(devices, ["phone"]);
    assert_eq!(ids(&all["device"]["phone"]["room"], false), ["p"]);
    alice.change_rules(&json!([])).await;
    assert_eq!(alice.get_rules("").await, all);
}

async fn nothing_is_changed_if_one_change_is_rejected(service: Service) {
    let alice = service.user_client("alice").await;
    alice.change_rules(&json!([put_change("global", "a"), put_change("device/phone", "p")])).await;
    let before = alice.get(&pushrules("")).await.text;
    let mut misplaced = put_change("global", "x");
    misplaced["before"] = json!("none");
    for (rejected, status, code, error) in [
        (delete_change("none"), 404, "M_NOT_FOUND", "there is no room rule \"none\""),
        (misplaced, 400, "M_UNKNOWN", "there is no room rule \"none\" to place the rule next to"),
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
            rejected,
            put_change("global", "c"),
        ]);
        let response = alice.post_rules("bulk", &json!({ "changes": changes })).await;
        let expected = json!({
            "errcode": code, "error": format!("changes[4]: {error}"), "change": 4,
        });
        assert_eq!((response.status, response.json()), (status, expected));
        assert_eq!(alice.get(&pushrules("")).await.text, before);
    }
}

/// Bulk changes add pairs of rules to two scopes while other clients put single rules. Readers must
/// always see both rules of a pair, or none.
async fn bulk_changes_and_single_changes_of_many_clients_are_all_made(service: Service) {
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
                    alice.put_ok(&format!("global/room/{id}"), &minimal_rule("room")).await;
                    continue;
                }
                let pair = [put_change("global", &id), put_change("device/phone", &id)];
                let mut rejected = pair.to_vec();
                rejected.push(delete_change("none"));
                let response = alice.post_rules("bulk", &json!({ "changes": rejected })).await;
                assert_eq!(response.status_and_errcode(), (404, "M_NOT_FOUND".into()));
                alice.change_rules(&json!(pair)).await;
            }
        });
    }
    let reader = {
        let alice = alice.clone();
        tokio::spawn(async move {
            loop {
                let all = alice.get_rules("").await;
                let rooms = ids(&all["global"]["room"], false);
                let phone = &all["device"]["phone"]["room"];
                let phone = if phone.is_null() { Vec::new() } else { ids(phone, false) };
                let is_bulk = |id: &&String| {
                    let client: usize = id[1..id.find('r').unwrap()].parse().unwrap();
                    client % 2 == 1
                };
                let pairs: Vec<&String> = rooms.iter().filter(is_bulk).collect();
                assert_eq!(pairs, phone.iter().collect::<Vec<_>>());
                if rooms.len() == CLIENTS * ROUNDS {
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
    let service = service().await;
    let alice = service.user_client("alice").await;
    let event = json!({ "event": { "type": "m.room.message", "sender": "@bob:ring.example",
        "room_id": "!r:ring.example", "content": { "body": "cake" } } });
    let explain = async || alice.post_rules("explain", &event).await.expect_json(StatusCode::OK);
    assert_eq!(explain().await["rule"]["rule_id"], ".m.rule.message");
    let cake = json!({ "op": "put", "kind": "content", "rule_id": "cake",
        "rule": { "actions": [], "pattern": "cake" } });
    alice.change_rules(&json!([put_change("global", "!r:ring.example"), cake])).await;
    assert_eq!(explain().await["rule"]["rule_id"], "cake");
    assert_eq!(alice.post_rules("reset", &json!({})).await.status, 200);
    assert_eq!(explain().await["rule"]["rule_id"], ".m.rule.message");
}
