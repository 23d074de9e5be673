//! The gateway check: decisions about requests to a protected server.

mod proxies;

use belfry::config::RateLimitMode;
use belfry_core::limits::forwarded::TrustedProxies;
use serde_json::Value;

use crate::requests::parse_json_lines;
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{ServerProcess, Service, TestClient, TestResponse, any_events};

async fn check_like_nginx(client: &TestClient, method: &str, uri: &str) -> TestResponse {
    let client = client.with_header("x-original-method", method).with_header("x-original-uri", uri);
    client.get("/gateway/check").await
}

async fn check_like_caddy(client: &TestClient, method: &str, uri: &str) -> TestResponse {
    let client =
        client.with_header("x-forwarded-method", method).with_header("x-forwarded-uri", uri);
    client.get("/gateway/check").await
}

async fn check_like_envoy(client: &TestClient, method: &str, uri: &str) -> TestResponse {
    client.send(&format!("{method} /gateway/check{uri}"), "").await
}

/// Registers an app with the server at this URL, and returns an app token.
async fn obtain_app_token(base_url: &str) -> String {
    let post = async |path: &str, fields: &[(&str, &str)]| {
        let request = reqwest::Client::new().post(format!("{base_url}{path}")).form(fields);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let registration = [("client_name", "a"), ("redirect_uris", "https://app.example/")];
    let app = post("/api/v1/apps", &registration).await;
    let [id, secret] = ["client_id", "client_secret"].map(|name| app[name].as_str().unwrap());
    let grant = ("grant_type", "client_credentials");
    let fields = [grant, ("client_id", id), ("client_secret", secret)];
    post("/oauth/token", &fields).await["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_valid_token_passes_with_its_account_app_and_scopes() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read write:media").await;
    let id = service.store().account_by_name("alice").await.unwrap().unwrap().id.to_string();
    for (remaining, response) in [
        (29, check_like_nginx(&alice, "POST", "/api/v1/media").await),
        (28, check_like_caddy(&alice, "POST", "/api/v1/media?x=y").await),
        (27, check_like_envoy(&alice, "POST", "/api/v1/media?scope=nonsense").await),
        (26, check_like_nginx(&alice, "post", "//API/v1/%6dedia/").await),
    ] {
        assert_eq!((response.status, response.text.as_str()), (200, ""));
        assert_eq!(response.header("x-account-id"), id);
        assert_eq!(response.header("x-app-id"), "1");
        assert_eq!(response.header("x-scopes"), "read write:media");
        assert_eq!(response.header("x-ratelimit-remaining"), remaining.to_string());
        assert!(response.header("ratelimit").contains("\"media\""));
    }
}

#[tokio::test]
async fn a_check_may_use_any_method() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let client = alice.with_header("x-original-method", "GET").with_header("x-original-uri", "/x");
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(client.send(&format!("{method} /gateway/check"), "").await.status, 200);
    }
}

#[tokio::test]
async fn a_token_in_the_original_query_is_accepted_but_two_tokens_are_not() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let uri = format!("/x?access_token={}", alice.token());
    assert_eq!(check_like_nginx(&service.anonymous_client(), "GET", &uri).await.status, 200);
    assert_eq!(check_like_envoy(&service.anonymous_client(), "GET", &uri).await.status, 200);
    assert_eq!(check_like_nginx(&alice, "GET", &uri).await.status, 401);
}

