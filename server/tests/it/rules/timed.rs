//! Timed rules: `until` in a user rule, and in a change of a built-in rule.

use axum::http::StatusCode;
use belfry::config::LimitMode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{pushrules, service};
use crate::support::service::{START, config_with};
use crate::support::{Service, TestClient, any_events};

const HOUR: i64 = 3600;

/// Returns the time this many seconds after the start of the fake clock, in milliseconds since 1970.
fn after_start(seconds: i64) -> i64 {
    (START + seconds) * 1000
}

/// Returns the user rules as `scope/kind/id`. All responses that list rules must agree.
async fn list_rules(alice: &TestClient) -> Vec<String> {
    let all = alice.get_rules("").await;
    let data = "/_matrix/client/v3/user/@alice:ring.example/account_data/m.push_rules";
    assert_eq!(alice.get(data).await.expect_json(StatusCode::OK), all);
    assert_eq!(alice.get_rules("global/").await, all["global"]);
    assert_eq!(alice.get_rules("device/").await, all["device"]);
    let mut rules = Vec::new();
    let devices = all["device"].as_object().unwrap().iter();
    let devices = devices.map(|(tag, ruleset)| (format!("device/{tag}"), ruleset));
    for (scope, ruleset) in [("global".to_owned(), &all["global"])].into_iter().chain(devices) {
        assert_eq!(&alice.get_rules(&format!("{scope}/")).await, ruleset);
        for (kind, kind_rules) in ruleset.as_object().unwrap() {
            assert_eq!(&alice.get_rules(&format!("{scope}/{kind}/")).await, kind_rules);
            let ids = super::ids(kind_rules, false);
            rules.extend(ids.into_iter().map(|id| format!("{scope}/{kind}/{id}")));
        }
    }
    rules
}

/// Returns `enabled` and `until` of the master rule. All responses that contain them must agree.
async fn master(alice: &TestClient) -> (Value, Value) {
    let rule = alice.get_rules("global/override/.m.rule.master").await;
    assert_eq!(alice.get_rules("").await["global"]["override"][0], rule);
    let enabled = alice.get_rules("global/override/.m.rule.master/enabled").await;
    assert_eq!(enabled, json!({ "enabled": rule["enabled"] }));
    (rule["enabled"].clone(), rule["until"].clone())
}

#[tokio::test]
async fn an_expired_rule_is_absent_everywhere() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let timed = json!({ "actions": [], "until": after_start(HOUR) });
    let path = "global/room/!a:x";
    alice.put_ok(path, &timed).await;
    alice.put_ok("device/phone/sender/@b:x", &timed).await;
    alice.put_ok("global/room/!b:x", &json!({ "actions": [] })).await;
    let before = ["global/room/!b:x", path, "device/phone/sender/@b:x"];
    assert_eq!(list_rules(&alice).await, before);

    service.clock.advance_millis(HOUR * 1000 - 1);
    assert_eq!(list_rules(&alice).await, before);
    assert_eq!(
        alice.get_rules(path).await,
        json!({
            "rule_id": "!a:x", "default": false, "enabled": true, "actions": [],
            "until": after_start(HOUR),
        })
    );

    service.clock.advance_millis(1);
    let not_found = (404, "M_NOT_FOUND".to_owned());
    for attribute in ["", "/enabled", "/actions"] {
        let path = pushrules(&format!("{path}{attribute}"));
        assert_eq!(alice.get(&path).await.status_and_errcode(), not_found, "GET {path}");
    }
    for (attribute, body) in [("enabled", json!(true)), ("actions", json!({ "actions": [] }))] {
        let response = alice.put(&format!("{path}/{attribute}"), &body).await;
        assert_eq!(response.status_and_errcode(), not_found, "PUT {attribute}");
    }
    for position in ["before", "after"] {
        let response = alice.put(&format!("global/room/!c:x?{position}=!a:x"), &timed).await;
        assert_eq!(
            response.status_and_errcode(),
            (400, "M_INVALID_PARAM".to_owned()),
            "it has ended as well"
        );
        let body = json!({ "actions": [] });
        let response = alice.put(&format!("global/room/!c:x?{position}=!a:x"), &body).await;
        assert_eq!(response.status_and_errcode(), (400, "M_UNKNOWN".to_owned()), "{position}");
    }
    assert_eq!(alice.delete(path).await.status_and_errcode(), not_found);
    assert_eq!(list_rules(&alice).await, ["global/room/!b:x"]);
    assert_eq!(alice.get_rules("device/").await, json!({}));
}

