//! Snapshots of the errors in each area.

use belfry_core::secret::SplitToken;

use super::{Cases, Exchange, FORM_TYPE, assert_snapshot, limited_client};
use crate::rules::pushrules_path;
use crate::support::browser::encode_form;
use crate::support::{Service, TestClient, any_events};

/// Returns a body that is too large for each endpoint that it is sent to.
fn large_body() -> String {
    format!("a={}", "b".repeat(70_000))
}

async fn app_client(service: &Service, scopes: &str) -> TestClient {
    let token = service.issue_token(None, scopes).await;
    service.anonymous_client().with_token(token.reveal())
}

async fn revoked_client(service: &Service) -> TestClient {
    let client = service.user_client("bob").await;
    let token = SplitToken::parse(client.token()).unwrap().hashed_secret().lookup_key;
    service.store().revoke_token(&any_events(), token, service.now()).await.unwrap();
    client
}

#[tokio::test]
async fn matrix_errors_match_their_snapshot() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    let alice = service.user_client("alice").await;
    let unknown_client = anonymous.with_token("unknown");
    let (reader, writer) = (
        service.user_client_with_scopes("alice", "read").await,
        service.user_client_with_scopes("alice", "write").await,
    );
    let app_client = app_client(&service, "read write push").await;
    let revoked_client = revoked_client(&service).await;
    let limited_client = limited_client(&service).await;
    let large_body = large_body();
    let mut cases = Cases(Vec::new());
    for (case, client, request, body) in [
        ("missing token", &anonymous, "GET ", ""),
        ("unknown token", &unknown_client, "GET ", ""),
        ("revoked token", &revoked_client, "GET ", ""),
        ("two tokens", &alice, "GET ?access_token=x", ""),
        ("missing scope to read", &writer, "GET ", ""),
        ("missing scope to write", &reader, "PUT global/room/a", r#"{"actions":[]}"#),
        ("app token", &app_client, "GET ", ""),
        ("unknown rule", &alice, "GET global/room/a", ""),
        ("deletion of a built-in rule", &alice, "DELETE global/override/.m.rule.master", ""),
        ("unknown scope", &alice, "GET elsewhere/", ""),
        ("unknown kind", &alice, "GET global/unknown/a", ""),
        ("missing slash after a scope", &alice, "GET global", ""),
        ("wrong method", &alice, "POST global/room/a", "{}"),
        ("wrong method for all rulesets", &alice, "PUT ", "{}"),
        ("body is not JSON", &alice, "PUT global/room/a", "{"),
        ("body of a wrong shape", &alice, "PUT global/room/a", "[]"),
        ("missing actions", &alice, "PUT global/room/a", "{}"),
        ("unknown action", &alice, "PUT global/room/a", r#"{"actions":["sing"]}"#),
        ("invalid rule id", &alice, "PUT global/room/.a", r#"{"actions":[]}"#),
        ("unknown rule in before", &alice, "PUT global/room/a?before=b", r#"{"actions":[]}"#),
        ("body too large", &alice, "PUT global/room/a", &large_body),
        ("rate limit exceeded", &limited_client, "GET ", ""),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let request = format!("{method} {}", pushrules_path(path));
        cases.add(case, client.exchange(&request, body.to_owned()).await);
    }
    for (case, request) in [
        ("unknown path", "GET /_service/unknown"),
        ("missing slash", "GET /_service/client/api/v1/pushrules"),
        ("wrong method for login", "PUT /_matrix/client/v3/login"),
        ("missing identifier", "POST /_matrix/client/v3/login"),
    ] {
        cases.add(case, anonymous.exchange(request, r#"{"type":"m.login.password"}"#).await);
    }
    assert_snapshot("errors_matrix", &cases);
}

#[tokio::test]
async fn oauth_errors_match_their_snapshot() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client().with_header("content-type", FORM_TYPE);
    let client = service.register_client().await;
    let other_client = service.register_client().await;
    let other_token = other_client.obtain_app_token("read").await;
    let limited_client = limited_client(&service).await;
    let mut cases = Cases(Vec::new());
    let grant = "client_credentials";
    for (case, path, fields) in [
        ("missing grant type", "token", vec![]),
        ("unknown grant type", "token", vec![("grant_type", "password")]),
        ("missing code", "token", vec![("grant_type", "authorization_code")]),
        (
            "unknown code",
            "token",
            vec![
                ("grant_type", "authorization_code"),
                ("code", "x"),
                ("redirect_uri", "https://app.example/cb"),
            ],
        ),
        ("undeclared scope", "token", vec![("grant_type", grant), ("scope", "admin:read")]),
        ("token of another client", "revoke", vec![("token", &*other_token)]),
        ("missing token", "revoke", vec![]),
        ("missing token", "introspect", vec![]),
    ] {
        let path = format!("/oauth/{path}");
        let response = client.post(&path, &fields).await;
        cases.add(case, Exchange::new(&format!("POST {path}"), &response));
    }
    let wrong_secret_form = encode_form(&[
        ("grant_type", grant),
        ("client_id", &client.id),
        ("client_secret", "wrong"),
        ("token", "x"),
    ]);
    let basic_client = anonymous.with_header("authorization", "Basic eDp5");
    let text_client = service.anonymous_client().with_header("content-type", "text/plain");
    for (case, client, request, body) in [
        ("wrong secret", &anonymous, "POST /oauth/token", wrong_secret_form.clone()),
        (
            "unknown client",
            &basic_client,
            "POST /oauth/token",
            encode_form(&[("grant_type", grant)]),
        ),
        (
            "missing credentials",
            &anonymous,
            "POST /oauth/token",
            encode_form(&[("grant_type", grant)]),
        ),
        ("two credentials", &basic_client, "POST /oauth/token", wrong_secret_form.clone()),
        ("wrong secret", &anonymous, "POST /oauth/revoke", wrong_secret_form.clone()),
        ("wrong secret", &anonymous, "POST /oauth/introspect", wrong_secret_form),
        ("unknown path", &anonymous, "GET /oauth/unknown", String::new()),
        ("wrong method", &anonymous, "GET /oauth/token", String::new()),
        ("wrong method", &anonymous, "GET /oauth/introspect", String::new()),
        ("body too large", &anonymous, "POST /oauth/token", large_body()),
        ("wrong content type", &text_client, "POST /oauth/token", "a=b".to_owned()),
        ("rate limit exceeded", &limited_client, "POST /oauth/token", String::new()),
    ] {
        cases.add(case, client.exchange(request, body).await);
    }
    assert_snapshot("errors_oauth", &cases);
}

#[tokio::test]
async fn api_errors_match_their_snapshot() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    let alice = service.user_client("alice").await;
    let unknown_client = anonymous.with_token("unknown");
    let limited_client = limited_client(&service).await;
    let revoked_client = revoked_client(&service).await;
    let push_client = service.user_client_with_scopes("alice", "push").await;
    let app_client =
        app_client(&service, "read write").await.with_header("content-type", FORM_TYPE);
    let form_client = anonymous.with_header("content-type", FORM_TYPE);
    let text_client = anonymous.with_header("content-type", "text/plain");
    let get_account = "GET /api/v1/accounts/verify_credentials";
    let sign_up = "POST /api/v1/accounts";
    let register = "POST /api/v1/apps";
    let large_body = large_body();
    let invalid_account = "username=Alice&email=nowhere&password=short";
    let mut cases = Cases(Vec::new());
    for (case, client, request, body) in [
        ("missing token", &anonymous, get_account, ""),
        ("unknown token", &unknown_client, get_account, ""),
        ("revoked token", &revoked_client, get_account, ""),
        ("missing scope", &push_client, get_account, ""),
        ("missing token", &anonymous, "GET /oauth/userinfo", ""),
        ("missing scope", &push_client, "GET /oauth/userinfo", ""),
        ("app token", &app_client, get_account, ""),
        ("user token", &alice.with_header("content-type", FORM_TYPE), sign_up, invalid_account),
        ("unknown path", &anonymous, "GET /api/v1/unknown", ""),
        ("unknown path", &anonymous, "GET /.well-known/unknown", ""),
        ("unknown path outside the API", &anonymous, "GET /unknown", ""),
        ("wrong method", &anonymous, "GET /api/v1/apps", ""),
        ("wrong method outside the API", &anonymous, "POST /healthz", ""),
        ("body too large", &form_client, register, &large_body),
        ("wrong content type", &text_client, register, "a=b"),
        ("invalid app", &form_client, register, "redirect_uris=javascript:x&scopes=unknown"),
        ("invalid account", &app_client, sign_up, invalid_account),
        ("rate limit exceeded", &limited_client, "GET /api/v1/instance", ""),
        ("rate limit exceeded outside the API", &limited_client, "GET /unknown", ""),
    ] {
        cases.add(case, client.exchange(request, body.to_owned()).await);
    }
    assert_snapshot("errors_api", &cases);
}

/// Returns the errors on page paths for this `Accept` header.
async fn page_errors(accept: &str) -> Cases {
    let service = Service::start().await;
    let anonymous = service.anonymous_client().with_header("accept", accept);
    let form_client = anonymous.with_header("content-type", FORM_TYPE);
    let text_client = anonymous.with_header("content-type", "text/plain");
    let limited_client = limited_client(&service).await.with_header("accept", accept);
    let authorize = "GET /oauth/authorize?response_type=code&redirect_uri=https://app.example/cb";
    // Adds the app with the client id `tests`.
    service.issue_token(None, "read").await;
    let mut cases = Cases(Vec::new());
    for (case, client, request, body) in [
        ("missing client", &anonymous, authorize.to_owned(), String::new()),
        ("unknown client", &anonymous, format!("{authorize}&client_id=unknown"), String::new()),
        (
            "other redirect URI",
            &anonymous,
            format!("{authorize}/other&client_id=tests"),
            String::new(),
        ),
        ("malformed query", &anonymous, format!("{authorize}&state=%zz"), String::new()),
        ("missing form token", &form_client, "POST /oauth/authorize".to_owned(), "a=b".to_owned()),
        (
            "unknown code",
            &anonymous,
            "GET /oauth/authorize/native?code=x".to_owned(),
            String::new(),
        ),
        ("unknown path", &anonymous, "GET /oauth/authorize/unknown".to_owned(), String::new()),
        ("wrong method", &anonymous, "PUT /oauth/sign_in".to_owned(), String::new()),
        ("body too large", &form_client, "POST /oauth/sign_in".to_owned(), large_body()),
        ("wrong content type", &text_client, "POST /oauth/sign_in".to_owned(), "a=b".to_owned()),
        ("rate limit exceeded", &limited_client, "GET /oauth/account".to_owned(), String::new()),
    ] {
        cases.add(case, client.exchange(&request, body).await);
    }
    cases
}

#[tokio::test]
async fn page_errors_for_programs_match_their_snapshot() {
    assert_snapshot("errors_page_for_programs", &page_errors("application/json").await);
}

#[tokio::test]
async fn page_errors_for_people_match_their_snapshot() {
    assert_snapshot("errors_page_for_people", &page_errors("text/html").await);
}

#[tokio::test]
async fn gateway_errors_match_their_snapshot() {
    let service = Service::start().await;
    let with_original_request = |client: &TestClient| {
        client
            .with_header("x-original-method", "POST")
            .with_header("x-original-uri", "/api/v1/statuses")
    };
    let anonymous = with_original_request(&service.anonymous_client());
    let alice = with_original_request(&service.user_client_with_scopes("alice", "read").await);
    let unknown_client = anonymous.with_token("unknown");
    let revoked_client = with_original_request(&revoked_client(&service).await);
    let limited_client = with_original_request(&limited_client(&service).await);
    let conflicting_client =
        alice.with_header("x-forwarded-method", "GET").with_header("x-forwarded-uri", "/other");
    let mut cases = Cases(Vec::new());
    for (case, client, query) in [
        ("missing token", &anonymous, ""),
        ("unknown token", &unknown_client, ""),
        ("revoked token", &revoked_client, ""),
        ("missing scope", &alice, "?scope=write"),
        ("invalid scope in the check", &alice, "?scope=unknown"),
        ("missing original request", &service.anonymous_client(), ""),
        ("conflicting original requests", &conflicting_client, ""),
        ("rate limit exceeded", &limited_client, ""),
    ] {
        let request = format!("GET /gateway/check{query}");
        cases.add(case, client.exchange(&request, "").await);
    }
    assert_snapshot("errors_gateway", &cases);
}