#[tokio::test]
async fn an_invalid_token_is_rejected_with_the_reason() {
    let service = Service::start().await;
    let revoked_client = service.user_client("alice").await;
    let revoked_token = belfry_core::secret::SplitToken::parse(revoked_client.token())
        .unwrap()
        .hashed_secret()
        .lookup_key;
    service.store().revoke_token(&any_events(), revoked_token, service.now()).await.unwrap();
    let disabled_client = service.user_client("bob").await;
    let bob_id = service.store().account_by_name("bob").await.unwrap().unwrap().id;
    service
        .store()
        .set_account_disabled_at(&any_events(), bob_id, Some(service.now()))
        .await
        .unwrap();
    let invalid_challenge = r#"Bearer error="invalid_token""#;
    let missing_message = "No access token was sent; send it as Authorization: Bearer TOKEN";
    for (client, status, message, challenge) in [
        (&service.anonymous_client(), 401, missing_message, "Bearer"),
        (
            &service.anonymous_client().with_token("made-up"),
            401,
            "The access token is invalid",
            invalid_challenge,
        ),
        (
            &service.anonymous_client().with_header("authorization", "Basic x"),
            401,
            missing_message,
            "Bearer",
        ),
        (&revoked_client, 401, "The access token was revoked", invalid_challenge),
        (&disabled_client, 403, "Your login is currently disabled", ""),
    ] {
        let response = check_like_nginx(client, "GET", "/x").await;
        assert_eq!((response.status, response.json()["error"].as_str()), (status, Some(message)));
        assert_eq!(response.header("www-authenticate"), challenge);
        assert_eq!(response.header("x-account-id"), "");
        assert_ne!(response.header("x-ratelimit-remaining"), "");
    }
}

