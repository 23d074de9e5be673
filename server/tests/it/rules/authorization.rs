//! Access tokens in the header or the query, their scopes and their expiry.

use axum::http::StatusCode;
use belfry_store::NewToken;
use serde_json::json;

use super::{minimal_rule, pushrules_path, start_unlimited};
use crate::support::service::config_with;
use crate::support::{ServerProcess, Service, any_events, process};

#[tokio::test]
async fn requests_without_a_token_are_rejected() {
    let service = start_unlimited().await;
    let anonymous = service.anonymous_client();
    for client in [
        anonymous.clone(),
        anonymous.with_header("authorization", "Basic YTpi"),
        anonymous.with_header("authorization", "Bearer"),
        anonymous.with_header("authorization", "Bearer "),
        anonymous.with_header("authorization", "Bearer\tabc"),
        anonymous.with_header("authorization", ""),
    ] {
        for request in ["GET ", "GET global/", "PUT global/room/a", "DELETE global/room/a", "GET x"]
        {
            let (method, path) = request.split_once(' ').unwrap();
            let response = client.send(&format!("{method} {}", pushrules_path(path)), "{}").await;
            assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()), "{request}");
            assert_eq!(response.header("www-authenticate"), "Bearer", "{request}");
        }
    }
    let response = anonymous.get(&pushrules_path("?access_token=")).await;
    assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()));
}

#[tokio::test]
async fn every_endpoint_under_every_prefix_requires_a_token() {
    let service = start_unlimited().await;
    let anonymous = service.anonymous_client();
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
        "GET pushrules/export",
        "POST pushrules/import",
        "POST pushrules/reset",
        "GET user/@alice:ring.example/account_data/m.push_rules",
    ];
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            for endpoint in endpoints {
                let (method, path) = endpoint.split_once(' ').unwrap();
                let request = format!("{method} /{segment}/client/{api}/{path}");
                let response = anonymous.send(&request, minimal_rule("room").to_string()).await;
                assert_eq!(
                    response.status_and_errcode(),
                    (401, "M_MISSING_TOKEN".into()),
                    "{request}"
                );
            }
        }
    }
}

#[tokio::test]
async fn tokens_in_the_query_can_be_disabled() {
    let service =
        Service::start_with(config_with(|config| config.oauth.query_tokens = false)).await;
    let alice = service.user_client("alice").await;
    let path_with_token = pushrules_path(&format!("?access_token={}", alice.token()));
    let response = service.anonymous_client().get(&path_with_token).await;
    assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()));
    assert_eq!(alice.get(&path_with_token).await.status, 200, "only the header is read");
}

#[tokio::test]
async fn a_token_is_read_from_the_query_or_the_header() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let path_with_token = pushrules_path(&format!("?access_token={}", alice.token()));
    assert_eq!(service.anonymous_client().get(&path_with_token).await.status, 200);
    let put_request =
        format!("PUT {}", pushrules_path(&format!("global/room/a?access_token={}", alice.token())));
    let response =
        service.anonymous_client().send(&put_request, minimal_rule("room").to_string()).await;
    assert_eq!(response.expect_json(StatusCode::OK), json!({}));
    // The scheme is case-insensitive (RFC 9110, section 11.1).
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let client = service
            .anonymous_client()
            .with_header("authorization", &format!("{scheme} {}", alice.token()));
        assert_eq!(client.get(&pushrules_path("")).await.status, 200, "{scheme}");
    }
}

/// RFC 6750, section 2: one method of sending the token per request.
#[tokio::test]
async fn a_token_sent_twice_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let token = alice.token();
    let client_with_two_tokens = service.anonymous_client().with_token(token).with_token(token);
    let client_with_two_schemes =
        service.anonymous_client().with_token(token).with_header("authorization", "Basic YTpi");
    for (client, query) in [
        (&alice, format!("?access_token={token}")),
        (&alice, "?access_token=x".to_owned()),
        (&alice, "?access_token=".to_owned()),
        (&service.anonymous_client(), format!("?access_token={token}&access_token={token}")),
        (&client_with_two_tokens, String::new()),
        (&client_with_two_schemes, String::new()),
    ] {
        let response = client.get(&pushrules_path(&query)).await;
        assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()), "{query}");
    }
}

