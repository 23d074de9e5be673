//! The sign-up page.

use axum::http::StatusCode;
use belfry::config::{Config, RegistrationPolicy};
use serde_json::json;

use super::events;
use crate::support::browser::encode_form;
use crate::support::client::address;
use crate::support::service::config_with;
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const SIGN_UP: &str = "/oauth/sign_up";

/// Returns the fields of a valid sign-up.
fn fields<'a>(name: &'a str, password: &'a str) -> [(&'a str, &'a str); 5] {
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
    let page = browser.get(SIGN_UP).await;
    browser.submit(&page, SIGN_UP, &fields(name, "correct horse")).await
}

async fn a_person_signs_up_and_is_signed_in(service: Service) {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    page.assert_page(200, "<a href=\"/oauth/sign_up\" rel=\"noreferrer\">Create an account</a>");
    let created = sign_up(&mut browser, "carol").await;
    assert_eq!((created.status, created.header("location")), (303, "/oauth/account"));
    browser.follow(&created).await.assert_page(200, "@carol:ring.example");
    let account = service.store().account_by_name("carol").await.unwrap().unwrap();
    assert_eq!(account.unverified_email.as_deref(), Some("carol@example.org"));
    assert_eq!(account.email, None);
    assert_eq!(events(&service, "carol").await, ["sign_in success 1", "sign_up success 1"]);
    // A signed-in user needs no further account.
    assert_eq!(browser.get(SIGN_UP).await.header("location"), "/oauth/account");
}

async fn a_sign_up_continues_the_authorization(service: Service) {
    let (client, mut browser) = (service.register_client().await, service.browser());
    let page = browser.get(&client.authorize_path(&[("lang", "de")])).await;
    let link = page.text.split("href=\"/oauth/sign_up?").nth(1).unwrap().split('"').next().unwrap();
    let page = browser.get(&format!("{SIGN_UP}?{link}")).await;
    page.assert_page(200, "<html lang=\"de\"");
    page.assert_page(200, "Tusky");
    // An error does not end the authorization request.
    let invalid = browser.submit(&page, SIGN_UP, &fields("carol", "short")).await;
    invalid.assert_page(422, "id=\"password-error\">Bitte ");
    let created = browser.submit(&invalid, SIGN_UP, &fields("carol", "correct horse")).await;
    assert!(created.header("location").starts_with("/oauth/authorize/resume?"), "{created:?}");
    let consent = browser.follow(&created).await;
    consent.assert_page(200, "@carol:ring.example");
    let allowed = browser.decide(&consent, "allow").await;
    let code = allowed.redirect_parameters(&client.redirect_uri)["code"].clone();
    client.redeem(&code, &[]).await.expect_json(StatusCode::OK);
}

/// Both forms of a double click lead to the account that the first one created.
async fn a_double_submit_creates_one_account_and_signs_in(service: Service) {
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    let mut tab = service.browser();
    tab.cookies = browser.cookies.clone();
    let fields = fields("carol", "correct horse");
    // The browser shows the response to the second form, and ignores the first one.
    let (first, second) =
        tokio::join!(browser.submit(&page, SIGN_UP, &fields), tab.submit(&page, SIGN_UP, &fields));
    for (browser, response) in [(&mut browser, first), (&mut tab, second)] {
        assert_eq!(response.header("location"), "/oauth/account", "{response:?}");
        browser.follow(&response).await.assert_page(200, "@carol:ring.example");
    }
    // The second form arrives with the session cookie.
    let again = browser.submit(&page, SIGN_UP, &fields).await;
    assert_eq!((again.status, again.header("location")), (303, "/oauth/account"));
    // Someone else does not get the account, and neither does anyone later.
    let mut other_browser = service.browser();
    let other = other_browser.get(SIGN_UP).await;
    let rejected =
        other_browser.submit(&other, SIGN_UP, &self::fields("carol", "a wrong horse")).await;
    rejected.assert_page(422, "This username is already taken.");
    service.clock.advance(60);
    let rejected = other_browser.submit(&other, SIGN_UP, &fields).await;
    rejected.assert_page(422, "This username is already taken.");
}

on_both_engines! {
    crate::security::start:
    a_person_signs_up_and_is_signed_in,
    a_sign_up_continues_the_authorization,
    a_double_submit_creates_one_account_and_signs_in,
}

