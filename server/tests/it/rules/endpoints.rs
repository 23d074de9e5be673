//! Every endpoint, every transition of a rule, and what holds for all answers.

use axum::http::StatusCode;
use serde_json::json;

use super::{KINDS, at, ids, least, service};

#[tokio::test]
async fn all_rulesets_have_the_keys_device_and_global_and_five_arrays() {
    let service = service().await;
    let alice = service.person("alice").await;
    let all = alice.shown("").await;
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["device", "global"]);
    assert_eq!(all["device"], json!({}));
    let mut kinds: Vec<&String> = all["global"].as_object().unwrap().keys().collect();
    kinds.sort();
    assert_eq!(kinds, ["content", "override", "room", "sender", "underride"]);
    for kind in KINDS {
        assert!(all["global"][kind].is_array(), "{kind}");
    }
}

#[tokio::test]
async fn a_scope_shows_what_stands_under_its_key() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/!a:x", &least("room")).await;
    alice.puts("device/phone/sender/@b:x", &least("sender")).await;
    let all = alice.shown("").await;
    assert_eq!(alice.shown("global/").await, all["global"]);
    assert_eq!(alice.shown("device/").await, all["device"]);
    assert_eq!(alice.shown("device/phone/").await, all["device"]["phone"]);
}

#[tokio::test]
async fn a_kind_shows_its_array() {
    let service = service().await;
    let alice = service.person("alice").await;
    let all = alice.shown("").await;
    for kind in KINDS {
        assert_eq!(alice.shown(&format!("global/{kind}/")).await, all["global"][kind], "{kind}");
    }
}

#[tokio::test]
async fn a_rule_of_each_kind_is_put_shown_disabled_enabled_changed_and_deleted() {
    let service = service().await;
    let alice = service.person("alice").await;
    for kind in KINDS {
        let path = format!("global/{kind}/a");
        // absent → present
        alice.puts(&path, &least(kind)).await;
        let rule = alice.shown(&path).await;
        assert_eq!(rule["rule_id"], "a", "{kind}");
        assert_eq!(rule["default"], false, "{kind}");
        assert_eq!(rule["enabled"], true, "{kind}");
        assert_eq!(rule["actions"], json!(["notify"]), "{kind}");
        assert_eq!(alice.own(&format!("global/{kind}/")).await, ["a"], "{kind}");
        // enabled → disabled → enabled
        for enabled in [false, true] {
            alice.puts(&format!("{path}/enabled"), &json!(enabled)).await;
            assert_eq!(alice.shown(&path).await["enabled"], enabled, "{kind}");
            let shown = alice.shown(&format!("{path}/enabled")).await;
            assert_eq!(shown, json!({ "enabled": enabled }), "{kind}");
        }
        // other actions
        let actions = json!({ "actions": ["dont_notify"] });
        alice.puts(&format!("{path}/actions"), &actions).await;
        assert_eq!(alice.shown(&format!("{path}/actions")).await, actions, "{kind}");
        assert_eq!(alice.shown(&path).await["actions"], actions["actions"], "{kind}");
        // present → changed
        let mut other = least(kind);
        other["actions"] = json!(["coalesce"]);
        alice.puts(&path, &other).await;
        assert_eq!(alice.shown(&path).await["actions"], json!(["coalesce"]), "{kind}");
        // present → absent
        assert_eq!(alice.delete(&path).await.expect(StatusCode::OK), json!({}), "{kind}");
        assert_eq!(alice.get(&at(&path)).await.errcode(), (404, "M_NOT_FOUND".into()), "{kind}");
    }
}

#[tokio::test]
async fn enabled_takes_a_bare_boolean_or_an_object() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    for (body, enabled) in [
        (json!(false), false),
        (json!(true), true),
        (json!({ "enabled": false }), false),
        (json!({ "enabled": true, "other": 1 }), true),
    ] {
        alice.puts("global/room/a/enabled", &body).await;
        assert_eq!(alice.shown("global/room/a").await["enabled"], enabled, "{body}");
    }
    for (body, code) in [
        ("\"true\"", "M_BAD_JSON"),
        ("1", "M_BAD_JSON"),
        ("null", "M_BAD_JSON"),
        ("[true]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        ("{\"enabled\":1}", "M_BAD_JSON"),
        ("", "M_NOT_JSON"),
        ("true false", "M_NOT_JSON"),
    ] {
        let answer = alice.call(&format!("PUT {}", at("global/room/a/enabled")), body).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{body}");
    }
    assert_eq!(alice.shown("global/room/a").await["enabled"], true);
}

#[tokio::test]
async fn actions_take_an_object_with_a_list() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    for (body, code) in [
        ("[\"notify\"]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        ("{\"actions\":\"notify\"}", "M_BAD_JSON"),
        ("{\"actions\":[\"ring\"]}", "M_INVALID_PARAM"),
        ("{\"actions\":[{\"set_tweak\":\"sound\",\"value\":1}]}", "M_BAD_JSON"),
    ] {
        let answer = alice.call(&format!("PUT {}", at("global/room/a/actions")), body).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{body}");
    }
    assert_eq!(alice.shown("global/room/a").await["actions"], json!(["notify"]));
    alice.puts("global/room/a/actions", &json!({ "actions": [] })).await;
    assert_eq!(alice.shown("global/room/a").await["actions"], json!([]));
}

