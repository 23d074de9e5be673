//! Changing the password on the security page.

use axum::http::StatusCode;
use serde_json::json;

use super::{
    FIREFOX, PASSWORD_PATH, SAFARI, SECURITY_PATH, change_password, is_signed_in, read_events,
    sign_in, sign_in_alice,
};
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{Browser, Service, on_both_engines};

const SUCCESS_LOCATION: &str = "/oauth/account/security?notice=password-changed";
const RULES_PATH: &str = "/_matrix/client/v3/pushrules/";

async fn a_new_password_ends_all_other_sessions_and_revokes_all_tokens(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let mut other_browser = sign_in(&service, "alice", SAFARI).await;
    let mut bobs_browser = sign_in(&service, "bob", FIREFOX).await;
    let app = service.user_client("alice").await;
    let bobs_app = service.user_client("bob").await;
    app.get(RULES_PATH).await.expect_json(StatusCode::OK);

    let page = browser.get(SECURITY_PATH).await;
    let response = change_password(&mut browser, &page, "correct horse alice", "a new horse").await;
    assert_eq!((response.status, response.header("location")), (303, SUCCESS_LOCATION));
    let page = browser.follow(&response).await;
    page.assert_page(
        200,
        "Your password is changed. All other browsers and all apps are signed out.",
    );

    assert!(is_signed_in(&mut browser).await && is_signed_in(&mut bobs_browser).await);
    assert!(!is_signed_in(&mut other_browser).await);
    assert_eq!(app.get(RULES_PATH).await.status_and_errcode(), (401, "M_UNKNOWN_TOKEN".to_owned()));
    bobs_app.get(RULES_PATH).await.expect_json(StatusCode::OK);
    for (password, status) in [("correct horse alice", 401), ("a new horse", 303)] {
        let mut browser = service.browser();
        let page = browser.get("/oauth/sign_in").await;
        let fields = [("username", "alice"), ("password", password)];
        let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
        assert_eq!(response.status, status, "{password}");
    }
    assert_eq!(
        read_events(&service, "alice").await,
        [
            "password_change success 1",
            "sign_in failure 1",
            "sign_in success 1",
            "sign_in success 1",
            "sign_in success 1",
            "token_revoke success 1 (password change)",
        ]
    );
}

on_both_engines! {
    crate::security::start_with_defaults:
    a_new_password_ends_all_other_sessions_and_revokes_all_tokens,
}

#[tokio::test]
async fn errors_are_shown_next_to_their_field_and_change_nothing() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    let correct_password = "correct horse alice";
    for (current, new, repeated, status, field, text) in [
        (
            "wrong",
            "a new horse",
            "a new horse",
            401,
            "current-password",
            "This is not your password.",
        ),
        ("", "a new horse", "a new horse", 401, "current-password", "This is not your password."),
        (
            correct_password,
            "short",
            "short",
            422,
            "new-password",
            "Please choose a password of at least 8",
        ),
        (correct_password, "", "", 422, "new-password", "Please choose a password."),
        (
            correct_password,
            "password123",
            "password123",
            422,
            "new-password",
            "This password is easy to guess.",
        ),
        (
            correct_password,
            "Alice@Example.org",
            "Alice@Example.org",
            422,
            "new-password",
            "This password is easy to guess.",
        ),
        (
            correct_password,
            "a new horse",
            "a new hose",
            422,
            "password-again",
            "The two passwords are not the same.",
        ),
    ] {
        let fields =
            [("current_password", current), ("new_password", new), ("password_again", repeated)];
        let response = browser.submit(&page, PASSWORD_PATH, &fields).await;
        response
            .assert_page(status, &format!("<p class=\"field-error\" id=\"{field}-error\">{text}"));
        let id_attribute = format!("id=\"{field}\"");
        let input = response.text.split(&id_attribute).nth(1).unwrap().split('>').next().unwrap();
        assert!(input.contains("aria-invalid=\"true\""), "{input}");
        assert!(input.contains(&format!("aria-describedby=\"{field}-error\"")), "{input}");
        assert!(input.contains("autofocus"), "{input}");
        for secret in [current, new, repeated].into_iter().filter(|secret| !secret.is_empty()) {
            assert!(!response.text.contains(&format!("value=\"{secret}\"")), "{secret}");
        }
    }
    assert!(is_signed_in(&mut browser).await);
    assert_eq!(
        read_events(&service, "alice").await,
        ["password_change failure 2", "sign_in success 1"]
    );
}

#[tokio::test]
async fn all_problems_with_a_new_password_are_reported_together() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    let correct_password = "correct horse alice";
    for (current, status, fields) in [
        ("wrong", 401, &["current-password", "new-password", "password-again"][..]),
        (correct_password, 422, &["new-password", "password-again"]),
    ] {
        let form_fields =
            [("current_password", current), ("new_password", "short"), ("password_again", "shirt")];
        let response = browser.submit(&page, PASSWORD_PATH, &form_fields).await;
        let error_ids = response.text.split("class=\"field-error\" id=\"").skip(1);
        let fields_with_errors: Vec<&str> =
            error_ids.filter_map(|rest| rest.split("-error\"").next()).collect();
        assert_eq!((response.status, &*fields_with_errors), (status, fields));
        assert_eq!(response.text.matches(" autofocus").count(), 1);
    }
    assert_eq!(
        read_events(&service, "alice").await,
        ["password_change failure 1", "sign_in success 1"]
    );
}

#[tokio::test]
async fn wrong_passwords_in_a_session_count_as_sign_in_attempts() {
    let limits = json!({ "sign_in_name": { "requests": 2 } });
    let service = Service::start_with(config_with(|config| {
        config.limits.abuse = serde_json::from_value(limits).unwrap();
    }))
    .await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    for _ in 0..2 {
        let response = change_password(&mut browser, &page, "wrong", "a new horse").await;
        assert_eq!(response.status, 401);
    }
    let response = change_password(&mut browser, &page, "correct horse alice", "a new horse").await;
    response.assert_page(429, "Too many attempts. Please try again in 60 minutes.");
    assert_eq!(response.header("retry-after"), "3600");
    // The same limit applies to the form that deletes the account.
    let delete_fields = [("password", "correct horse alice")];
    let response = browser.submit(&page, "/oauth/account/security/delete", &delete_fields).await;
    response.assert_page(429, "Too many attempts.");
    // A stolen session cannot be used to guess from a different address.
    let mut thief = Browser::new(service.anonymous_client().with_address(documentation_address(9)));
    thief.cookies = browser.cookies.clone();
    let response = change_password(&mut thief, &page, "correct horse alice", "a new horse").await;
    response.assert_page(429, "Too many attempts.");
    // The owner can still sign in elsewhere.
    let mut owner = Browser::new(service.anonymous_client().with_address(documentation_address(7)));
    let page = owner.get("/oauth/sign_in").await;
    owner.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
}
