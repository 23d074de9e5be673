//! Endpoints of the push rules API and the headers of their responses.

use axum::http::StatusCode;
use serde_json::json;

use super::{KINDS, minimal_rule, pushrules_path, rule_ids, start_unlimited};

#[tokio::test]
async fn a_rule_of_each_kind_is_created_read_changed_and_deleted() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (scope, kind) in
        ["global", "device/phone"].into_iter().flat_map(|scope| KINDS.map(|kind| (scope, kind)))
    {
        let path = format!("{scope}/{kind}/a");
        // Create.
        alice.put_rule_ok(&path, &minimal_rule(kind)).await;
        let rule = alice.get_rules(&path).await;
        assert_eq!(rule["rule_id"], "a", "{kind}");
        assert_eq!(rule["default"], false, "{kind}");
        assert_eq!(rule["enabled"], true, "{kind}");
        assert_eq!(rule["actions"], json!(["notify"]), "{kind}");
        assert_eq!(alice.user_rule_ids(&format!("{scope}/{kind}/")).await, ["a"], "{kind}");
        // Disable and enable.
        for enabled in [false, true] {
            alice.put_rule_ok(&format!("{path}/enabled"), &json!(enabled)).await;
            assert_eq!(alice.get_rules(&path).await["enabled"], enabled, "{kind}");
            let response = alice.get_rules(&format!("{path}/enabled")).await;
            assert_eq!(response, json!({ "enabled": enabled }), "{kind}");
        }
        // Change the actions.
        let actions = json!({ "actions": ["dont_notify"] });
        alice.put_rule_ok(&format!("{path}/actions"), &actions).await;
        assert_eq!(alice.get_rules(&format!("{path}/actions")).await, actions, "{kind}");
        assert_eq!(alice.get_rules(&path).await["actions"], actions["actions"], "{kind}");
        // Replace.
        let mut new_rule = minimal_rule(kind);
        new_rule["actions"] = json!(["coalesce"]);
        alice.put_rule_ok(&path, &new_rule).await;
        assert_eq!(alice.get_rules(&path).await["actions"], json!(["coalesce"]), "{kind}");
        // Delete.
        assert_eq!(alice.delete_rule(&path).await.expect_json(StatusCode::OK), json!({}), "{kind}");
        assert_eq!(
            alice.get(&pushrules_path(&path)).await.status_and_errcode(),
            (404, "M_NOT_FOUND".into()),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn enabled_and_actions_accept_the_documented_bodies() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    for (body, enabled) in [(json!(false), false), (json!({ "enabled": true, "other": 1 }), true)] {
        alice.put_rule_ok("global/room/a/enabled", &body).await;
        assert_eq!(alice.get_rules("global/room/a").await["enabled"], enabled, "{body}");
    }
    for (attribute, body, errcode) in [
        ("enabled", "\"true\"", "M_BAD_JSON"),
        ("enabled", "{}", "M_MISSING_PARAM"),
        ("enabled", "true false", "M_NOT_JSON"),
        ("actions", "[\"notify\"]", "M_BAD_JSON"),
        ("actions", "{}", "M_MISSING_PARAM"),
        ("actions", "{\"actions\":[\"ring\"]}", "M_INVALID_PARAM"),
    ] {
        let path = pushrules_path(&format!("global/room/a/{attribute}"));
        let response = alice.send(&format!("PUT {path}"), body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{attribute} {body}");
    }
    let rule = alice.get_rules("global/room/a").await;
    assert_eq!((&rule["enabled"], &rule["actions"]), (&json!(true), &json!(["notify"])));
}

#[tokio::test]
async fn requests_for_missing_rules_return_404() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (request, body) in [
        ("GET global/room/a", ""),
        ("GET global/room/a/enabled", ""),
        ("GET global/room/a/actions", ""),
        ("PUT global/room/a/enabled", "true"),
        ("PUT global/room/a/actions", "{\"actions\":[]}"),
        ("DELETE global/room/a", ""),
        ("GET global/room/.m.rule.master", ""),
        ("DELETE global/override/.m.rule.master", ""),
        ("PUT global/override/.m.rule.none/enabled", "true"),
        ("GET device/phone/override/.m.rule.master", ""),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let response = alice.send(&format!("{method} {}", pushrules_path(path)), body).await;
        assert_eq!(response.status_and_errcode(), (404, "M_NOT_FOUND".into()), "{request}");
    }
}

#[tokio::test]
async fn every_prefix_serves_the_same_rules() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    let rulesets = alice.get_rules("").await;
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            let prefix = format!("/{segment}/client/{api}/pushrules/");
            let response = alice.get(&prefix).await;
            assert_eq!(response.expect_json(StatusCode::OK), rulesets, "{prefix}");
            let put_request = format!("PUT {prefix}global/content/{segment}{}", &api[..2]);
            let response = alice.send(&put_request, minimal_rule("content").to_string()).await;
            assert_eq!(response.status, 200, "{put_request}");
            alice.send(&put_request.replace("PUT", "DELETE"), "").await.expect_json(StatusCode::OK);
        }
    }
    for path in ["/_service/client/v1/pushrules/", "/_other/client/v3/pushrules/"] {
        assert_eq!(alice.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_name_segments_are_configurable() {
    let config = crate::support::service::config_with(|config| {
        config.name_segments = vec!["bells".to_owned(), "pushrules".to_owned()];
    });
    let service = crate::support::Service::start_with(config).await;
    let alice = service.user_client("alice").await;
    for path in ["/bells/client/v3/pushrules/", "/pushrules/client/r0/pushrules/"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
        assert_eq!(alice.get(&format!("{path}global/room/")).await.status, 200, "{path}");
    }
    assert_eq!(alice.get(&pushrules_path("")).await.status, 404);
}

#[tokio::test]
async fn head_responds_like_get_without_a_body() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for path in [
        pushrules_path(""),
        pushrules_path("global/"),
        pushrules_path("global/override/.m.rule.master"),
    ] {
        let get_response = alice.get(&path).await;
        let head_response = alice.send(&format!("HEAD {path}"), "").await;
        assert_eq!((head_response.status, head_response.text.as_str()), (200, ""), "{path}");
        assert_eq!(head_response.header("content-type"), "application/json", "{path}");
        assert_eq!(
            head_response.header("content-length"),
            get_response.text.len().to_string(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_wrong_method_is_rejected_with_the_allowed_methods() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (request, allowed_methods) in [
        ("POST ", "GET,HEAD"),
        ("DELETE global/", "GET,HEAD"),
        ("POST device/", "GET,HEAD"),
        ("DELETE device/phone/", "GET,HEAD"),
        ("DELETE global/room/", "GET,HEAD"),
        ("POST global/room/a", "GET,HEAD,PUT,DELETE"),
        ("PATCH global/room/a", "GET,HEAD,PUT,DELETE"),
        ("DELETE global/room/a/enabled", "GET,HEAD,PUT"),
        ("POST global/room/a/actions", "GET,HEAD,PUT"),
        ("BREW global/room/a", "GET,HEAD,PUT,DELETE"),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let response = alice.send(&format!("{method} {}", pushrules_path(path)), "").await;
        assert_eq!(response.status_and_errcode(), (405, "M_UNRECOGNIZED".into()), "{request}");
        assert_eq!(response.header("allow"), allowed_methods, "{request}");
    }
}

/// A shared cache must not store a response that was authorized by a token in the query.
#[tokio::test]
async fn responses_must_not_be_cached() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (client, path) in [
        (&alice, pushrules_path("")),
        (&alice, pushrules_path("global/room/none")),
        (&alice, pushrules_path("nonsense")),
        (&service.anonymous_client(), pushrules_path("")),
        (&alice, "/_matrix/client/versions".to_owned()),
        (&alice, "/_matrix/nothing".to_owned()),
    ] {
        let response = client.get(&path).await;
        assert_eq!(response.header("cache-control"), "private, no-store", "{path}");
        assert_eq!(response.header("content-type"), "application/json", "{path}");
    }
    let path_with_token = format!("{}?access_token={}", pushrules_path(""), alice.token());
    let response = service.anonymous_client().get(&path_with_token).await;
    assert_eq!((response.status, response.header("cache-control")), (200, "private, no-store"));
}

#[tokio::test]
async fn each_user_has_separate_rules() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    assert_eq!(bob.user_rule_ids("global/room/").await, [""; 0]);
    assert_eq!(bob.delete_rule("global/room/a").await.status, 404);
    assert_eq!(rule_ids(&alice.get_rules("global/room/").await, false), ["a"]);
}
