//! Many clients of one account at once: no rule is lost, none is doubled, the order is valid.

use belfry::config::LimitMode;
use serde_json::json;
use tokio::task::JoinSet;

use super::{ids, least};
use crate::support::service::config;
use crate::support::{Service, TestDatabase};

const CLIENTS: usize = 64;
const RULES: usize = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_1000_rules_put_by_64_clients_none_is_lost_on_sqlite() {
    none_is_lost(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_1000_rules_put_by_64_clients_none_is_lost_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        none_is_lost(database).await;
    }
}

async fn none_is_lost(database: TestDatabase) {
    let service = Service::on(database, config(|config| config.limits.mode = LimitMode::Off)).await;
    let alice = service.person("alice").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let alice = alice.clone();
        clients.spawn(async move {
            let mut last = None;
            for rule in (client..RULES).step_by(CLIENTS) {
                // Each next to the client's last, so that an order can be demanded.
                let place = last.map(|last| format!("?after=r{last}")).unwrap_or_default();
                alice.puts(&format!("global/room/r{rule}{place}"), &least("room")).await;
                last = Some(rule);
            }
        });
    }
    clients.join_all().await;

    let all = alice.shown("").await;
    let found = ids(&all["global"]["room"], false);
    assert_eq!(found.len(), RULES);
    let numbers: Vec<usize> = found.iter().map(|id| id[1..].parse().unwrap()).collect();
    for client in 0..CLIENTS {
        let own: Vec<usize> =
            numbers.iter().copied().filter(|number| number % CLIENTS == client).collect();
        let expected: Vec<usize> = (client..RULES).step_by(CLIENTS).collect();
        assert_eq!(own, expected, "the rules of client {client} stand in its order");
    }
    // The bound is met exactly.
    let one_more = alice.put("global/room/one_more", &least("room")).await;
    assert_eq!(one_more.errcode(), (413, "M_TOO_LARGE".into()));
}

/// Changes of all sorts at once: each is answered as if it had been alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_all_sorts_at_once_are_each_answered_for_themselves() {
    let service = super::service().await;
    let alice = service.person("alice").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let alice = alice.clone();
        clients.spawn(async move {
            let scope = if client % 3 == 0 { "device/phone" } else { "global" };
            let rule = format!("{scope}/room/c{client}");
            for _ in 0..10 {
                assert_eq!(alice.delete(&rule).await.status, 404);
                alice.puts(&rule, &least("room")).await;
                alice.puts(&format!("{rule}/enabled"), &json!(false)).await;
                alice.puts(&format!("{rule}/actions"), &json!({ "actions": [] })).await;
                let shown = alice.shown(&rule).await;
                assert_eq!((&shown["enabled"], &shown["actions"]), (&json!(false), &json!([])));
                let wrong = alice.put(&format!("{rule}?before=none"), &least("room")).await;
                assert_eq!(wrong.errcode(), (400, "M_UNKNOWN".into()));
                assert_eq!(alice.delete(&rule).await.status, 200);
            }
        });
    }
    clients.join_all().await;
    let all = alice.shown("").await;
    assert_eq!((&all["device"], &all["global"]["room"]), (&json!({}), &json!([])));
}