#[tokio::test]
async fn errors_are_next_to_their_fields_and_nothing_but_passwords_is_lost() {
    let service = Service::start_with(config_with_rules()).await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    let entered = [
        ("username", "Ali<ce"),
        ("email", "nowhere"),
        ("password", "hunter2"),
        ("password_again", "hunter3"),
    ];
    let response = browser.submit(&page, SIGN_UP, &entered).await;
    for (field, text) in [
        ("username", "Please use only small letters from a to z, numbers and underscores."),
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
    // The checked box stays checked, and a password that was repeated wrongly is reported.
    let mut entered = fields("alice", "correct horse");
    entered[3].1 = "correct hose";
    let response = browser.submit(&page, SIGN_UP, &entered).await;
    let text =
        "<p class=\"field-error\" id=\"password-again-error\">The two passwords are not the same.";
    response.assert_page(422, text);
    assert!(response.text.contains("value=\"true\" required checked"), "{}", response.text);
    assert!(!response.text.contains("already taken"), "nothing is said about the name yet");
    let response = browser.submit(&page, SIGN_UP, &fields("alice", "correct horse")).await;
    response.assert_page(
        422,
        "<p class=\"field-error\" id=\"username-error\">This username is already taken.",
    );
    assert!(response.text.contains("value=\"carol@example.org\""));
}

/// Nobody can sign in with the address, so it is optional.
#[tokio::test]
async fn a_person_signs_up_without_an_email_address() {
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    let input = page.text.split("<input id=\"email\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(!input.contains("required"), "{input}");
    let mut entered = fields("carol", "correct horse");
    entered[1].1 = " ";
    assert_eq!(browser.submit(&page, SIGN_UP, &entered).await.header("location"), "/oauth/account");
    let account = service.store().account_by_name("carol").await.unwrap().unwrap();
    assert_eq!((account.email, account.unverified_email), (None, None));
    // The API demands one, as Mastodon does.
    let token = service.register_client().await.obtain_app_token("write").await;
    let http =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    entered[0].1 = "dave";
    let response =
        http.with_token(&token).send("POST /api/v1/accounts", encode_form(&entered)).await;
    let error = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["error"].clone();
    assert_eq!(error, json!("Validation failed: E-mail address can't be blank"));
}

/// Nobody is asked to accept rules that cannot be read.
#[tokio::test]
async fn rules_must_be_accepted_only_if_there_is_a_link_to_them() {
    let mut without_agreement = fields("carol", "correct horse");
    without_agreement[4].1 = "";
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    assert!(!page.text.contains("agreement"), "{}", page.text);
    assert_eq!(browser.submit(&page, SIGN_UP, &without_agreement).await.status, 303);

    let service = Service::start_with(config_with_rules()).await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    page.assert_page(
        200,
        "<a href=\"https://ring.example/rules\" target=\"_blank\" rel=\"noopener\">",
    );
    let rejected = browser.submit(&page, SIGN_UP, &without_agreement).await;
    rejected.assert_page(422, "Please accept the rules of this server.");
    let created = browser.submit(&rejected, SIGN_UP, &fields("carol", "correct horse")).await;
    assert_eq!(created.status, 303);
}

#[tokio::test]
async fn the_page_describes_valid_names_and_passwords_before_a_submit() {
    let page = Service::start().await.browser().get(SIGN_UP).await;
    for (field, hint) in [
        ("username", "Small letters from a to z, numbers and underscores, for example anna_b."),
        ("email", "Optional. The people who run this server can reach you there."),
        ("password", "At least 8 characters, and not a common password"),
    ] {
        page.assert_page(200, &format!("<p class=\"hint\" id=\"{field}-hint\">{hint}"));
        page.assert_page(200, &format!("aria-describedby=\"{field}-hint\""));
    }
}

/// The page reveals no more about names than the API, and no faster.
#[tokio::test]
async fn sign_ups_on_the_page_and_in_the_api_have_the_same_limit() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    // Invalid fields say nothing about other accounts and do not count.
    for _ in 0..10 {
        browser
            .submit(&page, SIGN_UP, &fields("alice", "short"))
            .await
            .assert_page(422, "at least 8");
    }
    for _ in 0..5 {
        let taken = browser.submit(&page, SIGN_UP, &fields("alice", "correct horse")).await;
        taken.assert_page(422, "This username is already taken.");
    }
    for name in ["alice", "free"] {
        let limited = browser.submit(&page, SIGN_UP, &fields(name, "correct horse")).await;
        limited.assert_page(429, "Too many attempts. Please try again in 30 minutes.");
        assert_eq!(limited.header("retry-after"), "1800");
        assert!(limited.text.contains(&format!("value=\"{name}\"")));
    }
    let client = service.register_client().await;
    let token = client.obtain_app_token("write").await;
    let http =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    let sign_up = encode_form(&fields("free", "correct horse"));
    let limited = http.with_token(&token).send("POST /api/v1/accounts", sign_up).await;
    assert_eq!(limited.status, 429);
    let mut elsewhere = Browser::new(service.anonymous_client().with_address(address(9)));
    assert_eq!(super::sign_up::sign_up(&mut elsewhere, "free").await.status, 303);
}

#[tokio::test]
async fn a_page_says_that_registration_is_closed() {
    let closed = |sign_up_url: Option<&str>| {
        let url = sign_up_url.map(|url| url.parse().unwrap());
        config_with(|config| {
            config.registration = RegistrationPolicy::Closed;
            config.instance.sign_up_url = url;
        })
    };
    let service = Service::start_with(closed(None)).await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    page.assert_page(403, "This server does not accept new accounts.");
    let sign_in = browser.get("/oauth/sign_in").await;
    assert!(!sign_in.text.contains("Create an account"));
    let csrf = sign_in.form("/oauth/sign_in")[0].1.clone();
    let mut with_csrf = fields("carol", "correct horse").to_vec();
    with_csrf.push(("csrf", &csrf));
    browser
        .post(SIGN_UP, &with_csrf)
        .await
        .assert_page(403, "This server does not accept new accounts.");
    assert_eq!(service.store().account_by_name("carol").await.unwrap(), None);
    let json =
        service.anonymous_client().with_header("accept", "application/json").get(SIGN_UP).await;
    let error = json.expect_json(StatusCode::FORBIDDEN)["error_description"].clone();
    assert_eq!(error, json!("Registration is closed on this server"));

    let service = Service::start_with(closed(Some("https://ring.example/join"))).await;
    let link = "<a href=\"https://ring.example/join\" rel=\"noreferrer\">Create an account</a>";
    service.browser().get("/oauth/sign_in").await.assert_page(200, link);
}

#[tokio::test]
async fn a_sign_up_from_another_site_is_rejected() {
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get(SIGN_UP).await;
    browser.fetch_site = Some("cross-site");
    let forged = browser.submit(&page, SIGN_UP, &fields("carol", "correct horse")).await;
    forged.assert_page(403, "This form could not be checked");
    browser.fetch_site = Some("same-origin");
    let forged = browser.post(SIGN_UP, &fields("carol", "correct horse")).await;
    forged.assert_page(403, "This form could not be checked");
    assert_eq!(service.store().account_by_name("carol").await.unwrap(), None);
}
