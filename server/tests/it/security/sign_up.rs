//! The sign-up page.

use axum::http::StatusCode;
use belfry::config::{Config, RegistrationPolicy};
use serde_json::json;

use super::read_events;
use crate::support::browser::encode_form;
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const SIGN_UP_PATH: &str = "/oauth/sign_up";

fn sign_up_fields<'a>(name: &'a str, password: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("username", name),
        ("email", "carol@example.org"),
        ("password", password),
        ("password_again", password),
        ("agreement", "true"),
    ]
}

/// Returns settings with a link to rules that users must accept.
fn config_with_rules() -> Config {
    config_with(|config| config.instance.rules_url = "https://ring.example/rules".parse().ok())
}

async fn sign_up(browser: &mut Browser, name: &str) -> TestResponse {
    let page = browser.get(SIGN_UP_PATH).await;
    browser.submit(&page, SIGN_UP_PATH, &sign_up_fields(name, "correct horse")).await
}

async fn a_person_signs_up_and_is_signed_in(service: Service) {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    page.assert_page(200, "<a href=\"/oauth/sign_up\">Create an account</a>");
    let response = sign_up(&mut browser, "carol").await;
    assert_eq!((response.status, response.header("location")), (303, "/oauth/account"));
    browser.follow(&response).await.assert_page(200, "@carol:ring.example");
    let account = service.store().account_by_name("carol").await.unwrap().unwrap();
    assert_eq!(account.unverified_email.as_deref(), Some("carol@example.org"));
    assert_eq!(account.email, None);
    assert_eq!(read_events(&service, "carol").await, ["sign_in success 1", "sign_up success 1"]);
    // A signed-in user is redirected to their account.
    assert_eq!(browser.get(SIGN_UP_PATH).await.header("location"), "/oauth/account");
}

async fn a_sign_up_continues_the_authorization(service: Service) {
    let client = service.register_client().await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("lang", "de")])).await;
    let link = page.text.split("href=\"/oauth/sign_up?").nth(1).unwrap().split('"').next().unwrap();
    let page = browser.get(&format!("{SIGN_UP_PATH}?{link}")).await;
    page.assert_page(200, "<html lang=\"de\"");
    page.assert_page(200, "Tusky");
    // An error does not end the authorization request.
    let invalid_page = browser.submit(&page, SIGN_UP_PATH, &sign_up_fields("carol", "short")).await;
    invalid_page.assert_page(422, "id=\"password-error\">Bitte ");
    let response = browser
        .submit(&invalid_page, SIGN_UP_PATH, &sign_up_fields("carol", "correct horse"))
        .await;
    assert!(response.header("location").starts_with("/oauth/authorize/resume?"), "{response:?}");
    let consent_page = browser.follow(&response).await;
    consent_page.assert_page(200, "@carol:ring.example");
    let response = browser.decide(&consent_page, "allow").await;
    let code = response.redirect_parameters(&client.redirect_uri)["code"].clone();
    client.redeem(&code, &[]).await.expect_json(StatusCode::OK);
}

/// The first submit replaced the cookie that the form's CSRF token is derived from.
async fn a_double_submit_creates_one_account_and_signs_in(service: Service) {
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    for _ in 0..2 {
        let fields = sign_up_fields("carol", "correct horse");
        let response = browser.submit(&page, SIGN_UP_PATH, &fields).await;
        assert_eq!(response.header("location"), "/oauth/account", "{response:?}");
        browser.follow(&response).await.assert_page(200, "@carol:ring.example");
    }
}

on_both_engines! {
    crate::security::start_with_defaults:
    a_person_signs_up_and_is_signed_in,
    a_sign_up_continues_the_authorization,
    a_double_submit_creates_one_account_and_signs_in,
}

#[tokio::test]
async fn errors_are_next_to_their_fields_and_only_passwords_are_cleared() {
    let service = Service::start_with(config_with_rules()).await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    let fields = [
        ("username", "Ali<ce"),
        ("email", "nowhere"),
        ("password", "hunter2"),
        ("password_again", "hunter3"),
    ];
    let response = browser.submit(&page, SIGN_UP_PATH, &fields).await;
    for (field, text) in [
        ("username", "Please use only lowercase letters from a to z, numbers and underscores."),
        ("email", "Please check the address. It should look like name@example.org."),
        ("password", "Please choose a password of at least 8 characters."),
        ("agreement", "Please accept the rules of this server."),
        ("password-again", "The two passwords are not the same."),
    ] {
        response.assert_page(422, &format!("<p class=\"field-error\" id=\"{field}-error\">{text}"));
    }
    for value in ["value=\"Ali&#60;ce\"", "value=\"nowhere\""] {
        assert!(response.text.contains(value), "{value}: {}", response.text);
    }
    assert!(!response.text.contains("hunter2"));
    // The checked box stays checked, and a mismatched repetition is reported.
    let mut fields = sign_up_fields("alice", "correct horse");
    fields[3].1 = "correct hose";
    let response = browser.submit(&page, SIGN_UP_PATH, &fields).await;
    let text =
        "<p class=\"field-error\" id=\"password-again-error\">The two passwords are not the same.";
    response.assert_page(422, text);
    assert!(response.text.contains("value=\"true\" required checked"), "{}", response.text);
    // The name is not looked up yet.
    assert!(!response.text.contains("already taken"), "{}", response.text);
    let response =
        browser.submit(&page, SIGN_UP_PATH, &sign_up_fields("alice", "correct horse")).await;
    response.assert_page(
        422,
        "<p class=\"field-error\" id=\"username-error\">This username is already taken.",
    );
    assert!(response.text.contains("value=\"carol@example.org\""));
}

