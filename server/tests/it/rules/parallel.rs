//! Concurrent writes by many clients of one account.

use belfry::config::RateLimitMode;
use serde_json::json;
use tokio::task::JoinSet;

use super::{minimal_rule, rule_ids};
use crate::support::service::config_with;
use crate::support::{Service, TestDatabase};

const CLIENTS: usize = 64;
const RULES: usize = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_rule_of_64_concurrent_clients_is_lost_on_sqlite() {
    assert_no_rule_is_lost(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_rule_of_64_concurrent_clients_is_lost_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_no_rule_is_lost(database).await;
    }
}

async fn assert_no_rule_is_lost(database: TestDatabase) {
    let service =
        Service::start_on(database, config_with(|config| config.limits.mode = RateLimitMode::Off))
            .await;
    let alice = service.user_client("alice").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let alice = alice.clone();
        clients.spawn(async move {
            let mut previous = None;
            for number in (client..RULES).step_by(CLIENTS) {
                // Placed after the client's previous rule, so that the order can be checked.
                let position =
                    previous.map(|previous| format!("?after=r{previous}")).unwrap_or_default();
                alice
                    .put_rule_ok(&format!("global/room/r{number}{position}"), &minimal_rule("room"))
                    .await;
                previous = Some(number);
            }
        });
    }
    clients.join_all().await;

    let rulesets = alice.get_rules("").await;
    let ids = rule_ids(&rulesets["global"]["room"], false);
    assert_eq!(ids.len(), RULES);
    let numbers: Vec<usize> = ids.iter().map(|id| id[1..].parse().unwrap()).collect();
    for client in 0..CLIENTS {
        let client_rules: Vec<usize> =
            numbers.iter().copied().filter(|number| number % CLIENTS == client).collect();
        let expected: Vec<usize> = (client..RULES).step_by(CLIENTS).collect();
        assert_eq!(client_rules, expected, "order of the rules of client {client}");
    }
    // The limit is reached exactly.
    let response = alice.put_rule("global/room/one_more", &minimal_rule("room")).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_changes_each_get_their_own_response() {
    let service = super::start_unlimited().await;
    let alice = service.user_client("alice").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let alice = alice.clone();
        clients.spawn(async move {
            let scope = if client % 3 == 0 { "device/phone" } else { "global" };
            let path = format!("{scope}/room/c{client}");
            for _ in 0..10 {
                assert_eq!(alice.delete_rule(&path).await.status, 404);
                alice.put_rule_ok(&path, &minimal_rule("room")).await;
                alice.put_rule_ok(&format!("{path}/enabled"), &json!(false)).await;
                alice.put_rule_ok(&format!("{path}/actions"), &json!({ "actions": [] })).await;
                let rule = alice.get_rules(&path).await;
                assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(false), &json!([])));
                let response =
                    alice.put_rule(&format!("{path}?before=none"), &minimal_rule("room")).await;
                assert_eq!(response.status_and_errcode(), (400, "M_UNKNOWN".into()));
                assert_eq!(alice.delete_rule(&path).await.status, 200);
            }
        });
    }
    clients.join_all().await;
    let rulesets = alice.get_rules("").await;
    assert_eq!((&rulesets["device"], &rulesets["global"]["room"]), (&json!({}), &json!([])));
}
