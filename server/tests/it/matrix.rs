//! Matrix client-server API besides push rules: versions, login, registration, account data.

use std::time::Duration;

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::rules::{pushrules, service};
use crate::support::service::config;
use crate::support::{Service, TestClient, TestResponse};

const CLIENT: &str = "/_matrix/client/v3";

async fn post(client: &TestClient, path: &str, body: &Value) -> TestResponse {
    client.send(&format!("POST {CLIENT}/{path}"), body.to_string()).await
}

fn password(user: &str, password: &str) -> Value {
    let identifier = json!({ "type": "m.id.user", "user": user });
    json!({ "type": "m.login.password", "identifier": identifier, "password": password })
}

fn registration(name: &str) -> Value {
    json!({ "username": name, "password": "correct horse", "auth": { "type": "m.login.dummy" } })
}

#[tokio::test]
async fn versions_are_public() {
    let service = service().await;
    for path in
        ["/_matrix/client/versions", "/_service/client/versions", "/_matrix/client/r0/versions"]
    {
        let body = service.anonymous().get(path).await.expect(StatusCode::OK);
        let versions = body["versions"].as_array().unwrap();
        for version in ["r0.6.1", "v1.1", "v1.11"] {
            assert!(versions.contains(&json!(version)), "{path}: {version}");
        }
        assert_eq!(body["unstable_features"], json!({}), "{path}");
    }
}

#[tokio::test]
async fn the_login_flow_is_a_password() {
    let service = service().await;
    let response = service.anonymous().get(&format!("{CLIENT}/login")).await;
    assert_eq!(
        response.expect(StatusCode::OK),
        json!({ "flows": [{ "type": "m.login.password" }] })
    );
}

#[tokio::test]
async fn login_with_a_password_returns_a_token_for_push_rules() {
    let service = service().await;
    service.add_account("alice").await;
    let legacy =
        json!({ "type": "m.login.password", "user": "alice", "password": "correct horse alice" });
    for body in [
        password("alice", "correct horse alice"),
        password("@alice:ring.example", "correct horse alice"),
        legacy,
    ] {
        let response = post(&service.anonymous(), "login", &body).await.expect(StatusCode::OK);
        assert_eq!(response["user_id"], "@alice:ring.example");
        assert_eq!(response["home_server"], "ring.example");
        assert_eq!(response["device_id"].as_str().unwrap().len(), 10);
        let alice = service.anonymous().with_token(response["access_token"].as_str().unwrap());
        alice.put_ok("global/room/a", &json!({ "actions": [] })).await;
        assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
    }
}

#[tokio::test]
async fn a_client_can_choose_its_device_id() {
    let service = service().await;
    service.add_account("alice").await;
    let mut body = password("alice", "correct horse alice");
    body["device_id"] = json!("PHONE");
    let response = post(&service.anonymous(), "login", &body).await;
    assert_eq!(response.json()["device_id"], "PHONE");
}