#[tokio::test]
async fn an_expired_rule_is_created_anew_at_the_top_and_enabled() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let permanent = json!({ "actions": [] });
    alice.put_ok("global/room/a", &json!({ "actions": [], "until": after_start(10) })).await;
    alice.put_ok("global/room/b", &permanent).await;
    alice.put_ok("global/room/a/enabled", &json!(false)).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["b", "a"]);
    service.clock.advance(10);
    alice.put_ok("global/room/a", &permanent).await;
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a", "b"]);
    let expected = json!({ "rule_id": "a", "default": false, "enabled": true, "actions": [] });
    assert_eq!(alice.get_rules("global/room/a").await, expected);
}

#[tokio::test]
async fn enabled_and_actions_keep_the_expiry_and_a_put_without_until_removes_it() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let until = async || alice.get_rules("global/room/a").await["until"].clone();
    alice.put_ok("global/room/a", &json!({ "actions": [], "until": after_start(10) })).await;
    alice.put_ok("global/room/a/enabled", &json!(false)).await;
    alice.put_ok("global/room/a/actions", &json!({ "actions": ["notify"] })).await;
    assert_eq!(until().await, after_start(10));
    alice.put_ok("global/room/a", &json!({ "actions": [], "until": after_start(20) })).await;
    assert_eq!(until().await, after_start(20));
    alice.put_ok("global/room/a", &json!({ "actions": [] })).await;
    assert_eq!(until().await, Value::Null);
    service.clock.advance(HOUR);
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
}

#[tokio::test]
async fn an_invalid_expiry_is_rejected_with_the_reason() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let kind = "until must be an integer: milliseconds since 1970";
    let range = "until must be from 0 to 9007199254740991, in milliseconds since 1970";
    let past = |until| {
        format!(
            "until must be in the future: it is {until}, and the server's clock is at {} \
             (milliseconds since 1970)",
            after_start(0)
        )
    };
    for (until, code, error) in [
        (json!("tomorrow"), "M_BAD_JSON", kind.to_owned()),
        (json!(1.5), "M_BAD_JSON", kind.to_owned()),
        (json!(null), "M_BAD_JSON", kind.to_owned()),
        (json!(-1), "M_INVALID_PARAM", range.to_owned()),
        (json!(9_007_199_254_740_992_i64), "M_INVALID_PARAM", range.to_owned()),
        (json!(after_start(0)), "M_INVALID_PARAM", past(after_start(0))),
        (json!(START), "M_INVALID_PARAM", past(START)),
    ] {
        let rule = json!({ "actions": [], "until": until });
        let change = json!({ "enabled": true, "until": until });
        for (path, body) in
            [("global/room/a", rule), ("global/override/.m.rule.master/enabled", change)]
        {
            let response = alice.put(path, &body).await.expect_json(StatusCode::BAD_REQUEST);
            assert_eq!(response, json!({ "errcode": code, "error": error }), "{path} {body}");
        }
    }
    assert_eq!(list_rules(&alice).await, [""; 0]);
    assert_eq!(master(&alice).await, (json!(false), Value::Null));
    alice
        .put_ok("global/room/a", &json!({ "actions": [], "until": 9_007_199_254_740_991_i64 }))
        .await;
    assert_eq!(list_rules(&alice).await, ["global/room/a"]);
}

#[tokio::test]
async fn a_timed_pause_of_everything_expires() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let path = "global/override/.m.rule.master/enabled";
    let pause = json!({ "enabled": true, "until": after_start(HOUR) });
    alice.put_ok(path, &pause).await;
    assert_eq!(master(&alice).await, (json!(true), json!(after_start(HOUR))));
    service.clock.advance_millis(HOUR * 1000 - 1);
    assert_eq!(master(&alice).await, (json!(true), json!(after_start(HOUR))));
    service.clock.advance_millis(1);
    assert_eq!(master(&alice).await, (json!(false), Value::Null));
    assert_eq!(alice.put(path, &pause).await.status_and_errcode(), (400, "M_INVALID_PARAM".into()));

    // A change without an expiry replaces one with an expiry.
    alice.put_ok(path, &json!({ "enabled": true, "until": after_start(2 * HOUR) })).await;
    alice.put_ok(path, &json!(true)).await;
    assert_eq!(master(&alice).await, (json!(true), Value::Null));
    service.clock.advance(2 * HOUR);
    assert_eq!(master(&alice).await, (json!(true), Value::Null));
}

