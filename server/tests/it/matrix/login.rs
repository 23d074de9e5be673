//! `login` and `logout`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{CLIENT_API, password_login, post, registration};
use crate::rules::{pushrules_path, start_unlimited};
use crate::support::{Service, TestClient, any_events};

async fn log_in(service: &Service, body: &Value) -> Value {
    post(&service.anonymous_client(), "login", body).await.expect_json(StatusCode::OK)
}

fn client_with_token_of(service: &Service, response: &Value) -> TestClient {
    service.anonymous_client().with_token(response["access_token"].as_str().unwrap())
}

#[tokio::test]
async fn the_only_login_flow_is_a_password() {
    let service = start_unlimited().await;
    let response = service.anonymous_client().get(&format!("{CLIENT_API}/login")).await;
    assert_eq!(
        response.expect_json(StatusCode::OK),
        json!({ "flows": [{ "type": "m.login.password" }] })
    );
}

#[tokio::test]
async fn login_with_a_password_returns_a_token_for_push_rules() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    let legacy_body =
        json!({ "type": "m.login.password", "user": "alice", "password": "correct horse alice" });
    for body in [
        password_login("alice", "correct horse alice"),
        password_login("@alice:ring.example", "correct horse alice"),
        legacy_body,
    ] {
        let response = log_in(&service, &body).await;
        assert_eq!(response["user_id"], "@alice:ring.example");
        assert_eq!(response["home_server"], "ring.example");
        assert_eq!(response["device_id"].as_str().unwrap().len(), 10);
        let alice = client_with_token_of(&service, &response);
        alice.put_rule_ok("global/room/a", &json!({ "actions": [] })).await;
        assert_eq!(alice.user_rule_ids("global/room/").await, ["a"]);
    }
}

#[tokio::test]
async fn a_client_can_choose_its_device_id() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    let mut body = password_login("alice", "correct horse alice");
    body["device_id"] = json!("PHONE");
    let response = post(&service.anonymous_client(), "login", &body).await;
    assert_eq!(response.json()["device_id"], "PHONE");
}

#[tokio::test]
async fn whoami_returns_the_tokens_device() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    let mut body = password_login("alice", "correct horse alice");
    for device in [None, Some("PHONE"), Some("Zürich 📱")] {
        if let Some(device) = device {
            body["device_id"] = json!(device);
        }
        let login = log_in(&service, &body).await;
        let alice = client_with_token_of(&service, &login);
        let whoami =
            alice.get(&format!("{CLIENT_API}/account/whoami")).await.expect_json(StatusCode::OK);
        assert_eq!(whoami["device_id"], login["device_id"]);
        assert!(device.is_none_or(|device| whoami["device_id"] == device), "{whoami}");
    }
    let response = post(&service.anonymous_client(), "register", &registration("bob")).await;
    let bob = client_with_token_of(&service, &response.json());
    let whoami = bob.get(&format!("{CLIENT_API}/account/whoami")).await.expect_json(StatusCode::OK);
    assert_eq!(whoami["device_id"], response.json()["device_id"]);
}

#[tokio::test]
async fn a_login_with_the_same_device_id_revokes_the_earlier_token() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    service.add_account("bob").await;
    let log_in_on_device = async |name: &str, device: &str| {
        let mut body = password_login(name, &format!("correct horse {name}"));
        body["device_id"] = json!(device);
        client_with_token_of(&service, &log_in(&service, &body).await)
    };
    let [first_phone, laptop, bobs_phone] = [
        log_in_on_device("alice", "PHONE").await,
        log_in_on_device("alice", "LAPTOP").await,
        log_in_on_device("bob", "PHONE").await,
    ];
    let second_phone = log_in_on_device("alice", "PHONE").await;
    let whoami_path = format!("{CLIENT_API}/account/whoami");
    assert_eq!(
        first_phone.get(&whoami_path).await.status_and_errcode(),
        (401, "M_UNKNOWN_TOKEN".into())
    );
    for client in [laptop, bobs_phone, second_phone] {
        assert_eq!(client.get(&whoami_path).await.status, 200);
    }
}