/// An unverified address cannot be used to sign in, so it is optional.
#[tokio::test]
async fn a_person_signs_up_without_an_email_address() {
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    let input = page.text.split("<input id=\"email\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(!input.contains("required"), "{input}");
    let mut fields = sign_up_fields("carol", "correct horse");
    fields[1].1 = " ";
    assert_eq!(
        browser.submit(&page, SIGN_UP_PATH, &fields).await.header("location"),
        "/oauth/account"
    );
    let account = service.store().account_by_name("carol").await.unwrap().unwrap();
    assert_eq!((account.email, account.unverified_email), (None, None));
    // The API requires an address, as Mastodon does.
    let token = service.register_client().await.obtain_app_token("write").await;
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    fields[0].1 = "dave";
    let response =
        form_client.with_token(&token).send("POST /api/v1/accounts", encode_form(&fields)).await;
    let error = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["error"].clone();
    assert_eq!(error, json!("Validation failed: E-mail address can't be blank"));
}

/// Without a link, users could not read the rules.
#[tokio::test]
async fn rules_must_be_accepted_only_if_there_is_a_link_to_them() {
    let mut without_agreement = sign_up_fields("carol", "correct horse");
    without_agreement[4].1 = "";
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    assert!(!page.text.contains("agreement"), "{}", page.text);
    assert_eq!(browser.submit(&page, SIGN_UP_PATH, &without_agreement).await.status, 303);

    let service = Service::start_with(config_with_rules()).await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    page.assert_page(
        200,
        "<a href=\"https://ring.example/rules\" target=\"_blank\" rel=\"noopener\">",
    );
    let rejection_page = browser.submit(&page, SIGN_UP_PATH, &without_agreement).await;
    rejection_page.assert_page(422, "Please accept the rules of this server.");
    let response = browser
        .submit(&rejection_page, SIGN_UP_PATH, &sign_up_fields("carol", "correct horse"))
        .await;
    assert_eq!(response.status, 303);
}

#[tokio::test]
async fn the_page_describes_valid_names_and_passwords_before_a_submit() {
    let page = Service::start().await.browser().get(SIGN_UP_PATH).await;
    for (field, hint) in [
        (
            "username",
            "Lowercase letters from a to z, numbers and underscores, in the middle also dots",
        ),
        ("email", "Optional. The people who run this server can reach you there."),
        ("password", "At least 8 characters, and not a common password"),
    ] {
        page.assert_page(200, &format!("<p class=\"hint\" id=\"{field}-hint\">{hint}"));
        page.assert_page(200, &format!("aria-describedby=\"{field}-hint\""));
    }
}

/// A shared limit, so the page cannot be used to probe more names than the API allows.
#[tokio::test]
async fn sign_ups_on_the_page_and_in_the_api_have_the_same_limit() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    // Invalid fields reveal nothing about other accounts and do not count.
    for _ in 0..10 {
        browser
            .submit(&page, SIGN_UP_PATH, &sign_up_fields("alice", "short"))
            .await
            .assert_page(422, "at least 8");
    }
    for _ in 0..5 {
        let response =
            browser.submit(&page, SIGN_UP_PATH, &sign_up_fields("alice", "correct horse")).await;
        response.assert_page(422, "This username is already taken.");
    }
    for name in ["alice", "free"] {
        let response =
            browser.submit(&page, SIGN_UP_PATH, &sign_up_fields(name, "correct horse")).await;
        response.assert_page(429, "Too many attempts. Please try again in 30 minutes.");
        assert_eq!(response.header("retry-after"), "1800");
        assert!(response.text.contains(&format!("value=\"{name}\"")));
    }
    let client = service.register_client().await;
    let token = client.obtain_app_token("write").await;
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    let form = encode_form(&sign_up_fields("free", "correct horse"));
    let response = form_client.with_token(&token).send("POST /api/v1/accounts", form).await;
    assert_eq!(response.status, 429);
    let mut other_browser =
        Browser::new(service.anonymous_client().with_address(documentation_address(9)));
    assert_eq!(sign_up(&mut other_browser, "free").await.status, 303);
}

#[tokio::test]
async fn the_sign_up_page_reports_that_registration_is_closed() {
    let closed_config = config_with(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::start_with(closed_config).await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP_PATH).await;
    page.assert_page(403, "This server does not accept new accounts.");
    let sign_in_page = browser.get("/oauth/sign_in").await;
    assert!(!sign_in_page.text.contains("Create an account"));
    let csrf_token = sign_in_page.hidden_fields("/oauth/sign_in")[0].1.clone();
    let mut fields_with_csrf = sign_up_fields("carol", "correct horse").to_vec();
    fields_with_csrf.push(("csrf", &csrf_token));
    browser
        .post(SIGN_UP_PATH, &fields_with_csrf)
        .await
        .assert_page(403, "This server does not accept new accounts.");
    assert_eq!(service.store().account_by_name("carol").await.unwrap(), None);
    let response = service
        .anonymous_client()
        .with_header("accept", "application/json")
        .get(SIGN_UP_PATH)
        .await;
    let error = response.expect_json(StatusCode::FORBIDDEN)["error_description"].clone();
    assert_eq!(error, json!("Registration is closed on this server"));
}