#[tokio::test]
async fn the_actions_of_a_built_in_rule_stay_when_its_timed_change_expires() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let path = "global/underride/.m.rule.message";
    alice.put_ok(&format!("{path}/actions"), &json!({ "actions": ["dont_notify"] })).await;
    let change = json!({ "enabled": false, "until": after_start(10) });
    alice.put_ok(&format!("{path}/enabled"), &change).await;
    assert_eq!(alice.get_rules(path).await["until"], after_start(10));
    service.clock.advance(10);
    let rule = alice.get_rules(path).await;
    assert_eq!((&rule["enabled"], rule.get("until")), (&json!(true), None));
    assert_eq!(rule["actions"], json!(["dont_notify"]));
}

#[tokio::test]
async fn the_expiry_of_a_user_rule_is_not_accepted_with_enabled() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let change = json!({ "enabled": false, "until": after_start(10) });
    let missing = alice.put("global/room/a/enabled", &change).await;
    assert_eq!(missing.status_and_errcode(), (404, "M_NOT_FOUND".into()));
    alice.put_ok("global/room/a", &json!({ "actions": [] })).await;
    let response = alice.put("global/room/a/enabled", &change).await;
    assert_eq!(
        response.expect_json(StatusCode::BAD_REQUEST),
        json!({
            "errcode": "M_INVALID_PARAM",
            "error": "until can be given with enabled for built-in rules only; for your own rule \
                      \"a\", put the rule with until",
        })
    );
    assert_eq!(alice.get_rules("global/room/a").await["enabled"], true);
}

#[tokio::test]
async fn expired_rules_do_not_count_towards_the_limits() {
    let config = config_with(|config| {
        config.limits.mode = LimitMode::Off;
        config.rules.max_rules = 2;
    });
    let service = Service::start_with(config).await;
    let alice = service.user_client("alice").await;
    let timed = |seconds| json!({ "actions": [], "until": after_start(seconds) });
    alice.put_ok("global/room/a", &timed(10)).await;
    alice.put_ok("device/phone/room/b", &timed(10)).await;
    let response = alice.put("global/room/c", &timed(20)).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
    service.clock.advance(10);
    alice.put_ok("global/room/c", &timed(20)).await;
    alice.put_ok("device/phone/room/d", &timed(20)).await;
    assert_eq!(list_rules(&alice).await, ["global/room/c", "device/phone/room/d"]);
}

/// Returns the number of rules in the database, including expired ones.
async fn stored_rules(service: &Service, account: i64) -> usize {
    // Clears the cache.
    service.store().set_account_disabled_at(&any_events(), account, None).await.unwrap();
    let stored = service.store().rulesets(account, Timestamp::UNIX_EPOCH).await.unwrap();
    let count = stored.len();
    service.store().set_account_disabled_at(&any_events(), account, None).await.unwrap();
    count
}

#[tokio::test]
async fn expired_rules_are_deleted_by_the_next_change_and_in_the_background() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let account = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let timed = |seconds| json!({ "actions": [], "until": after_start(seconds) });
    alice.put_ok("global/room/a", &timed(10)).await;
    alice.put_ok("global/room/b", &timed(20)).await;
    alice.put_ok("device/phone/room/c", &timed(20)).await;
    service.clock.advance(10);
    assert_eq!(stored_rules(&service, account).await, 3);
    alice.put_ok("global/sender/@b:x", &json!({ "actions": [] })).await;
    assert_eq!(stored_rules(&service, account).await, 3, "the first was deleted");
    service.clock.advance(10);
    for _ in 0..150 {
        service.clock.advance(10 * 60);
        service.state.sweep().await;
    }
    assert_eq!(stored_rules(&service, account).await, 1);
    assert_eq!(list_rules(&alice).await, ["global/sender/@b:x"]);
    let metric = "belfry_deleted_rows_total{table=\"rulesets\"} 2\n";
    assert!(service.metrics().await.contains(metric), "{}", service.metrics().await);
}

#[tokio::test]
async fn an_unreadable_ruleset_does_not_block_the_deletion_of_others() {
    let service = service().await;
    let timed = json!({ "actions": [], "until": after_start(10) });
    for name in ["alice", "bob"] {
        service.user_client(name).await.put_ok("global/room/a", &timed).await;
    }
    let id = async |name| service.store().account_by_name(name).await.unwrap().unwrap().id;
    let [alice, bob] = [id("alice").await, id("bob").await];
    service.execute_sql(&format!(
        "update rulesets set document = 'x', expires_at = 1 where account_id = {alice}"
    ));
    for _ in 0..150 {
        service.clock.advance(10 * 60);
        service.state.sweep().await;
    }
    assert_eq!(stored_rules(&service, bob).await, 0);
    assert!(service.store().rulesets(alice, service.now()).await.is_err(), "it is still there");
}