#[tokio::test]
async fn a_check_can_require_scopes() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read write:media").await;
    let client = alice
        .with_header("x-original-method", "POST")
        .with_header("x-original-uri", "/x?scope=admin:write");
    for (query, status) in [
        ("", 200),
        ("?scope=write:media", 200),
        ("?scope=read:statuses", 200),
        ("?scope=write:media+read", 200),
        ("?scope=write:media&scope=read", 200),
        ("?scope=write", 403),
        ("?scope=write:statuses", 403),
        ("?scope=read%20write:statuses", 403),
        ("?scope=nonsense", 400),
        ("?scope=", 400),
        ("?scopes=read", 400),
        ("?Scope=read", 400),
        ("?scope=read&apps=allow", 400),
    ] {
        let response = client.get(&format!("/gateway/check{query}")).await;
        assert_eq!(response.status, status, "{query}: {}", response.text);
    }
    let response = client.get("/gateway/check?scopes=write").await;
    let error = "unknown parameter `scopes`; a check has only `scope` and `app`";
    assert_eq!(response.json()["error"], error);
    let response = client.get("/gateway/check?scope=write").await;
    assert_eq!(response.json()["error"], "This action is outside the authorized scopes");
    assert_eq!(response.json()["error_description"], "This token lacks the scope write");
    let challenge = r#"Bearer error="insufficient_scope", scope="write""#;
    assert_eq!(response.header("www-authenticate"), challenge);
    // Only the missing scopes are named.
    let response = client.get("/gateway/check?scope=read+push+write:statuses").await;
    let description = "This token lacks the scopes push and write:statuses";
    assert_eq!(response.json()["error_description"], description);
    assert!(response.header("www-authenticate").ends_with(r#", scope="push write:statuses""#));
}

/// For an app token the account header is present but empty, so a proxy that copies the header
/// overwrites the client's value.
#[tokio::test]
async fn an_app_token_passes_only_if_the_check_allows_it() {
    let service = Service::start().await;
    let token = service.issue_token(None, "read").await;
    let app_client = service.anonymous_client().with_token(token.reveal());
    let send_check = async |query: &str, uri: &str| {
        let client =
            app_client.with_header("x-original-method", "GET").with_header("x-original-uri", uri);
        client.get(&format!("/gateway/check{query}")).await
    };
    for (query, uri, status) in [
        ("", "/x", 403),
        ("?app=yes", "/x", 400),
        ("?scope=read", "/x", 403),
        ("?app=allow", "/x", 200),
        ("?scope=read&app=allow", "/x?a=b", 200),
        ("?scope=write&app=allow", "/x", 403),
        // The check also contains the original request's query, which some proxies append.
        ("?app=allow", "/x?app=allow", 403),
        ("?a=b&%61pp=allow", "/x?a=b&%61pp=allow", 403),
        ("?app=allow", "/x?app=allow#y", 403),
        ("?app=allow", "/x?q=100%", 403),
        ("?app=allow&q=100%", "/x", 400),
    ] {
        let response = send_check(query, uri).await;
        assert_eq!(response.status, status, "{query} {uri}: {}", response.text);
        assert_eq!(response.header("cache-control"), "private, no-store", "{query} {uri}");
    }
    let error = "The access token belongs to an app; this request requires the token of a user";
    let expected = serde_json::json!({ "errcode": "M_FORBIDDEN", "error": error });
    let response = send_check("", "/x").await;
    assert_eq!(response.json(), expected);
    assert_eq!(response.header("www-authenticate"), r#"Bearer error="insufficient_scope""#);
    assert_eq!(check_like_envoy(&app_client, "GET", "/x?app=allow").await.status, 403);
    let response = send_check("?app=allow", "/x").await;
    assert_eq!(response.headers.get("x-account-id").unwrap(), "");
    assert_eq!(response.header("x-app-id"), "1");
}

/// The error response reaches the proxy's client, so hints for the operator are in the log.
#[tokio::test(flavor = "multi_thread")]
async fn hints_for_the_operator_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let check_url = format!("{}/gateway/check", server.url);
    let token = obtain_app_token(&server.url).await;
    let request = reqwest::Client::new().get(check_url).bearer_auth(token);
    let check_for = |uri: &str| {
        let request = request.try_clone().unwrap().header("x-original-method", "POST");
        request.header("x-original-uri", uri)
    };
    let target = format!("/{}?access_token=hidden", "y".repeat(1000));
    let misspelt_check = check_for(&target).query(&[("scopes", "hidden")]);
    assert_eq!(misspelt_check.send().await.unwrap().status(), 400);
    assert_eq!(request.try_clone().unwrap().send().await.unwrap().status(), 400);
    let request = check_for("/x");
    assert_eq!(request.try_clone().unwrap().send().await.unwrap().status(), 403);
    let request = request.header("x-forwarded-method", "GET").header("x-forwarded-uri", "/y");
    assert_eq!(request.send().await.unwrap().status(), 403);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let log = server.log();
    let lines: Vec<Value> = parse_json_lines(&log);
    for message in [
        "gateway check without app=allow rejected an app token",
        "gateway check names different requests; the proxy must remove X-Original-* and \
         X-Forwarded-* headers sent by clients",
    ] {
        assert!(lines.iter().any(|line| line["message"] == message), "{message}: {log}");
    }
    let is_misconfigured = |line: &&Value| line["message"] == "gateway check is misconfigured";
    let [misspelt_line, unnamed_line] =
        lines.iter().filter(is_misconfigured).collect::<Vec<_>>()[..]
    else {
        panic!("{log}");
    };
    let logged_fields = |line: &Value| {
        ["level", "method", "path", "error"].map(|name| line[name].as_str().unwrap().to_owned())
    };
    let error = "unknown parameter `scopes`; a check has only `scope` and `app`";
    assert_eq!(logged_fields(misspelt_line), ["WARN", "POST", &target[..500], error]);
    assert_eq!(logged_fields(unnamed_line)[..3], ["WARN", "GET", "/gateway/check"]);
    assert!(logged_fields(unnamed_line)[3].starts_with("name the original request"), "{log}");
    assert!(!misspelt_line.to_string().contains("hidden"), "{log}");
}

/// An app has the limits of an account, at the gateway and at Belfry itself.
#[tokio::test]
async fn an_apps_tokens_share_its_limits() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let tokens =
        [service.issue_token(None, "write").await, service.issue_token(None, "write").await];
    let app_clients = tokens.map(|token| service.anonymous_client().with_token(token.reveal()));
    let check_upload = async |client: &TestClient| {
        let client = client.with_header("x-original-method", "POST");
        client.with_header("x-original-uri", "/api/v1/media").get("/gateway/check?app=allow").await
    };
    for number in 0..30 {
        assert_eq!(check_upload(&app_clients[number % 2]).await.status, 200);
    }
    assert_eq!(check_upload(&app_clients[0]).await.status, 429);
    assert_eq!(app_clients[1].send("POST /api/v1/media", "").await.status, 429);
    assert_eq!(check_upload(&alice).await.status, 200);
}

#[tokio::test]
async fn a_scope_that_a_proxy_copied_from_its_client_does_not_weaken_the_check() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read").await;
    for (query, uri, status) in [
        ("?scope=x", "/x?scope=x", 200),
        ("?scope=x", "/x?scope=y", 400),
        ("?scope=write:media", "/x?scope=write:media", 403),
        ("?scopes=x&a=b&scope=", "/x?a=b&scopes=x&scope=", 200),
        ("?scopes=x", "/x?a=b", 400),
    ] {
        let client =
            alice.with_header("x-forwarded-method", "GET").with_header("x-forwarded-uri", uri);
        let response = client.get(&format!("/gateway/check{query}")).await;
        assert_eq!(response.status, status, "{query} {uri}");
    }
}

