//! Timed rules: `until` in a user rule, and in a change of a built-in rule.

use axum::http::StatusCode;
use belfry::config::RateLimitMode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{pushrules_path, start_unlimited};
use crate::support::service::{START_SECONDS, config_with};
use crate::support::{Service, TestClient, any_events};

const HOUR_SECONDS: i64 = 3600;

/// Returns the time this many seconds after the start of the fake clock, as Unix time in
/// milliseconds.
fn millis_after_start(seconds: i64) -> i64 {
    (START_SECONDS + seconds) * 1000
}

/// Returns the user rules as `scope/kind/id`, after checking that all responses with rules agree.
async fn user_rule_paths(alice: &TestClient) -> Vec<String> {
    let rulesets = alice.get_rules("").await;
    let account_data = "/_matrix/client/v3/user/@alice:ring.example/account_data/m.push_rules";
    assert_eq!(alice.get(account_data).await.expect_json(StatusCode::OK), rulesets);
    assert_eq!(alice.get_rules("global/").await, rulesets["global"]);
    assert_eq!(alice.get_rules("device/").await, rulesets["device"]);
    let mut paths = Vec::new();
    let devices = rulesets["device"].as_object().unwrap().iter();
    let device_scopes = devices.map(|(tag, ruleset)| (format!("device/{tag}"), ruleset));
    let global_scope = [("global".to_owned(), &rulesets["global"])];
    for (scope, ruleset) in global_scope.into_iter().chain(device_scopes) {
        assert_eq!(&alice.get_rules(&format!("{scope}/")).await, ruleset);
        for (kind, kind_rules) in ruleset.as_object().unwrap() {
            assert_eq!(&alice.get_rules(&format!("{scope}/{kind}/")).await, kind_rules);
            let ids = super::rule_ids(kind_rules, false);
            paths.extend(ids.into_iter().map(|id| format!("{scope}/{kind}/{id}")));
        }
    }
    paths
}

/// Returns `enabled` and `until` of the master rule, after checking that all responses agree.
async fn master_rule_state(alice: &TestClient) -> (Value, Value) {
    let rule = alice.get_rules("global/override/.m.rule.master").await;
    assert_eq!(alice.get_rules("").await["global"]["override"][0], rule);
    let enabled = alice.get_rules("global/override/.m.rule.master/enabled").await;
    assert_eq!(enabled, json!({ "enabled": rule["enabled"] }));
    (rule["enabled"].clone(), rule["until"].clone())
}

#[tokio::test]
async fn an_expired_rule_is_absent_everywhere() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let timed_rule = json!({ "actions": [], "until": millis_after_start(HOUR_SECONDS) });
    let path = "global/room/!a:x";
    alice.put_rule_ok(path, &timed_rule).await;
    alice.put_rule_ok("device/phone/sender/@b:x", &timed_rule).await;
    alice.put_rule_ok("global/room/!b:x", &json!({ "actions": [] })).await;
    let initial_paths = ["global/room/!b:x", path, "device/phone/sender/@b:x"];
    assert_eq!(user_rule_paths(&alice).await, initial_paths);

    service.clock.advance_millis(HOUR_SECONDS * 1000 - 1);
    assert_eq!(user_rule_paths(&alice).await, initial_paths);
    assert_eq!(
        alice.get_rules(path).await,
        json!({
            "rule_id": "!a:x", "default": false, "enabled": true, "actions": [],
            "until": millis_after_start(HOUR_SECONDS),
        })
    );

    service.clock.advance_millis(1);
    let not_found = (404, "M_NOT_FOUND".to_owned());
    for attribute in ["", "/enabled", "/actions"] {
        let path = pushrules_path(&format!("{path}{attribute}"));
        assert_eq!(alice.get(&path).await.status_and_errcode(), not_found, "GET {path}");
    }
    for (attribute, body) in [("enabled", json!(true)), ("actions", json!({ "actions": [] }))] {
        let response = alice.put_rule(&format!("{path}/{attribute}"), &body).await;
        assert_eq!(response.status_and_errcode(), not_found, "PUT {attribute}");
    }
    for position in ["before", "after"] {
        let response =
            alice.put_rule(&format!("global/room/!c:x?{position}=!a:x"), &timed_rule).await;
        assert_eq!(
            response.status_and_errcode(),
            (400, "M_INVALID_PARAM".to_owned()),
            "the new rule has expired as well"
        );
        let body = json!({ "actions": [] });
        let response = alice.put_rule(&format!("global/room/!c:x?{position}=!a:x"), &body).await;
        assert_eq!(response.status_and_errcode(), (400, "M_UNKNOWN".to_owned()), "{position}");
    }
    assert_eq!(alice.delete_rule(path).await.status_and_errcode(), not_found);
    assert_eq!(user_rule_paths(&alice).await, ["global/room/!b:x"]);
    assert_eq!(alice.get_rules("device/").await, json!({}));
}