/// Responses do not reveal whether an account exists.
#[tokio::test]
async fn an_unknown_user_and_a_wrong_password_get_the_same_response() {
    let service = start_unlimited().await;
    service.add_account("alice").await;
    let mut bodies = Vec::new();
    for (user, password) in [
        ("alice", "wrong"),
        ("alice", ""),
        ("nobody", "correct horse alice"),
        ("@alice:elsewhere.example", "correct horse alice"),
        ("", "correct horse alice"),
        ("alice\0", "correct horse alice"),
    ] {
        let response =
            post(&service.anonymous_client(), "login", &password_login(user, password)).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{user:?}");
        bodies.push(response.text);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    // Names are registered without capitals, so that each person has one spelling.
    let login = password_login("Alice", "correct horse alice");
    assert_eq!(post(&service.anonymous_client(), "login", &login).await.status, 200);
}

/// Password guessing is limited per address, so that it does not lock the owner out.
#[tokio::test]
async fn login_attempts_are_limited_per_address() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let anonymous = service.anonymous_client();
    let correct_login = password_login("alice", "correct horse alice");
    for attempt in 0..25 {
        // Unknown names count like known ones.
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        let response = post(&anonymous, "login", &password_login(name, "wrong")).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
        assert_eq!(response.header("x-ratelimit-remaining"), (24 - attempt).to_string());
    }
    let response = post(&anonymous, "login", &correct_login).await;
    assert_eq!(response.status_and_errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert_eq!(response.json()["retry_after_ms"], 300_000);
    assert_eq!(response.header("retry-after"), "300");
    assert_eq!(response.header("x-ratelimit-limit"), "25");
    assert_eq!(response.header("x-ratelimit-remaining"), "0");
    let expected = r#""ip";r=274;t=300, "sign_in_address";r=0;t=300, "sign_in_name";r=12;t=3600"#;
    assert_eq!(response.header("ratelimit"), expected);

    let client_elsewhere = anonymous.with_address(crate::support::client::documentation_address(9));
    assert_eq!(post(&client_elsewhere, "login", &correct_login).await.status, 200);
    service.clock.advance(300);
    assert_eq!(post(&anonymous, "login", &correct_login).await.status, 200);
}

#[tokio::test]
async fn no_token_is_issued_while_the_app_for_matrix_clients_is_disabled() {
    let service = start_unlimited().await;
    let anonymous = service.anonymous_client();
    assert_eq!(post(&anonymous, "register", &registration("alice")).await.status, 200);
    let app_id = service.store().app_by_client_id("matrix").await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(&any_events(), app_id, Some(service.now())).await.unwrap();

    let mut registration_without_login = registration("bob");
    registration_without_login["inhibit_login"] = json!(true);
    for (path, body) in [
        ("login", password_login("alice", "correct horse")),
        ("register", registration("bob")),
        ("register", registration_without_login),
        ("register", json!({})),
    ] {
        let response = post(&anonymous, path, &body).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{path} {body}");
        assert!(response.text.contains("operator has disabled"), "{response:?}");
    }
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());

    service.store().set_app_disabled_at(&any_events(), app_id, None).await.unwrap();
    assert_eq!(
        post(&anonymous, "login", &password_login("alice", "correct horse")).await.status,
        200
    );
}

#[tokio::test]
async fn a_malformed_login_is_rejected() {
    let service = start_unlimited().await;
    for (body, errcode) in [
        ("", "M_NOT_JSON"),
        ("[]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        (r#"{"type":"m.login.token","token":"x"}"#, "M_UNKNOWN"),
        (r#"{"type":"m.login.password","password":"x"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":"a"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":1,"password":"x"}"#, "M_BAD_JSON"),
        (r#"{"type":"m.login.password","user":"a","password":"x","device_id":1}"#, "M_BAD_JSON"),
        (
            r#"{"type":"m.login.password","user":"a","password":"x","device_id":"\u0000"}"#,
            "M_BAD_JSON",
        ),
        (
            r#"{"type":"m.login.password","identifier":{"type":"m.id.phone"},"password":"x"}"#,
            "M_UNKNOWN",
        ),
    ] {
        let response =
            service.anonymous_client().send(&format!("POST {CLIENT_API}/login"), body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{body}");
    }
}

#[tokio::test]
async fn only_the_right_password_reveals_that_an_account_is_disabled() {
    let service = start_unlimited().await;
    let id = service.add_account("alice").await;
    service.store().set_account_disabled_at(&any_events(), id, Some(service.now())).await.unwrap();
    let response =
        post(&service.anonymous_client(), "login", &password_login("alice", "correct horse alice"))
            .await;
    assert_eq!(response.status_and_errcode(), (403, "M_USER_DEACTIVATED".into()));
    let response =
        post(&service.anonymous_client(), "login", &password_login("alice", "wrong")).await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
}

#[tokio::test]
async fn logout_revokes_only_its_token() {
    let service = start_unlimited().await;
    let client = service.user_client("alice").await;
    let other_client = service.user_client("alice").await;
    assert_eq!(client.get(&pushrules_path("")).await.status, 200);
    let response = post(&client, "logout", &json!({})).await;
    assert_eq!(response.expect_json(StatusCode::OK), json!({}));
    assert_eq!(
        client.get(&pushrules_path("")).await.status_and_errcode(),
        (401, "M_UNKNOWN_TOKEN".into())
    );
    assert_eq!(post(&client, "logout", &json!({})).await.status, 401);
    assert_eq!(other_client.get(&pushrules_path("")).await.status, 200);
}
