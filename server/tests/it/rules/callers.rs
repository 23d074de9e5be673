//! Who may call: tokens in the header or the query, their scopes, their end.

use axum::http::StatusCode;
use belfry::store::NewToken;
use serde_json::json;

use super::{at, least, service};
use crate::support::{Process, process};

/// Attack 85.
#[tokio::test]
async fn without_a_token_nobody_is_let_in() {
    let service = service().await;
    let anyone = service.anyone();
    for caller in [
        anyone.clone(),
        anyone.with("authorization", "Basic YTpi"),
        anyone.with("authorization", "Bearer"),
        anyone.with("authorization", "Bearer "),
        anyone.with("authorization", "Bearer\tabc"),
        anyone.with("authorization", ""),
    ] {
        for what in ["GET ", "GET global/", "PUT global/room/a", "DELETE global/room/a", "GET x"] {
            let (method, path) = what.split_once(' ').unwrap();
            let answer = caller.call(&format!("{method} {}", at(path)), "{}").await;
            assert_eq!(answer.errcode(), (401, "M_MISSING_TOKEN".into()), "{what}");
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{what}");
        }
    }
    let answer = anyone.get(&at("?access_token=")).await;
    assert_eq!(answer.errcode(), (401, "M_MISSING_TOKEN".into()));
}

#[tokio::test]
async fn every_endpoint_under_every_prefix_needs_a_token() {
    let service = service().await;
    let anyone = service.anyone();
    let endpoints = [
        "GET pushrules/",
        "GET pushrules/global/",
        "GET pushrules/device/",
        "GET pushrules/device/phone/",
        "GET pushrules/global/room/",
        "GET pushrules/global/room/a",
        "PUT pushrules/global/room/a",
        "DELETE pushrules/global/room/a",
        "PUT pushrules/device/phone/room/a",
        "DELETE pushrules/device/phone/room/a",
        "GET pushrules/global/room/a/enabled",
        "PUT pushrules/global/room/a/enabled",
        "GET pushrules/global/override/.m.rule.master/actions",
        "PUT pushrules/global/override/.m.rule.master/actions",
        "POST pushrules/explain",
        "GET user/@alice:ring.example/account_data/m.push_rules",
    ];
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            for what in endpoints {
                let (method, path) = what.split_once(' ').unwrap();
                let call = format!("{method} /{segment}/client/{api}/{path}");
                let answer = anyone.call(&call, least("room").to_string()).await;
                assert_eq!(answer.errcode(), (401, "M_MISSING_TOKEN".into()), "{call}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_is_taken_from_the_query_or_from_the_header() {
    let service = service().await;
    let alice = service.person("alice").await;
    let in_query = at(&format!("?access_token={}", alice.token()));
    assert_eq!(service.anyone().get(&in_query).await.status, 200);
    let put = format!("PUT {}", at(&format!("global/room/a?access_token={}", alice.token())));
    let answer = service.anyone().call(&put, least("room").to_string()).await;
    assert_eq!(answer.expect(StatusCode::OK), json!({}));
    // Attack 88: the scheme in any case.
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let caller = service.anyone().with("authorization", &format!("{scheme} {}", alice.token()));
        assert_eq!(caller.get(&at("")).await.status, 200, "{scheme}");
    }
}

/// Attack 87.
#[tokio::test]
async fn a_token_in_two_places_or_twice_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    let token = alice.token();
    let twice = service.anyone().bearing(token).bearing(token);
    let other = service.anyone().bearing(token).with("authorization", "Basic YTpi");
    for (caller, query) in [
        (&alice, format!("?access_token={token}")),
        (&alice, "?access_token=x".to_owned()),
        (&alice, "?access_token=".to_owned()),
        (&service.anyone(), format!("?access_token={token}&access_token={token}")),
        (&twice, String::new()),
        (&other, String::new()),
    ] {
        let answer = caller.get(&at(&query)).await;
        assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()), "{query}");
    }
}