#[tokio::test]
async fn the_original_request_is_counted_and_not_the_check() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    for _ in 0..30 {
        assert_eq!(check_like_nginx(&alice, "POST", "/api/v1/media").await.status, 200);
    }
    let response = check_like_nginx(&alice, "POST", "/api/v1/media").await;
    assert_eq!(response.status, 429);
    let body = serde_json::json!({
        "errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests", "retry_after_ms": 1_800_000,
    });
    assert_eq!(response.json(), body);
    assert_eq!(response.header("x-ratelimit-limit"), "30");
    assert_eq!(response.header("retry-after"), "1800");
    assert_eq!(response.header("x-account-id"), "");
    assert_eq!(
        alice.send("POST /api/v1/media", "").await.status,
        429,
        "requests to Belfry itself share the limit"
    );
    let response = check_like_nginx(&alice, "GET", "/api/v1/media").await;
    assert_eq!((response.status, response.header("x-ratelimit-remaining")), (200, "269"));
}

#[tokio::test]
async fn conflicting_and_incomplete_original_requests_are_rejected() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let upload_check = alice
        .with_header("x-original-method", "POST")
        .with_header("x-original-uri", "/api/v1/media");
    for (status, client, path_suffix) in [
        (
            403,
            upload_check
                .with_header("x-forwarded-method", "GET")
                .with_header("x-forwarded-uri", "/x"),
            "",
        ),
        (403, upload_check.with_header("x-original-uri", "/x"), ""),
        (403, upload_check.clone(), "/"),
        (400, upload_check.with_header("x-forwarded-uri", "/x"), ""),
        (
            400,
            alice
                .with_header("x-original-uri", "/api/v1/media")
                .with_header("x-forwarded-method", "GET"),
            "",
        ),
        (400, alice.clone(), ""),
    ] {
        let response = client.get(&format!("/gateway/check{path_suffix}")).await;
        assert_eq!(response.status, status, "{}", response.text);
        assert!(response.json()["error"].as_str().unwrap().len() > 20);
    }
}

#[tokio::test]
async fn a_check_without_an_original_request_is_counted_itself() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    for _ in 0..300 {
        assert_eq!(anonymous.get("/gateway/check").await.status, 400);
    }
    assert_eq!(anonymous.get("/gateway/check").await.status, 429);
    assert_eq!(anonymous.get("/x").await.status, 429);
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_client_address_is_counted() {
    let proxies = TrustedProxies(vec!["10.0.0.1".parse().unwrap()]);
    let service = Service::start_with(config_with(|config| config.trusted_proxies = proxies)).await;
    for (peer, forwarded_for, remaining) in [
        (documentation_address(9), "198.51.100.1", 299),
        (documentation_address(9), "198.51.100.2", 298),
        ([10, 0, 0, 1].into(), "198.51.100.1", 299),
        ([10, 0, 0, 1].into(), "198.51.100.2", 299),
    ] {
        let client = service
            .user_client("bob")
            .await
            .with_address(peer)
            .with_header("x-forwarded-for", forwarded_for);
        let response = check_like_nginx(&client, "GET", "/x").await;
        let expected = format!("\"ip\";r={remaining};");
        assert!(
            response.header("ratelimit").contains(&expected),
            "{}",
            response.header("ratelimit")
        );
    }
}

#[tokio::test]
async fn with_limits_off_tokens_are_still_checked() {
    let service =
        Service::start_with(config_with(|config| config.limits.mode = RateLimitMode::Off)).await;
    let alice = service.user_client("alice").await;
    for _ in 0..40 {
        let response = check_like_nginx(&alice, "POST", "/api/v1/media").await;
        assert_eq!((response.status, response.header("x-ratelimit-limit")), (200, ""));
    }
    assert_eq!(
        check_like_nginx(&service.anonymous_client(), "POST", "/api/v1/media").await.status,
        401
    );
}