#[tokio::test]
async fn an_unknown_token_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
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
        let response = service
            .anonymous_client()
            .with_header("authorization", &header)
            .get(&pushrules_path(""))
            .await;
        assert_eq!(response.status_and_errcode(), (401, "M_UNKNOWN_TOKEN".into()), "{header:.60}");
        assert_eq!(response.json()["soft_logout"], false);
        assert_eq!(response.header("www-authenticate"), "Bearer error=\"invalid_token\"");
    }
}

#[tokio::test]
async fn a_revoked_or_expired_token_is_rejected_immediately() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    assert_eq!(alice.get(&pushrules_path("")).await.status, 200);
    let lookup =
        belfry_core::secret::SplitToken::parse(alice.token()).unwrap().hashed_secret().lookup_key;
    service.store().revoke_token(&any_events(), lookup, service.now()).await.unwrap();
    let unknown_token = (401, "M_UNKNOWN_TOKEN".to_owned());
    assert_eq!(alice.get(&pushrules_path("")).await.status_and_errcode(), unknown_token);

    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    let expiry = jiff::Timestamp::from_second(service.now().as_second() + 60).unwrap();
    let token = belfry_runtime::random::split_token(service.now());
    let new_token = NewToken {
        secret: token.hashed_secret(),
        app_id: 1,
        account_id: Some(account.id),
        scopes: "push".parse().unwrap(),
        created_at: service.now(),
        expires_at: Some(expiry),
        device: None,
    };
    service.store().add_token(&any_events(), &new_token).await.unwrap();
    let client = service.anonymous_client().with_token(token.reveal());
    assert_eq!(client.get(&pushrules_path("")).await.status, 200);
    service.clock.advance(60);
    assert_eq!(client.get(&pushrules_path("")).await.status_and_errcode(), unknown_token);
}

#[tokio::test]
async fn a_disabled_accounts_token_is_rejected_until_the_account_is_enabled() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    service
        .store()
        .set_account_disabled_at(&any_events(), account.id, Some(service.now()))
        .await
        .unwrap();
    assert_eq!(
        alice.get(&pushrules_path("")).await.status_and_errcode(),
        (403, "M_USER_DEACTIVATED".into())
    );
    let response = alice.put_rule("global/room/b", &minimal_rule("room")).await;
    assert_eq!(response.status_and_errcode(), (403, "M_USER_DEACTIVATED".into()));
    service.store().set_account_disabled_at(&any_events(), account.id, None).await.unwrap();
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
}

#[tokio::test]
async fn a_disabled_apps_token_is_rejected() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    service.store().set_app_disabled_at(&any_events(), 1, Some(service.now())).await.unwrap();
    assert_eq!(
        alice.get(&pushrules_path("")).await.status_and_errcode(),
        (401, "M_UNKNOWN_TOKEN".into())
    );
}

#[tokio::test]
async fn an_app_token_is_rejected() {
    let service = start_unlimited().await;
    let token = service.issue_token(None, "read write push").await;
    let app_client = service.anonymous_client().with_token(token.reveal());
    assert_eq!(
        app_client.get(&pushrules_path("")).await.status_and_errcode(),
        (403, "M_FORBIDDEN".into())
    );
    let response = app_client.put_rule("global/room/a", &minimal_rule("room")).await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
}