/// Attacks 86 and 88.
#[tokio::test]
async fn an_unknown_token_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    let token = alice.token();
    for header in [
        "Bearer garbage".to_owned(),
        format!("Bearer  {token}"),
        format!("Bearer {token} "),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer \"{token}\""),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {}", "x".repeat(10_000)),
    ] {
        let answer = service.anyone().with("authorization", &header).get(&at("")).await;
        assert_eq!(answer.errcode(), (401, "M_UNKNOWN_TOKEN".into()), "{header:.60}");
        assert_eq!(answer.json()["soft_logout"], false);
        assert_eq!(answer.header("www-authenticate"), "Bearer error=\"invalid_token\"");
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_or_has_ended_is_refused_at_once() {
    let service = service().await;
    let alice = service.person("alice").await;
    assert_eq!(alice.get(&at("")).await.status, 200);
    let digest = belfry_core::secret::Secret::new(alice.token()).digest();
    service.store().revoke_token(digest, service.now()).await.unwrap();
    let unknown = (401, "M_UNKNOWN_TOKEN".to_owned());
    assert_eq!(alice.get(&at("")).await.errcode(), unknown);

    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    let end = jiff::Timestamp::from_second(service.now().as_second() + 60).unwrap();
    let token = belfry::random::secret(service.now());
    let new = NewToken {
        digest: token.digest(),
        app: 1,
        account: Some(account.id),
        scopes: "push".to_owned(),
        created_at: service.now(),
        expires_at: Some(end),
    };
    service.store().add_token(&new).await.unwrap();
    let briefly = service.anyone().bearing(token.reveal());
    assert_eq!(briefly.get(&at("")).await.status, 200);
    service.clock.advance(60);
    assert_eq!(briefly.get(&at("")).await.errcode(), unknown);
}

#[tokio::test]
async fn a_disabled_account_is_told_so_and_comes_back_with_its_token() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    service.store().disable_account(account.id, Some(service.now())).await.unwrap();
    assert_eq!(alice.get(&at("")).await.errcode(), (403, "M_USER_DEACTIVATED".into()));
    let answer = alice.put("global/room/b", &least("room")).await;
    assert_eq!(answer.errcode(), (403, "M_USER_DEACTIVATED".into()));
    service.store().disable_account(account.id, None).await.unwrap();
    assert_eq!(alice.own("global/room/").await, ["a"]);
}

#[tokio::test]
async fn a_token_of_a_disabled_app_is_refused() {
    let service = service().await;
    let alice = service.person("alice").await;
    service.store().disable_app(1, Some(service.now())).await.unwrap();
    assert_eq!(alice.get(&at("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
}

#[tokio::test]
async fn a_token_of_an_app_has_no_rules() {
    let service = service().await;
    let token = service.issue(None, "read write push").await;
    let app = service.anyone().bearing(token.reveal());
    assert_eq!(app.get(&at("")).await.errcode(), (403, "M_FORBIDDEN".into()));
    let answer = app.put("global/room/a", &least("room")).await;
    assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()));
}

/// Attacks 86 and 93.
#[tokio::test]
async fn each_scope_opens_what_it_names() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    for (scopes, read, write) in [
        ("read", true, false),
        ("read:notifications", true, false),
        ("write", false, true),
        ("write:notifications", false, true),
        ("push", true, true),
        ("read write", true, true),
        ("profile follow read:accounts write:media", false, false),
    ] {
        let token = service.person_with("alice", scopes).await;
        for (what, body, needs_read) in [
            ("GET ", "", true),
            ("HEAD global/", "", true),
            ("GET global/room/a", "", true),
            ("GET global/room/a/enabled", "", true),
            ("PUT global/room/a", "{\"actions\":[\"notify\"]}", false),
            ("PUT global/room/a/enabled", "true", false),
            ("PUT global/room/a/actions", "{\"actions\":[\"notify\"]}", false),
        ] {
            let (method, path) = what.split_once(' ').unwrap();
            let answer = token.call(&format!("{method} {}", at(path)), body).await;
            let allowed = if needs_read { read } else { write };
            let status = if allowed { 200 } else { 403 };
            assert_eq!(answer.status, status, "{scopes}: {what}");
            if !allowed && method != "HEAD" {
                let scope = if needs_read { "read:notifications" } else { "write:notifications" };
                let error = answer.json();
                assert_eq!(error["errcode"], "M_FORBIDDEN");
                assert!(error["error"].as_str().unwrap().contains(scope), "{error}");
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                assert_eq!(answer.header("www-authenticate"), challenge);
            }
        }
        let deleted = token.delete("global/room/none").await.status;
        assert_eq!(deleted, if write { 404 } else { 403 }, "{scopes}");
    }
    assert_eq!(alice.own("global/room/").await, ["a"]);
    for scopes in ["write", "write:notifications", "push"] {
        alice.puts("global/room/b", &least("room")).await;
        let token = service.person_with("alice", scopes).await;
        assert_eq!(token.delete("global/room/b").await.expect(StatusCode::OK), json!({}));
        assert_eq!(alice.own("global/room/").await, ["a"], "{scopes}");
    }
    let reader = service.person_with("alice", "read").await;
    assert_eq!(reader.delete("global/room/a").await.status, 403);
    assert_eq!(alice.own("global/room/").await, ["a"]);
}

