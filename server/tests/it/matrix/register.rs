//! `POST /_matrix/client/v3/register`.

use std::time::Duration;

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{password_login, post, registration};
use crate::rules::{pushrules_path, start_unlimited};
use crate::support::Service;
use crate::support::service::config_with;

#[tokio::test]
async fn registration_requires_the_dummy_stage_and_creates_the_account() {
    let service = start_unlimited().await;
    let anonymous = service.anonymous_client();
    let mut body = json!({ "username": "alice", "password": "correct horse" });
    let challenge = post(&anonymous, "register", &body).await.expect_json(StatusCode::UNAUTHORIZED);
    assert_eq!(challenge["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    assert_eq!(challenge["params"], json!({}));
    assert_eq!(challenge.get("errcode"), None);
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());

    body["auth"] = json!({ "type": "m.login.dummy", "session": challenge["session"] });
    let response = post(&anonymous, "register", &body).await.expect_json(StatusCode::OK);
    assert_eq!(response["user_id"], "@alice:ring.example");
    assert!(response["device_id"].is_string());
    let alice = anonymous.with_token(response["access_token"].as_str().unwrap());
    assert_eq!(alice.get(&pushrules_path("")).await.status, 200);
    let login = post(&anonymous, "login", &password_login("alice", "correct horse")).await;
    assert_eq!(login.status, 200);
}

#[tokio::test]
async fn login_and_username_are_optional() {
    let service = start_unlimited().await;
    let mut body = registration("alice");
    body["inhibit_login"] = json!(true);
    let response =
        post(&service.anonymous_client(), "register", &body).await.expect_json(StatusCode::OK);
    assert_eq!(
        response,
        json!({ "user_id": "@alice:ring.example", "home_server": "ring.example" })
    );
    let mut body = registration("");
    body.as_object_mut().unwrap().remove("username");
    let response =
        post(&service.anonymous_client(), "register", &body).await.expect_json(StatusCode::OK);
    assert!(response["user_id"].as_str().unwrap().starts_with("@u"), "{response}");
}

/// Everywhere else too: the name is part of addresses, paths and downloads.
#[tokio::test]
async fn a_name_may_have_every_character_of_matrix_grammar_and_capitals_are_converted() {
    let service = start_unlimited().await;
    let anonymous = service.anonymous_client();
    let response = post(&anonymous, "register", &registration("-A.b_C=d/e.")).await;
    let response = response.expect_json(StatusCode::OK);
    assert_eq!(response["user_id"], "@-a.b_c=d/e.:ring.example");
    for user in ["-a.b_c=d/e.", "-A.B_C=D/E.", "@-a.b_c=d/e.:ring.example"] {
        let login = post(&anonymous, "login", &password_login(user, "correct horse")).await;
        assert_eq!(login.status, 200, "{user}");
    }
    let client = anonymous.with_token(response["access_token"].as_str().unwrap());
    let whoami = client.get("/_matrix/client/v3/account/whoami").await.json();
    assert_eq!(whoami["user_id"], "@-a.b_c=d/e.:ring.example");
    let path =
        "/_matrix/client/v3/user/%40-a.b_c%3Dd%2Fe.%3Aring.example/account_data/m.push_rules";
    assert_eq!(client.get(path).await.status, 200);
    let account =
        client.get("/api/v1/accounts/verify_credentials").await.expect_json(StatusCode::OK);
    assert_eq!(account["acct"], "-a.b_c=d/e.");
    assert_eq!(account["url"], "https://ring.example/@-a.b_c%3Dd%2Fe.");
    assert_eq!(anonymous.get("/@-a.b_c%3Dd%2Fe.").await.status, 303);
    // The pages accept the name at sign-in, but not at sign-up.
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", "-a.b_c=d/e."), ("password", "correct horse")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &fields).await.status, 303);
}

#[tokio::test]
async fn an_invalid_registration_is_rejected_with_its_error_code() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    let with_field = |name: &str, value: Value| {
        let mut body = registration("bob");
        body[name] = value;
        body
    };
    let with_credentials = |name: &str, password: &str| {
        let mut body = registration(name);
        body["password"] = json!(password);
        body
    };
    for (body, errcode) in [
        (registration("alice"), "M_USER_IN_USE"),
        (registration("b ob"), "M_INVALID_USERNAME"),
        (registration(""), "M_INVALID_USERNAME"),
        (registration("admin"), "M_INVALID_USERNAME"),
        (registration(&"b".repeat(65)), "M_INVALID_USERNAME"),
        (registration("@bob:ring.example"), "M_INVALID_USERNAME"),
        (registration("b+ob"), "M_INVALID_USERNAME"),
        (registration("böb"), "M_INVALID_USERNAME"),
        (with_field("password", json!("short")), "M_WEAK_PASSWORD"),
        (with_field("password", json!("x".repeat(129))), "M_WEAK_PASSWORD"),
        (with_credentials("username9", "Username9"), "M_WEAK_PASSWORD"),
        (with_field("password", json!(1)), "M_BAD_JSON"),
        (with_field("auth", json!(1)), "M_BAD_JSON"),
        (json!([]), "M_BAD_JSON"),
        (json!({ "username": "bob", "auth": { "type": "m.login.dummy" } }), "M_MISSING_PARAM"),
    ] {
        let response = post(&service.anonymous_client(), "register", &body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{body}");
    }
    let recaptcha_body = with_field("auth", json!({ "type": "m.login.recaptcha" }));
    let response = post(&service.anonymous_client(), "register", &recaptcha_body).await;
    assert_eq!(response.status_and_errcode(), (401, "M_UNRECOGNIZED".into()));
    assert_eq!(response.json()["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    let response = post(&service.anonymous_client(), "register?kind=guest", &json!({})).await;
    assert_eq!(response.status_and_errcode(), (403, "M_GUEST_ACCESS_FORBIDDEN".into()));
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());
}

#[tokio::test]
async fn registrations_count_towards_the_sign_up_limit_and_incomplete_stages_do_not() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    for number in 0..5 {
        let incomplete_body =
            json!({ "username": format!("n{number}"), "password": "correct horse" });
        assert_eq!(post(&anonymous, "register", &incomplete_body).await.status, 401);
        assert_eq!(
            post(&anonymous, "register", &registration(&format!("n{number}"))).await.status,
            200
        );
    }
    let response = post(&anonymous, "register", &registration("n5")).await;
    assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert!(response.header("ratelimit").contains("\"sign_up\";r=0"), "the header names the limit");
    assert!(service.store().account_by_name("n5").await.unwrap().is_none());
    let response = anonymous.send("POST /api/v1/accounts", "").await;
    assert_eq!(response.status, 429);
}

/// If lookups did not count, existing names could be discovered at the rate of ordinary requests.
#[tokio::test]
async fn lookups_of_existing_names_count_as_registrations() {
    let service = Service::start().await;
    for number in 0..7 {
        service.add_account(&format!("n{number}")).await;
    }
    let anonymous = service.anonymous_client();
    for number in 0..5 {
        let lookup_body = json!({ "username": format!("n{number}") });
        let response = post(&anonymous, "register", &lookup_body).await;
        assert_eq!(response.status_and_errcode(), (400, "M_USER_IN_USE".into()), "{number}");
    }
    for name in ["n5", "n6", "free"] {
        let response = post(&anonymous, "register", &json!({ "username": name })).await;
        assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()), "{name}");
    }
    service.clock.advance(1800);
    let response = post(&anonymous, "register", &json!({ "username": "free" })).await;
    assert_eq!(response.status, 401);
}

