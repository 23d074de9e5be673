//! Timed rules in evaluations.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    APPLICATION_SERVICE_SETTINGS, members, message_event, rule_group, start_on,
    start_with_application_service,
};
use crate::support::service::START_SECONDS;
use crate::support::{Service, TestClient, TestDatabase};

const HOUR_SECONDS: i64 = 3600;

/// Returns the time this many seconds after the start of the clock, as Unix time in milliseconds.
fn millis_after_start(seconds: i64) -> i64 {
    (START_SECONDS + seconds) * 1000
}

fn evaluation_request(names: &[&str]) -> Value {
    json!({ "event": message_event("hello"), "members": members(names), "all": true })
}

/// Explains a message to Alice. Returns the rule that matches, and the ids of all rules in the
/// explanation.
async fn explain_message(alice: &TestClient) -> (String, Vec<String>) {
    let explanation = alice.explain(&json!({ "event": message_event("hello") })).await;
    let to_string = |value: &Value| value.as_str().unwrap().to_owned();
    let walk = explanation["walk"].as_array().unwrap().iter();
    (
        to_string(&explanation["rule"]["rule_id"]),
        walk.map(|step| to_string(&step["rule_id"])).collect(),
    )
}

#[tokio::test]
async fn a_timed_rule_is_evaluated_until_it_expires() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    let _bob = service.user_client("bob").await;
    let mute_rule = json!({ "actions": [], "until": millis_after_start(HOUR_SECONDS) });
    alice.put_rule_ok("global/room/!r:x", &mute_rule).await;
    let body = evaluation_request(&["alice", "bob"]);
    let muted_groups = [rule_group("!r:x", &["alice"]), rule_group(".m.rule.message", &["bob"])];
    // The second evaluation uses the cached index.
    for _ in 0..2 {
        assert_eq!(application_service.evaluate(&body).await, muted_groups);
        assert_eq!(explain_message(&alice).await.0, "!r:x");
    }
    service.clock.advance_millis(HOUR_SECONDS * 1000 - 1);
    assert_eq!(application_service.evaluate(&body).await, muted_groups);
    assert_eq!(explain_message(&alice).await.0, "!r:x");

    service.clock.advance_millis(1);
    for _ in 0..2 {
        let unmuted_groups = [rule_group(".m.rule.message", &["alice", "bob"])];
        assert_eq!(application_service.evaluate(&body).await, unmuted_groups);
        let (rule, walk) = explain_message(&alice).await;
        assert_eq!(rule, ".m.rule.message");
        assert!(!walk.contains(&"!r:x".to_owned()), "{walk:?}");
    }
}

#[tokio::test]
async fn a_pause_of_all_notifications_is_evaluated_until_it_expires() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    let pause_body = json!({ "enabled": true, "until": millis_after_start(HOUR_SECONDS) });
    alice.put_rule_ok("global/override/.m.rule.master/enabled", &pause_body).await;
    for (advance, rule) in
        [(0, ".m.rule.master"), (HOUR_SECONDS - 1, ".m.rule.master"), (1, ".m.rule.message")]
    {
        service.clock.advance(advance);
        let groups = application_service.evaluate(&evaluation_request(&["alice"])).await;
        assert_eq!(groups, [rule_group(rule, &["alice"])]);
        assert_eq!(explain_message(&alice).await.0, rule);
    }
}

#[tokio::test]
async fn quiet_hours_are_evaluated_with_the_servers_clock() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    // The clock starts on Friday, 15 January 2027, at 08:00 UTC, which is 09:00 in Berlin.
    let condition = json!({
        "kind": "time_and_day", "timezone": "Europe/Berlin",
        "intervals": [{ "time_of_day": ["09:00", "09:59"], "day_of_week": [5] }],
    });
    let rule = json!({ "actions": [], "conditions": [condition] });
    alice.put_rule_ok("global/override/quiet", &rule).await;
    // All evaluations after the first use the cached index.
    for (advance, rule) in
        [(0, "quiet"), (HOUR_SECONDS - 1, "quiet"), (1, ".m.rule.message"), (0, ".m.rule.message")]
    {
        service.clock.advance(advance);
        let groups = application_service.evaluate(&evaluation_request(&["alice"])).await;
        assert_eq!(groups, [rule_group(rule, &["alice"])]);
        assert_eq!(explain_message(&alice).await.0, rule);
    }
    let explanation = alice.explain(&json!({ "event": message_event("hello") })).await;
    let mut steps = explanation["walk"].as_array().unwrap().iter();
    let step = steps.find(|step| step["rule_id"] == "quiet").unwrap();
    assert_eq!(step["condition"], condition);
    assert_eq!(step["found"], json!({ "day_of_week": 5, "time_of_day": "10:00" }));
}

/// Waits until a node has received another node's write.
async fn wait_for_rule(alice: &TestClient, rule: &str) {
    for _ in 0..4000 {
        if explain_message(alice).await.0 == rule {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the rule {rule} never matched");
}

async fn wait_for_cache(service: &Service) {
    while !service.store().is_cache_enabled() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Each node applies the expiry by its own clock, without reading the database.
#[tokio::test(flavor = "multi_thread")]
async fn a_mute_set_on_one_node_expires_on_time_on_another() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let url = database.url().unwrap().to_owned();
    let (other_node, remote_application_service) =
        start_on(database.share(), APPLICATION_SERVICE_SETTINGS).await;
    let (service, local_application_service) =
        start_on(database, APPLICATION_SERVICE_SETTINGS).await;
    wait_for_cache(&service).await;
    wait_for_cache(&other_node).await;
    let alice = service.user_client("alice").await;
    let remote_alice = other_node.anonymous_client().with_token(alice.token());
    let body = evaluation_request(&["alice"]);

    alice
        .put_rule_ok(
            "global/room/!r:x",
            &json!({ "actions": [], "until": millis_after_start(HOUR_SECONDS) }),
        )
        .await;
    let pause_body = json!({ "enabled": true, "until": millis_after_start(HOUR_SECONDS / 2) });
    alice.put_rule_ok("global/override/.m.rule.master/enabled", &pause_body).await;
    wait_for_rule(&remote_alice, ".m.rule.master").await;
    assert_eq!(
        remote_application_service.evaluate(&body).await,
        [rule_group(".m.rule.master", &["alice"])]
    );

    let (mut client, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table rulesets in access exclusive mode").await.unwrap();
    for (millis, rule) in [
        (HOUR_SECONDS / 2 * 1000 - 1, ".m.rule.master"),
        (1, "!r:x"),
        (HOUR_SECONDS / 2 * 1000 - 1, "!r:x"),
        (1, ".m.rule.message"),
    ] {
        other_node.clock.advance_millis(millis);
        assert_eq!(explain_message(&remote_alice).await.0, rule);
        assert_eq!(
            remote_application_service.evaluate(&body).await,
            [rule_group(rule, &["alice"])]
        );
    }
    lock.rollback().await.unwrap();
    let rules = remote_alice.get_rules("global/room/").await;
    assert_eq!(rules, json!([]));

    // The clock of the first node has not advanced.
    assert_eq!(
        local_application_service.evaluate(&body).await,
        [rule_group(".m.rule.master", &["alice"])]
    );
    service.clock.advance(HOUR_SECONDS);
    assert_eq!(
        local_application_service.evaluate(&body).await,
        [rule_group(".m.rule.message", &["alice"])]
    );
    assert_eq!(explain_message(&alice).await.0, ".m.rule.message");
}