/// Attack 89: only one's own data, and no telling what others have.
#[tokio::test]
async fn a_token_opens_its_own_users_rules_whatever_else_is_named() {
    let service = service().await;
    let (alice, bob) = (service.person("alice").await, service.person("bob").await);
    bob.puts("global/room/secret", &least("room")).await;
    for query in ["?user_id=@bob:ring.example", "?user_id=bob", "?user=bob"] {
        let path = format!("global/room/{query}");
        assert_eq!(alice.own(&path).await, [""; 0], "{query}");
        let answer = alice.delete(&format!("global/room/secret{query}")).await;
        assert_eq!(answer.errcode(), (404, "M_NOT_FOUND".into()), "{query}");
    }
    assert_eq!(bob.own("global/room/").await, ["secret"]);
}

/// Attack 92.
#[tokio::test]
async fn no_header_and_no_parameter_makes_another_method_of_a_call() {
    let service = service().await;
    let alice = service.person("alice").await;
    alice.puts("global/room/a", &least("room")).await;
    for caller in [
        alice.with("x-http-method-override", "DELETE"),
        alice.with("x-method-override", "DELETE"),
        alice.with("x-http-method", "DELETE"),
    ] {
        assert_eq!(caller.get(&at("global/room/a?_method=delete")).await.status, 200);
        assert_eq!(caller.call(&format!("POST {}", at("global/room/a")), "").await.status, 405);
    }
    assert_eq!(alice.own("global/room/").await, ["a"]);
}

/// Attacks 90 and 152: what stands in the header is in no log, whether it is a token or not.
#[tokio::test]
async fn what_a_caller_presents_is_not_logged() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--log-level", "debug", "--limits", "off"]);
    process::run_well(folder.path(), &["account", "add", "alice"]);
    let token = process::run_well(folder.path(), &["token", "issue", "alice", "--scopes", "read"]);
    let token = token.trim();
    let client = reqwest::Client::new();
    for (header, query) in [
        (format!("Bearer {token}"), ""),
        (format!("bearer  {token}"), ""),
        (format!("Basic {token}"), ""),
        (token.to_owned(), ""),
        (format!("Bearer {token}"), "?access_token=hunter2hunter2"),
        ("Bearer hunter2hunter2".to_owned(), ""),
        (String::new(), "?access_token=hunter2hunter2"),
    ] {
        for (method, path) in [("GET", ""), ("PUT", "global/room/a"), ("DELETE", "global/room/a")] {
            let url = format!("{}{}{query}", process.url, at(path));
            let call =
                client.request(method.parse().unwrap(), url).header("authorization", &header);
            call.body("{}").send().await.unwrap();
        }
        let url = format!("{}/oauth/token{query}", process.url);
        client.post(url).header("authorization", &header).send().await.unwrap();
    }
    let logged = process.logged();
    assert!(logged.contains("pushrules") && logged.contains("/oauth/token"), "{logged}");
    assert!(!logged.contains(token) && !logged.contains("hunter2hunter2"), "{logged}");
}

/// Attack 90: a token in the address is in no log, no metric and no answer.
#[tokio::test]
async fn a_token_in_the_address_is_found_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--log-level", "trace", "--limits", "off"]);
    process::run_well(folder.path(), &["account", "add", "alice"]);
    let token = process::run_well(folder.path(), &["token", "issue", "alice", "--scopes", "push"]);
    let token = token.trim();
    let mut answers = String::new();
    for path in ["", "global", "global/room/a", "%zz/", "global/room/a%2Fb"] {
        for token in [token, "hunter2hunter2"] {
            let url = format!("{}{}?access_token={token}", process.url, at(path));
            let answer = reqwest::get(&url).await.unwrap();
            let headers = format!("{:?}", answer.headers());
            answers.extend([headers, answer.text().await.unwrap()]);
        }
    }
    let metrics = reqwest::get(format!("{}/metrics", process.url)).await.unwrap();
    answers.push_str(&metrics.text().await.unwrap());
    let logged = process.logged();
    assert!(logged.contains("pushrules"), "the calls are logged at all: {logged}");
    for place in [&answers, &logged] {
        assert!(!place.contains(token) && !place.contains("hunter2hunter2"), "{place}");
    }
}