#[tokio::test]
async fn an_absent_rule_is_not_found_whatever_is_asked_of_it() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (what, body) in [
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
        let (method, path) = what.split_once(' ').unwrap();
        let answer = alice.call(&format!("{method} {}", at(path)), body).await;
        assert_eq!(answer.errcode(), (404, "M_NOT_FOUND".into()), "{what}");
    }
}

#[tokio::test]
async fn a_rule_deleted_and_made_again_is_enabled_and_on_top() {
    let service = service().await;
    let alice = service.person("alice").await;
    for id in ["a", "b"] {
        alice.puts(&format!("global/room/{id}"), &least("room")).await;
    }
    alice.puts("global/room/a/enabled", &json!(false)).await;
    alice.delete("global/room/a").await.expect(StatusCode::OK);
    alice.puts("global/room/a", &least("room")).await;
    assert_eq!(alice.shown("global/room/a").await["enabled"], true);
    assert_eq!(alice.own("global/room/").await, ["a", "b"]);
}

#[tokio::test]
async fn the_same_id_in_two_kinds_is_two_rules() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    alice.puts("global/sender/a", &least("sender")).await;
    alice.delete("global/room/a").await.expect(StatusCode::OK);
    assert_eq!(alice.shown("global/sender/a").await["rule_id"], "a");
}

#[tokio::test]
async fn every_prefix_serves_the_same_rules() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    let all = alice.shown("").await;
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            let prefix = format!("/{segment}/client/{api}/pushrules/");
            let answer = alice.get(&prefix).await;
            assert_eq!(answer.expect(StatusCode::OK), all, "{prefix}");
            let rule = format!("PUT {prefix}global/content/{segment}{}", &api[..2]);
            let answer = alice.call(&rule, least("content").to_string()).await;
            assert_eq!(answer.status, 200, "{rule}");
            alice.call(&rule.replace("PUT", "DELETE"), "").await.expect(StatusCode::OK);
        }
    }
    for path in ["/_service/client/v1/pushrules/", "/_other/client/v3/pushrules/"] {
        assert_eq!(alice.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_first_segments_can_be_chosen() {
    let config = crate::support::service::config(|config| {
        config.name_segments = vec!["bells".to_owned(), "pushrules".to_owned()];
    });
    let service = crate::support::Service::with(config).await;
    let alice = service.person("alice").await;
    for path in ["/bells/client/v3/pushrules/", "/pushrules/client/r0/pushrules/"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
        assert_eq!(alice.get(&format!("{path}global/room/")).await.status, 200, "{path}");
    }
    assert_eq!(alice.get(&at("")).await.status, 404);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let service = service().await;
    let alice = service.person("alice").await;
    for path in [at(""), at("global/"), at("global/override/.m.rule.master")] {
        let get = alice.get(&path).await;
        let head = alice.call(&format!("HEAD {path}"), "").await;
        assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
        assert_eq!(head.header("content-type"), "application/json", "{path}");
        assert_eq!(head.header("content-length"), get.text.len().to_string(), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_refused_with_those_allowed() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (what, allowed) in [
        ("POST ", "GET,HEAD"),
        ("PUT ", "GET,HEAD"),
        ("DELETE global/", "GET,HEAD"),
        ("PUT device/", "GET,HEAD"),
        ("DELETE device/phone/", "GET,HEAD"),
        ("PUT global/room/", "GET,HEAD"),
        ("POST global/room/a", "GET,HEAD,PUT,DELETE"),
        ("PATCH global/room/a", "GET,HEAD,PUT,DELETE"),
        ("DELETE global/room/a/enabled", "GET,HEAD,PUT"),
        ("POST global/room/a/actions", "GET,HEAD,PUT"),
        ("BREW global/room/a", "GET,HEAD,PUT,DELETE"),
    ] {
        let (method, path) = what.split_once(' ').unwrap();
        let answer = alice.call(&format!("{method} {}", at(path)), "").await;
        assert_eq!(answer.errcode(), (405, "M_UNRECOGNIZED".into()), "{what}");
        assert_eq!(answer.header("allow"), allowed, "{what}");
    }
}

/// Attack 91: a shared cache must not keep what a query token opened.
#[tokio::test]
async fn no_answer_may_be_kept_by_a_cache() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (caller, path) in [
        (&alice, at("")),
        (&alice, at("global/room/none")),
        (&alice, at("nonsense")),
        (&service.anyone(), at("")),
        (&alice, "/_matrix/client/versions".to_owned()),
        (&alice, "/_matrix/nothing".to_owned()),
    ] {
        let answer = caller.get(&path).await;
        assert_eq!(answer.header("cache-control"), "private, no-store", "{path}");
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
    }
    let with_token = format!("{}?access_token={}", at(""), alice.token());
    let answer = service.anyone().get(&with_token).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "private, no-store"));
}

#[tokio::test]
async fn users_have_their_own_rules() {
    let service = service().await;
    let (alice, bob) = (service.person("alice").await, service.person("bob").await);
    alice.puts("global/room/a", &least("room")).await;
    assert_eq!(bob.own("global/room/").await, [""; 0]);
    assert_eq!(bob.delete("global/room/a").await.status, 404);
    assert_eq!(ids(&alice.shown("global/room/").await, false), ["a"]);
}