#[tokio::test]
async fn a_scope_grants_only_its_own_access() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    alice.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    for (scopes, can_read, can_write) in [
        ("read", true, false),
        ("read:notifications", true, false),
        ("write", false, true),
        ("write:notifications", false, true),
        ("push", true, true),
        ("read write", true, true),
        ("profile follow read:accounts write:media", false, false),
    ] {
        let client = service.user_client_with_scopes("alice", scopes).await;
        for (request, body, needs_read) in [
            ("GET ", "", true),
            ("HEAD global/", "", true),
            ("GET global/room/a", "", true),
            ("GET global/room/a/enabled", "", true),
            ("PUT global/room/a", "{\"actions\":[\"notify\"]}", false),
            ("PUT global/room/a/enabled", "true", false),
            ("PUT global/room/a/actions", "{\"actions\":[\"notify\"]}", false),
        ] {
            let (method, path) = request.split_once(' ').unwrap();
            let response = client.send(&format!("{method} {}", pushrules_path(path)), body).await;
            let is_allowed = if needs_read { can_read } else { can_write };
            let status = if is_allowed { 200 } else { 403 };
            assert_eq!(response.status, status, "{scopes}: {request}");
            if !is_allowed && method != "HEAD" {
                let scope = if needs_read { "read:notifications" } else { "write:notifications" };
                let error = response.json();
                assert_eq!(error["errcode"], "M_FORBIDDEN");
                assert!(error["error"].as_str().unwrap().contains(scope), "{error}");
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                assert_eq!(response.header("www-authenticate"), challenge);
            }
        }
        let delete_status = client.delete_rule("global/room/none").await.status;
        assert_eq!(delete_status, if can_write { 404 } else { 403 }, "{scopes}");
    }
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
    for scopes in ["write", "write:notifications", "push"] {
        alice.put_rule_ok("global/room/b", &minimal_rule("room")).await;
        let client = service.user_client_with_scopes("alice", scopes).await;
        assert_eq!(
            client.delete_rule("global/room/b").await.expect_json(StatusCode::OK),
            json!({})
        );
        assert_eq!(alice.user_rule_ids("global/room/").await, ["a"], "{scopes}");
    }
    let reader = service.user_client_with_scopes("alice", "read").await;
    assert_eq!(reader.delete_rule("global/room/a").await.status, 403);
    assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
}

/// The response does not reveal whether another user has a rule.
#[tokio::test]
async fn a_token_grants_access_only_to_its_users_rules() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    bob.put_rule_ok("global/room/secret", &minimal_rule("room")).await;
    for query in ["?user_id=@bob:ring.example", "?user_id=bob", "?user=bob"] {
        let path = format!("global/room/{query}");
        assert_eq!(alice.user_rule_ids(&path).await, [""; 0], "{query}");
        let response = alice.delete_rule(&format!("global/room/secret{query}")).await;
        assert_eq!(response.status_and_errcode(), (404, "M_NOT_FOUND".into()), "{query}");
    }
    assert_eq!(bob.user_rule_ids("global/room/").await, ["secret"]);
}

/// Neither the `Authorization` header nor the query is logged, whether or not the token is valid.
#[tokio::test]
async fn credentials_are_not_logged() {
    let dir = tempfile::tempdir().unwrap();
    let process = ServerProcess::start(dir.path(), &["--log-level", "debug", "--limits", "off"]);
    process::run_successfully(dir.path(), &["account", "add", "alice"]);
    let output =
        process::run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", "read"]);
    let token = output.trim();
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
            let url = format!("{}{}{query}", process.url, pushrules_path(path));
            let request =
                client.request(method.parse().unwrap(), url).header("authorization", &header);
            request.body("{}").send().await.unwrap();
        }
        let url = format!("{}/oauth/token{query}", process.url);
        client.post(url).header("authorization", &header).send().await.unwrap();
    }
    let log = process.log();
    assert!(log.contains("pushrules") && log.contains("/oauth/token"), "{log}");
    assert!(!log.contains(token) && !log.contains("hunter2hunter2"), "{log}");
}

/// Tokens in the query do not appear in logs, metrics or responses.
#[tokio::test]
async fn a_token_in_the_query_does_not_leak() {
    let dir = tempfile::tempdir().unwrap();
    let process = ServerProcess::start(dir.path(), &["--log-level", "trace", "--limits", "off"]);
    process::run_successfully(dir.path(), &["account", "add", "alice"]);
    let output =
        process::run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", "push"]);
    let token = output.trim();
    let mut responses = String::new();
    for path in ["", "global", "global/room/a", "%zz/", "global/room/a%2Fb"] {
        for token in [token, "hunter2hunter2"] {
            let url = format!("{}{}?access_token={token}", process.url, pushrules_path(path));
            let response = reqwest::get(&url).await.unwrap();
            let headers = format!("{:?}", response.headers());
            responses.extend([headers, response.text().await.unwrap()]);
        }
    }
    let metrics = reqwest::get(format!("{}/metrics", process.url)).await.unwrap();
    responses.push_str(&metrics.text().await.unwrap());
    let log = process.log();
    assert!(log.contains("pushrules"), "requests are logged: {log}");
    for text in [&responses, &log] {
        assert!(!text.contains(token) && !text.contains("hunter2hunter2"), "{text}");
    }
}