#[tokio::test]
async fn an_invalid_expiry_is_rejected_with_the_reason() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let type_error = "until must be an integer: Unix time in milliseconds";
    let range_error = "until must be from 0 to 9007199254740991 (Unix time in milliseconds)";
    let past_error = |until| {
        format!(
            "until must be in the future: it is {until}, and the server's clock is at {} \
             (Unix time in milliseconds)",
            millis_after_start(0)
        )
    };
    for (until, errcode, error) in [
        (json!("tomorrow"), "M_BAD_JSON", type_error.to_owned()),
        (json!(-1), "M_INVALID_PARAM", range_error.to_owned()),
        (json!(9_007_199_254_740_992_i64), "M_INVALID_PARAM", range_error.to_owned()),
        (json!(millis_after_start(0)), "M_INVALID_PARAM", past_error(millis_after_start(0))),
    ] {
        let rule = json!({ "actions": [], "until": until });
        let change = json!({ "enabled": true, "until": until });
        for (path, body) in
            [("global/room/a", rule), ("global/override/.m.rule.master/enabled", change)]
        {
            let response = alice.put_rule(path, &body).await.expect_json(StatusCode::BAD_REQUEST);
            assert_eq!(response, json!({ "errcode": errcode, "error": error }), "{path} {body}");
        }
    }
    assert_eq!(user_rule_paths(&alice).await, [""; 0]);
    assert_eq!(master_rule_state(&alice).await, (json!(false), Value::Null));
    alice
        .put_rule_ok("global/room/a", &json!({ "actions": [], "until": 9_007_199_254_740_991_i64 }))
        .await;
    assert_eq!(user_rule_paths(&alice).await, ["global/room/a"]);
}

#[tokio::test]
async fn a_timed_pause_of_all_notifications_expires() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let path = "global/override/.m.rule.master/enabled";
    let pause = json!({ "enabled": true, "until": millis_after_start(HOUR_SECONDS) });
    alice.put_rule_ok(path, &pause).await;
    assert_eq!(
        master_rule_state(&alice).await,
        (json!(true), json!(millis_after_start(HOUR_SECONDS)))
    );
    service.clock.advance_millis(HOUR_SECONDS * 1000 - 1);
    assert_eq!(
        master_rule_state(&alice).await,
        (json!(true), json!(millis_after_start(HOUR_SECONDS)))
    );
    service.clock.advance_millis(1);
    assert_eq!(master_rule_state(&alice).await, (json!(false), Value::Null));
    assert_eq!(
        alice.put_rule(path, &pause).await.status_and_errcode(),
        (400, "M_INVALID_PARAM".into())
    );

    // A change without an expiry replaces one with an expiry.
    alice
        .put_rule_ok(
            path,
            &json!({ "enabled": true, "until": millis_after_start(2 * HOUR_SECONDS) }),
        )
        .await;
    alice.put_rule_ok(path, &json!(true)).await;
    assert_eq!(master_rule_state(&alice).await, (json!(true), Value::Null));
    service.clock.advance(2 * HOUR_SECONDS);
    assert_eq!(master_rule_state(&alice).await, (json!(true), Value::Null));
}

