//! Deliberately expensive rules and events, and more requests than can be evaluated.

use std::sync::mpsc;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    EVALUATE, EXPLAIN, members, message_event, rule_group, start_with_application_service,
};
use crate::rules::start_unlimited;
use crate::support::{Service, TestClient};

/// Returns a rule with the maximum number of conditions. An [`expensive_event`] meets all of them
/// but the last, after a lot of work.
pub(crate) fn expensive_rule() -> Value {
    let condition = json!({ "kind": "event_match", "key": "content.a", "pattern": "*?a?a?a?b*" });
    let mut conditions = vec![condition; 63];
    conditions.push(json!({ "kind": "room_member_count", "is": "99999" }));
    json!({ "actions": ["notify"], "conditions": conditions })
}

pub(crate) fn expensive_event() -> Value {
    let mut event = message_event("There is cake");
    event["content"]["a"] = json!("a".repeat(60_000) + "b");
    event
}

async fn put_expensive_and_cheap_rules(user: &TestClient) {
    user.put_rule_ok("global/content/cake", &super::silent_rule("cake")).await;
    user.put_rule_ok("global/override/slow", &expensive_rule()).await;
}

pub(crate) async fn work_exceeded_count(service: &Service) -> String {
    let metrics = service.metrics().await;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("belfry_evaluation_work_exceeded_total "));
    line.unwrap().to_owned()
}

#[tokio::test]
async fn rules_that_take_too_much_work_do_not_match() {
    let (service, application_service) = start_with_application_service().await;
    let mallory = service.user_client("mallory").await;
    let alice = service.user_client("alice").await;
    put_expensive_and_cheap_rules(&mallory).await;
    alice.put_rule_ok("global/content/cake", &super::silent_rule("cake")).await;

    let explanation = mallory.explain(&json!({ "event": expensive_event() })).await;
    assert_eq!(explanation["rule"]["rule_id"], ".m.rule.message");
    let find_step = |id: &str| {
        let walk = explanation["walk"].as_array().unwrap();
        walk.iter().find(|step| step["rule_id"] == id).cloned().unwrap()
    };
    for (kind, id) in [("override", "slow"), ("content", "cake")] {
        let expected = json!({
            "scope": "global", "kind": kind, "rule_id": id, "outcome": "failed",
            "reason": "work_limit",
        });
        assert_eq!(find_step(id), expected);
    }
    assert_eq!(work_exceeded_count(&service).await, "1");

    let request_body = |names: &[&str]| json!({ "event": expensive_event(), "members": members(names), "all": true });
    let groups = application_service.evaluate(&request_body(&["mallory", "alice"])).await;
    assert_eq!(
        groups,
        [rule_group(".m.rule.message", &["mallory"]), rule_group("cake", &["alice"])]
    );
    assert_eq!(work_exceeded_count(&service).await, "2");

    // The rules of users who are not members of the room are not evaluated.
    assert_eq!(
        application_service.evaluate(&request_body(&["alice"])).await,
        [rule_group("cake", &["alice"])]
    );
    assert_eq!(work_exceeded_count(&service).await, "2");

    // For a cheaper event, the cheap rule is reached and matches.
    let cheap_body =
        json!({ "event": message_event("cake"), "members": members(&["mallory"]), "all": true });
    assert_eq!(application_service.evaluate(&cheap_body).await, [rule_group("cake", &["mallory"])]);
}

/// Occupies every thread of the pool until the returned senders are dropped.
async fn occupy_threads(service: &Service) -> Vec<mpsc::Sender<()>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).max(2) - 1;
    let mut release_senders = Vec::new();
    for _ in 0..threads {
        let slot = service.state.evaluator.pool.enter().unwrap();
        let (release_sender, release_receiver) = mpsc::channel::<()>();
        let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let work = move || {
                let _ = started_sender.send(());
                let _ = release_receiver.recv();
            };
            slot.run(work).await
        });
        started_receiver.await.unwrap();
        release_senders.push(release_sender);
    }
    release_senders
}

#[tokio::test]
async fn other_requests_are_served_while_evaluations_wait() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    let release_senders = occupy_threads(&service).await;
    let body = json!({ "event": message_event("hi"), "members": members(&["alice"]) }).to_string();
    let evaluation =
        tokio::spawn(async move { application_service.send(EVALUATE, body).await.status });
    let explaining_client = alice.clone();
    let body = json!({ "event": message_event("hi") }).to_string();
    let explanation =
        tokio::spawn(async move { explaining_client.send(EXPLAIN, body).await.status });
    for _ in 0..100 {
        assert_eq!(service.anonymous_client().get("/healthz").await.status, 200);
        assert_eq!(alice.get(&crate::rules::pushrules_path("")).await.status, 200);
        tokio::task::yield_now().await;
    }
    assert!(!evaluation.is_finished() && !explanation.is_finished());
    drop(release_senders);
    assert_eq!((evaluation.await.unwrap(), explanation.await.unwrap()), (200, 200));
}

#[tokio::test]
async fn a_full_queue_is_reported_as_unavailable() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    let pool = &service.state.evaluator.pool;
    let slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
    let evaluate_body = json!({ "event": message_event("hi"), "members": members(&["alice"]) });
    let explain_body = json!({ "event": message_event("hi") });
    for response in [
        application_service.send_json(EVALUATE, &evaluate_body).await,
        alice.send_json(EXPLAIN, &explain_body).await,
    ] {
        assert_eq!(response.header("retry-after"), "5");
        assert_eq!(response.status_and_errcode(), (503, "M_UNKNOWN".into()));
    }
    drop(slots);
    assert_eq!(application_service.send_json(EVALUATE, &evaluate_body).await.status, 200);
    assert_eq!(alice.send_json(EXPLAIN, &explain_body).await.status, 200);
}

#[tokio::test]
async fn an_account_can_request_one_explanation_at_a_time() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    let account_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let slot = service.state.evaluator.pool.enter_for_account(account_id).unwrap();
    let body = json!({ "event": message_event("hi") });
    let response = alice.send_json(EXPLAIN, &body).await;
    assert_eq!(response.header("retry-after"), "1");
    let message = "Another request from this account is being evaluated; try again soon";
    let error = json!({ "errcode": "M_LIMIT_EXCEEDED", "error": message, "retry_after_ms": 1000 });
    assert_eq!(response.expect_json(StatusCode::TOO_MANY_REQUESTS), error);
    // The slot is taken before the body is parsed and the rules are read.
    assert_eq!(alice.send_json(EXPLAIN, &json!({})).await.status, 429);
    bob.explain(&body).await;
    drop(slot);
    alice.explain(&body).await;
}