/// Responses do not reveal whether an account exists.
#[tokio::test]
async fn an_unknown_user_and_a_wrong_password_get_the_same_response() {
    let service = service().await;
    service.add_account("alice").await;
    let mut texts = Vec::new();
    for (user, secret) in [
        ("alice", "wrong"),
        ("alice", ""),
        ("nobody", "correct horse alice"),
        ("@alice:elsewhere.example", "correct horse alice"),
        ("", "correct horse alice"),
        ("Alice", "correct horse alice"),
        ("alice\0", "correct horse alice"),
    ] {
        let response = post(&service.anonymous(), "login", &password(user, secret)).await;
        assert_eq!(response.errcode(), (403, "M_FORBIDDEN".into()), "{user:?}");
        texts.push(response.text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

/// Password guessing is limited per address, so that it does not lock the owner out.
#[tokio::test]
async fn login_attempts_are_limited_by_address() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let (anonymous, right) = (service.anonymous(), password("alice", "correct horse alice"));
    for attempt in 0..25 {
        // Unknown names count like known ones.
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        let response = post(&anonymous, "login", &password(name, "wrong")).await;
        assert_eq!(response.errcode(), (403, "M_FORBIDDEN".into()));
        assert_eq!(response.header("x-ratelimit-remaining"), (24 - attempt).to_string());
    }
    let limited = post(&anonymous, "login", &right).await;
    assert_eq!(limited.errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert_eq!(limited.json()["retry_after_ms"], 300_000);
    assert_eq!(limited.header("retry-after"), "300");
    assert_eq!(limited.header("x-ratelimit-limit"), "25");
    assert_eq!(limited.header("x-ratelimit-remaining"), "0");
    let expected = r#""ip";r=274;t=300, "sign_in_address";r=0;t=300, "sign_in_name";r=12;t=3600"#;
    assert_eq!(limited.header("ratelimit"), expected);

    let elsewhere = anonymous.at(crate::support::client::address(9));
    assert_eq!(post(&elsewhere, "login", &right).await.status, 200);
    service.clock.advance(300);
    assert_eq!(post(&anonymous, "login", &right).await.status, 200);
}

#[tokio::test]
async fn no_token_is_issued_while_the_app_of_matrix_clients_is_disabled() {
    let service = service().await;
    let anonymous = service.anonymous();
    assert_eq!(post(&anonymous, "register", &registration("alice")).await.status, 200);
    let app = service.store().app_by_client_id("matrix").await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(app, Some(service.now())).await.unwrap();

    let mut without_token = registration("bob");
    without_token["inhibit_login"] = json!(true);
    for (path, body) in [
        ("login", password("alice", "correct horse")),
        ("register", registration("bob")),
        ("register", without_token),
        ("register", json!({})),
    ] {
        let response = post(&anonymous, path, &body).await;
        assert_eq!(response.errcode(), (403, "M_FORBIDDEN".into()), "{path} {body}");
        assert!(response.text.contains("operator has disabled"), "{response:?}");
    }
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());

    service.store().set_app_disabled_at(app, None).await.unwrap();
    assert_eq!(post(&anonymous, "login", &password("alice", "correct horse")).await.status, 200);
}

#[tokio::test]
async fn a_malformed_login_is_rejected() {
    let service = service().await;
    for (body, code) in [
        ("", "M_NOT_JSON"),
        ("[]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        (r#"{"type":"m.login.token","token":"x"}"#, "M_UNKNOWN"),
        (r#"{"type":"m.login.password","password":"x"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":"a"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":1,"password":"x"}"#, "M_BAD_JSON"),
        (
            r#"{"type":"m.login.password","identifier":{"type":"m.id.phone"},"password":"x"}"#,
            "M_UNKNOWN",
        ),
    ] {
        let response = service.anonymous().send(&format!("POST {CLIENT}/login"), body).await;
        assert_eq!(response.errcode(), (400, code.into()), "{body}");
    }
}

#[tokio::test]
async fn a_disabled_account_cannot_sign_in_and_the_reason_requires_the_password() {
    let service = service().await;
    let id = service.add_account("alice").await;
    service.store().set_account_disabled_at(id, Some(service.now())).await.unwrap();
    let right =
        post(&service.anonymous(), "login", &password("alice", "correct horse alice")).await;
    assert_eq!(right.errcode(), (403, "M_USER_DEACTIVATED".into()));
    let wrong = post(&service.anonymous(), "login", &password("alice", "wrong")).await;
    assert_eq!(wrong.errcode(), (403, "M_FORBIDDEN".into()));
}

#[tokio::test]
async fn whoami_returns_the_user_of_any_token() {
    let service = service().await;
    let alice = service.user_with_scopes("alice", "profile").await;
    let response = alice.get(&format!("{CLIENT}/account/whoami")).await.expect(StatusCode::OK);
    assert_eq!(response, json!({ "user_id": "@alice:ring.example", "is_guest": false }));
    let without_token = service.anonymous().get(&format!("{CLIENT}/account/whoami")).await;
    assert_eq!(without_token.errcode(), (401, "M_MISSING_TOKEN".into()));
}

#[tokio::test]
async fn logout_revokes_only_its_token() {
    let service = service().await;
    let (one, other) = (service.user("alice").await, service.user("alice").await);
    assert_eq!(one.get(&pushrules("")).await.status, 200);
    let response = post(&one, "logout", &json!({})).await;
    assert_eq!(response.expect(StatusCode::OK), json!({}));
    assert_eq!(one.get(&pushrules("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
    assert_eq!(post(&one, "logout", &json!({})).await.status, 401);
    assert_eq!(other.get(&pushrules("")).await.status, 200);
}

#[tokio::test]
async fn registration_requires_the_dummy_stage_and_creates_the_account() {
    let service = service().await;
    let anonymous = service.anonymous();
    let mut body = json!({ "username": "alice", "password": "correct horse" });
    let challenge = post(&anonymous, "register", &body).await.expect(StatusCode::UNAUTHORIZED);
    assert_eq!(challenge["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    assert_eq!(challenge["params"], json!({}));
    assert_eq!(challenge.get("errcode"), None);
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());

    body["auth"] = json!({ "type": "m.login.dummy", "session": challenge["session"] });
    let created = post(&anonymous, "register", &body).await.expect(StatusCode::OK);
    assert_eq!(created["user_id"], "@alice:ring.example");
    assert!(created["device_id"].is_string());
    let alice = anonymous.with_token(created["access_token"].as_str().unwrap());
    assert_eq!(alice.get(&pushrules("")).await.status, 200);
    let login = post(&anonymous, "login", &password("alice", "correct horse")).await;
    assert_eq!(login.status, 200);
}

#[tokio::test]
async fn registration_without_a_token_or_a_name() {
    let service = service().await;
    let mut body = registration("alice");
    body["inhibit_login"] = json!(true);
    let created = post(&service.anonymous(), "register", &body).await.expect(StatusCode::OK);
    assert_eq!(created, json!({ "user_id": "@alice:ring.example", "home_server": "ring.example" }));
    let mut body = registration("");
    body.as_object_mut().unwrap().remove("username");
    let created = post(&service.anonymous(), "register", &body).await.expect(StatusCode::OK);
    assert!(created["user_id"].as_str().unwrap().starts_with("@u"), "{created}");
}

#[tokio::test]
async fn an_invalid_registration_is_rejected_with_its_error_code() {
    let service = service().await;
    service.add_account("alice").await;
    let with = |name: &str, value: Value| {
        let mut body = registration("bob");
        body[name] = value;
        body
    };
    for (body, code) in [
        (registration("alice"), "M_USER_IN_USE"),
        (registration("Bob"), "M_INVALID_USERNAME"),
        (registration("b ob"), "M_INVALID_USERNAME"),
        (registration(""), "M_INVALID_USERNAME"),
        (registration("admin"), "M_INVALID_USERNAME"),
        (registration(&"b".repeat(31)), "M_INVALID_USERNAME"),
        (registration("@bob:ring.example"), "M_INVALID_USERNAME"),
        (with("password", json!("short")), "M_WEAK_PASSWORD"),
        (with("password", json!("x".repeat(129))), "M_WEAK_PASSWORD"),
        (with("password", json!(1)), "M_BAD_JSON"),
        (with("auth", json!(1)), "M_BAD_JSON"),
        (json!([]), "M_BAD_JSON"),
        (json!({ "username": "bob", "auth": { "type": "m.login.dummy" } }), "M_MISSING_PARAM"),
    ] {
        let response = post(&service.anonymous(), "register", &body).await;
        assert_eq!(response.errcode(), (400, code.into()), "{body}");
    }
    let other = with("auth", json!({ "type": "m.login.recaptcha" }));
    let response = post(&service.anonymous(), "register", &other).await;
    assert_eq!(response.errcode(), (401, "M_UNRECOGNIZED".into()));
    assert_eq!(response.json()["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    let guest = post(&service.anonymous(), "register?kind=guest", &json!({})).await;
    assert_eq!(guest.errcode(), (403, "M_GUEST_ACCESS_FORBIDDEN".into()));
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());
}

#[tokio::test]
async fn registrations_share_a_limit_with_the_accounts_api_and_stages_do_not_count() {
    let service = Service::start().await;
    let anonymous = service.anonymous();
    for number in 0..5 {
        let stage = json!({ "username": format!("n{number}"), "password": "correct horse" });
        assert_eq!(post(&anonymous, "register", &stage).await.status, 401);
        assert_eq!(
            post(&anonymous, "register", &registration(&format!("n{number}"))).await.status,
            200
        );
    }
    let limited = post(&anonymous, "register", &registration("n5")).await;
    assert_eq!(limited.errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert!(limited.header("ratelimit").contains("\"sign_up\";r=0"), "the header names the limit");
    assert!(service.store().account_by_name("n5").await.unwrap().is_none());
    let api = anonymous.send("POST /api/v1/accounts", "").await;
    assert_eq!(api.status, 429);
}

/// Otherwise names could be tried out at the rate of ordinary requests.
#[tokio::test]
async fn names_can_be_tried_out_only_as_fast_as_accounts_can_be_created() {
    let service = Service::start().await;
    for number in 0..7 {
        service.add_account(&format!("n{number}")).await;
    }
    let anonymous = service.anonymous();
    for number in 0..5 {
        let probe = json!({ "username": format!("n{number}") });
        let response = post(&anonymous, "register", &probe).await;
        assert_eq!(response.errcode(), (400, "M_USER_IN_USE".into()), "{number}");
    }
    for name in ["n5", "n6", "free"] {
        let limited = post(&anonymous, "register", &json!({ "username": name })).await;
        assert_eq!(limited.errcode(), (429, "M_LIMIT_EXCEEDED".into()), "{name}");
    }
    service.clock.advance(1800);
    let probe = post(&anonymous, "register", &json!({ "username": "free" })).await;
    assert_eq!(probe.status, 401);
}

/// Otherwise many lookups could begin before the first is counted.
#[tokio::test]
async fn concurrent_lookups_of_names_do_not_exceed_the_limit() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let anonymous = service.anonymous();
    let probe = json!({ "username": "alice" });
    let lookups = join_all((0..20).map(|_| post(&anonymous, "register", &probe))).await;
    let revealed = lookups.iter().filter(|response| response.errcode().1 == "M_USER_IN_USE");
    assert_eq!(revealed.count(), 5);
    let limited = lookups.iter().filter(|response| response.status == 429);
    assert_eq!(limited.count(), 15);
}

#[tokio::test]
async fn a_token_of_a_matrix_client_expires_after_the_configured_lifetime() {
    let short = config(|config| config.oauth.token_lifetime = Some(Duration::from_mins(30)));
    let service = Service::with(short).await;
    let created =
        post(&service.anonymous(), "register", &registration("alice")).await.expect(StatusCode::OK);
    let alice = service.anonymous().with_token(created["access_token"].as_str().unwrap());
    service.clock.advance(1799);
    assert_eq!(alice.get(&pushrules("")).await.status, 200);
    service.clock.advance(1);
    assert_eq!(alice.get(&pushrules("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
}

#[tokio::test]
async fn closed_registration_creates_no_accounts() {
    let closed = config(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::with(closed).await;
    for body in [json!({}), registration("alice")] {
        let response = post(&service.anonymous(), "register", &body).await;
        assert_eq!(response.errcode(), (403, "M_FORBIDDEN".into()));
    }
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());
}

#[tokio::test]
async fn registration_is_open_by_default() {
    let open: belfry::config::Config = toml::from_str("").unwrap();
    assert_eq!(open.registration, RegistrationPolicy::Open);
    let closed: belfry::config::Config = toml::from_str("registration = 'closed'").unwrap();
    assert_eq!(closed.registration, RegistrationPolicy::Closed);
}

#[tokio::test]
async fn account_data_returns_the_rules_to_their_owner_only() {
    let service = service().await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    alice.put_ok("global/room/a", &json!({ "actions": [] })).await;
    let of = |user: &str| format!("{CLIENT}/user/{user}/account_data/m.push_rules");
    let all = alice.get_rules("").await;
    for user in ["@alice:ring.example", "%40alice%3Aring.example"] {
        assert_eq!(alice.get(&of(user)).await.expect(StatusCode::OK), all, "{user}");
    }
    for user in ["@alice:ring.example", "@nobody:ring.example", "bob", "@bob:x"] {
        let response = bob.get(&of(user)).await;
        assert_eq!(response.errcode(), (403, "M_FORBIDDEN".into()), "{user}");
    }
    let response = alice.get(&of("%ff")).await;
    assert_eq!(response.errcode(), (400, "M_INVALID_PARAM".into()));
    let writer = service.user_with_scopes("alice", "write").await;
    assert_eq!(writer.get(&of("@alice:ring.example")).await.status, 403);
    let put = format!("PUT {}", of("@alice:ring.example"));
    let response = alice.send(&put, "{\"global\":{}}").await;
    assert_eq!(response.errcode(), (405, "M_UNRECOGNIZED".into()));
    assert_eq!(response.header("allow"), "GET,HEAD");
    assert_eq!(alice.get_rules("").await, all);
}

#[tokio::test]
async fn every_prefix_serves_all_endpoints() {
    let service = service().await;
    let alice = service.user("alice").await;
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            let prefix = format!("/{segment}/client/{api}");
            for path in [
                "versions",
                "login",
                "account/whoami",
                "user/@alice:ring.example/account_data/m.push_rules",
            ] {
                assert_eq!(alice.get(&format!("{prefix}/{path}")).await.status, 200, "{prefix}");
            }
            for (path, status) in [("login", 400), ("register", 401)] {
                let response = alice.send(&format!("POST {prefix}/{path}"), "{}").await;
                assert_eq!(response.status, status, "{prefix}/{path}");
            }
            let signed_out = service.user("alice").await;
            let response = signed_out.send(&format!("POST {prefix}/logout"), "").await;
            assert_eq!(response.status, 200, "{prefix}");
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_rejected() {
    let service = service().await;
    for request in
        ["PUT login", "GET register", "GET logout", "POST account/whoami", "POST versions"]
    {
        let (method, path) = request.split_once(' ').unwrap();
        let response = service.anonymous().send(&format!("{method} {CLIENT}/{path}"), "").await;
        assert_eq!(response.errcode(), (405, "M_UNRECOGNIZED".into()), "{request}");
    }
}
