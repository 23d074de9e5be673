//! `POST /api/v1/apps` and `GET /api/v1/apps/verify_credentials`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::browser::form;
use crate::support::caller::address;
use crate::support::{Answer, Caller, Service};

const URI: &str = "https://app.example/cb";

async fn register(caller: &Caller, fields: &[(&str, &str)]) -> Answer {
    let caller = caller.with("content-type", "application/x-www-form-urlencoded");
    caller.call("POST /api/v1/apps", form(fields)).await
}

#[tokio::test]
async fn an_app_gets_an_id_a_secret_and_what_it_declared() {
    let service = Service::start().await;
    let answer = register(
        &service.anyone(),
        &[
            ("client_name", "Tusky"),
            ("redirect_uris", "https://app.example/cb\nurn:ietf:wg:oauth:2.0:oob"),
            ("scopes", "read write"),
            ("website", "https://app.example"),
            ("unknown", "ignored"),
        ],
    )
    .await;
    let app = answer.expect(StatusCode::OK);
    for secret in ["client_id", "client_secret"] {
        assert_eq!(app[secret].as_str().unwrap().len(), 51, "{secret}");
    }
    let expected = json!({
        "id": app["id"].as_str().unwrap(),
        "name": "Tusky",
        "website": "https://app.example",
        "scopes": ["read", "write"],
        "redirect_uris": ["https://app.example/cb", "urn:ietf:wg:oauth:2.0:oob"],
        "redirect_uri": "https://app.example/cb\nurn:ietf:wg:oauth:2.0:oob",
        "vapid_key": "",
        "client_id": app["client_id"],
        "client_secret": app["client_secret"],
        "client_secret_expires_at": 0,
    });
    assert_eq!(app, expected);
    assert_eq!(answer.header("cache-control"), "private, no-store");
}

#[tokio::test]
async fn no_two_apps_are_the_same() {
    let service = Service::start().await;
    let fields = [("client_name", "A"), ("redirect_uris", URI)];
    let one = register(&service.anyone(), &fields).await.expect(StatusCode::OK);
    let other = register(&service.anyone(), &fields).await.expect(StatusCode::OK);
    for key in ["id", "client_id", "client_secret"] {
        assert_ne!(one[key], other[key], "{key}");
    }
    assert_eq!(one["scopes"], json!(["read"]));
    assert_eq!(one["website"], Value::Null);
}

// Attacks 7, 20, 21 and 84.
#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    let service = Service::start().await;
    let long = format!("https://a.example/{}", "a".repeat(2000));
    for (fields, error) in [
        (vec![], "Validation failed: Application name can't be blank, Redirect URI can't be blank"),
        // Attack 99: a name that nobody could see.
        (
            vec![("client_name", "\u{200b}\u{2060} \u{feff}\u{7f}"), ("redirect_uris", "a:/b")],
            "Validation failed: Application name can't be blank",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", "javascript:alert(1)")],
            "Validation failed: Redirect URI is forbidden by the server.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", "https://*.a.example/")],
            "Validation failed: Redirect URI cannot contain a wildcard.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", &*long)],
            "Validation failed: Redirect URI is too long (maximum is 2000 characters)",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", URI), ("scopes", "read nope")],
            "Validation failed: Scopes doesn't match those configured on the server.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", URI), ("website", "javascript:x")],
            "Validation failed: Application website is not a valid URL",
        ),
    ] {
        let answer = register(&service.anyone(), &fields).await;
        let body = answer.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(body, json!({ "error": error }));
    }
    assert!(service.store().apps(0, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_wrong_is_told_in_the_language_of_the_caller() {
    let service = Service::start().await;
    let german = service.anyone().with("accept-language", "de-CH, en;q=0.5");
    let answer = register(&german, &[("client_name", "A")]).await;
    let error = answer.expect(StatusCode::UNPROCESSABLE_ENTITY)["error"].to_string();
    assert!(!error.contains("can't be blank"), "{error}");
    let english = german.with("content-type", "application/json");
    let answer = english.call("POST /api/v1/apps?lang=en", r#"{"client_name":"A"}"#).await;
    assert_eq!(answer.json()["error"], "Validation failed: Redirect URI can't be blank");
}

#[tokio::test]
async fn an_app_sees_what_it_declared_with_any_token_and_never_its_secret() {
    let service = Service::start().await;
    let client = service.client().await;
    let own = client.own_token("push").await;
    let app = service.anyone().bearing(&own).get("/api/v1/apps/verify_credentials").await;
    let app = app.expect(StatusCode::OK);
    assert_eq!(app["name"], "Tusky");
    for key in ["client_id", "client_secret", "client_secret_expires_at"] {
        assert_eq!(app.get(key), None, "{key}");
    }
    let alice = service.person_with("alice", "profile").await;
    let app = alice.get("/api/v1/apps/verify_credentials/").await.expect(StatusCode::OK);
    assert_eq!(app["name"], "Tests");
}

// Attack 84.
#[tokio::test]
async fn a_registration_that_fails_counts_and_is_told_so() {
    let service = Service::start().await;
    let answer = register(&service.anyone(), &[("client_name", "")]).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.header("x-ratelimit-limit"), "30");
    assert_eq!(answer.header("x-ratelimit-remaining"), "29");
    let told = r#""ip";r=299;t=300, "app_registration";r=29;t=600"#;
    assert_eq!(answer.header("ratelimit"), told);
}

#[tokio::test]
async fn one_address_registers_so_many_apps_and_no_more() {
    let service = Service::start().await;
    let fields = [("client_name", "A"), ("redirect_uris", URI)];
    for left in (0..30).rev() {
        let answer = register(&service.anyone(), &fields).await;
        assert_eq!(
            (answer.status, answer.header("x-ratelimit-remaining")),
            (200, &*left.to_string())
        );
    }
    let answer = register(&service.anyone(), &fields).await;
    assert_eq!(
        answer.expect(StatusCode::TOO_MANY_REQUESTS),
        json!({ "error": "Too many requests" })
    );
    assert_eq!(register(&service.anyone().at(address(9)), &fields).await.status, 200);
}