/// A lookup is counted before it begins; otherwise many could begin before the first is counted.
#[tokio::test]
async fn concurrent_name_lookups_do_not_exceed_the_limit() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let anonymous = service.anonymous_client();
    let lookup_body = json!({ "username": "alice" });
    let responses = join_all((0..20).map(|_| post(&anonymous, "register", &lookup_body))).await;
    let revealed_names =
        responses.iter().filter(|response| response.status_and_errcode().1 == "M_USER_IN_USE");
    assert_eq!(revealed_names.count(), 5);
    let rejections = responses.iter().filter(|response| response.status == 429);
    assert_eq!(rejections.count(), 15);
}

#[tokio::test]
async fn a_matrix_client_token_expires_after_the_configured_lifetime() {
    let config = config_with(|config| config.oauth.token_lifetime = Some(Duration::from_mins(30)));
    let service = Service::start_with(config).await;
    let response = post(&service.anonymous_client(), "register", &registration("alice"))
        .await
        .expect_json(StatusCode::OK);
    let alice = service.anonymous_client().with_token(response["access_token"].as_str().unwrap());
    service.clock.advance(1799);
    assert_eq!(alice.get(&pushrules_path("")).await.status, 200);
    service.clock.advance(1);
    assert_eq!(
        alice.get(&pushrules_path("")).await.status_and_errcode(),
        (401, "M_UNKNOWN_TOKEN".into())
    );
}

#[tokio::test]
async fn closed_registration_creates_no_accounts() {
    let config = config_with(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::start_with(config).await;
    for body in [json!({}), registration("alice")] {
        let response = post(&service.anonymous_client(), "register", &body).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    }
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());
}

#[tokio::test]
async fn registration_is_open_by_default() {
    let default_config: belfry::config::Config = toml::from_str("").unwrap();
    assert_eq!(default_config.registration, RegistrationPolicy::Open);
    let closed_config: belfry::config::Config = toml::from_str("registration = 'closed'").unwrap();
    assert_eq!(closed_config.registration, RegistrationPolicy::Closed);
}