#[tokio::test]
async fn expired_rules_do_not_count_towards_the_limits() {
    let config = config_with(|config| {
        config.limits.mode = RateLimitMode::Off;
        config.rules.max_rules = 2;
    });
    let service = Service::start_with(config).await;
    let alice = service.user_client("alice").await;
    let timed_rule = |seconds| json!({ "actions": [], "until": millis_after_start(seconds) });
    alice.put_rule_ok("global/room/a", &timed_rule(10)).await;
    alice.put_rule_ok("device/phone/room/b", &timed_rule(10)).await;
    let response = alice.put_rule("global/room/c", &timed_rule(20)).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    service.clock.advance(10);
    alice.put_rule_ok("global/room/c", &timed_rule(20)).await;
    alice.put_rule_ok("device/phone/room/d", &timed_rule(20)).await;
    assert_eq!(user_rule_paths(&alice).await, ["global/room/c", "device/phone/room/d"]);
}

/// Returns the number of rules in the database, including expired ones.
async fn count_stored_rules(service: &Service, account_id: i64) -> usize {
    // Clears the cache.
    service.store().set_account_disabled_at(&any_events(), account_id, None).await.unwrap();
    let rulesets = service.store().rulesets(account_id, Timestamp::UNIX_EPOCH).await.unwrap();
    let count = rulesets.rule_count();
    // Clears it again, because it now contains the expired rules.
    service.store().set_account_disabled_at(&any_events(), account_id, None).await.unwrap();
    count
}

#[tokio::test]
async fn expired_rules_are_deleted_by_the_next_change_and_in_the_background() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let account_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let timed_rule = |seconds| json!({ "actions": [], "until": millis_after_start(seconds) });
    alice.put_rule_ok("global/room/a", &timed_rule(10)).await;
    alice.put_rule_ok("global/room/b", &timed_rule(20)).await;
    alice.put_rule_ok("device/phone/room/c", &timed_rule(20)).await;
    service.clock.advance(10);
    assert_eq!(count_stored_rules(&service, account_id).await, 3);
    alice.put_rule_ok("global/sender/@b:x", &json!({ "actions": [] })).await;
    assert_eq!(count_stored_rules(&service, account_id).await, 3, "the first was deleted");
    service.clock.advance(10);
    for _ in 0..150 {
        service.clock.advance(10 * 60);
        service.state.sweep().await;
    }
    assert_eq!(count_stored_rules(&service, account_id).await, 1);
    assert_eq!(user_rule_paths(&alice).await, ["global/sender/@b:x"]);
    let metric = "belfry_deleted_rows_total{table=\"rulesets\"} 2\n";
    assert!(service.metrics().await.contains(metric), "{}", service.metrics().await);
}

#[tokio::test]
async fn an_unreadable_ruleset_does_not_block_the_deletion_of_others() {
    let service = start_unlimited().await;
    let timed_rule = json!({ "actions": [], "until": millis_after_start(10) });
    for name in ["alice", "bob"] {
        service.user_client(name).await.put_rule_ok("global/room/a", &timed_rule).await;
    }
    let account_id = async |name| service.store().account_by_name(name).await.unwrap().unwrap().id;
    let [alice, bob] = [account_id("alice").await, account_id("bob").await];
    service.execute_sql(&format!(
        "update rulesets set document = 'x', expires_at = 1 where account_id = {alice}"
    ));
    for _ in 0..150 {
        service.clock.advance(10 * 60);
        service.state.sweep().await;
    }
    assert_eq!(count_stored_rules(&service, bob).await, 0);
    assert!(
        service.store().rulesets(alice, service.now()).await.is_err(),
        "the damaged ruleset still exists"
    );
}
