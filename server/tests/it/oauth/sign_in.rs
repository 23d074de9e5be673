//! Signing in and out, and sessions.

use std::time::Duration;

use belfry::config::SessionSettings;

use super::start_with_alice;
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{Browser, Service, TestResponse, any_events};

pub(super) async fn try_sign_in(
    browser: &mut Browser,
    page: &TestResponse,
    name: &str,
    password: &str,
) -> TestResponse {
    let fields = [("username", name), ("password", password)];
    browser.submit(page, "/oauth/sign_in", &fields).await
}

/// Returns whether the browser has a session.
async fn is_signed_in(browser: &mut Browser) -> bool {
    browser.get("/oauth/account").await.text.contains("@alice:ring.example")
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_get_the_same_page() {
    let (service, client, mut browser) = start_with_alice().await;
    let bob = service.add_account("bob").await;
    service.store().set_account_disabled_at(&any_events(), bob, Some(service.now())).await.unwrap();
    let page = browser.get(&client.authorize_path(&[])).await;
    let mut pages = Vec::new();
    for (name, password) in [
        ("alice", "wrong"),
        ("nobody", "wrong"),
        ("nobody@example.org", "wrong"),
        ("bob", "wrong"),
        ("alice", ""),
        ("", ""),
        // Too long to be hashed.
        ("alice", &*"x".repeat(60_000)),
    ] {
        let response = try_sign_in(&mut browser, &page, name, password).await;
        response.assert_page(401, "The name or the password is wrong");
        assert_eq!(
            response.header("www-authenticate"),
            "",
            "a challenge would open the browser's password dialog"
        );
        let text =
            response.text.replace(&format!("value=\"{name}\""), "").replace(" autofocus", "");
        // The advice depends only on the text that was entered.
        let advice = " If you signed up here, use your username instead of the e-mail address.";
        assert_eq!(text.contains(advice), name.contains('@'), "{name}");
        pages.push(text.replace(advice, ""));
    }
    pages.dedup();
    assert_eq!(pages.len(), 1, "{pages:#?}");
    // The form on the error page can be submitted.
    let error_page = try_sign_in(&mut browser, &page, "alice", "wrong").await;
    browser.sign_in(&error_page, "alice").await.assert_page(200, "name=\"decision\"");
}

#[tokio::test]
async fn with_the_right_password_the_page_says_that_the_account_is_disabled() {
    let (service, client, mut browser) = start_with_alice().await;
    let bob = service.add_account("bob").await;
    service.store().set_account_disabled_at(&any_events(), bob, Some(service.now())).await.unwrap();
    let page = browser.get(&client.authorize_path(&[])).await;
    let response = try_sign_in(&mut browser, &page, "bob", "correct horse bob").await;
    response.assert_page(403, "This account is disabled.");
    // The attempt counts like one with a wrong password.
    assert!(response.header("ratelimit").contains("\"sign_in_name\";r=24;"), "{response:?}");
    browser.sign_in(&response, "alice").await.assert_page(200, "name=\"decision\"");
}

#[tokio::test]
async fn name_and_email_address_are_case_insensitive_at_sign_in() {
    let service = Service::start().await;
    service.add_account("alice").await;
    for name in ["alice", "Alice", " alice ", "alice@example.org", "Alice@Example.org"] {
        let mut browser = service.browser();
        let page = browser.get("/oauth/sign_in").await;
        let response = try_sign_in(&mut browser, &page, name, "correct horse alice").await;
        assert_eq!(response.status, 303, "{name}");
        assert!(is_signed_in(&mut browser).await);
    }
}

#[tokio::test]
async fn the_session_cookie_is_host_only_secure_and_http_only() {
    let (_service, client, mut browser) = start_with_alice().await;
    let response = browser.get(&client.authorize_path(&[])).await;
    let cookie = response.header("set-cookie");
    let (value, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(value.strip_prefix("__Host-belfry=").unwrap().len(), 64);
    assert_eq!(attributes, " Path=/; Max-Age=7776000; HttpOnly; SameSite=Lax; Secure");

    let http_config =
        config_with(|config| config.base_url = Some("http://ring.example".parse().unwrap()));
    let service = Service::start_with(http_config).await;
    let cookie =
        service.anonymous_client().get("/oauth/sign_in").await.header("set-cookie").to_owned();
    assert!(cookie.starts_with("belfry=") && !cookie.contains("Secure"), "{cookie}");
}

// Session fixation.
#[tokio::test]
async fn a_sign_in_issues_a_new_cookie_and_invalidates_the_old_one() {
    let (service, _client, mut browser) = start_with_alice().await;
    let page = browser.get("/oauth/sign_in").await;
    // An attacker may know or even have set this cookie.
    let old_cookie = browser.session_cookie().to_owned();
    browser.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
    assert_ne!(browser.session_cookie(), old_cookie);
    let mut attacker = service.browser();
    attacker.cookies.insert("__Host-belfry".to_owned(), old_cookie);
    assert!(!is_signed_in(&mut attacker).await);
    // If the cookie is sent twice, an attacker may have set one of them.
    let value = browser.session_cookie();
    let repeated_cookie = format!("__Host-belfry={value}; __Host-belfry={value}");
    let response = service
        .anonymous_client()
        .with_header("cookie", &repeated_cookie)
        .get("/oauth/account")
        .await;
    assert_eq!(response.header("location"), "/oauth/sign_in");
}

// Cross-site request forgery, including sign-in.
#[tokio::test]
async fn a_form_from_another_site_is_rejected() {
    let (service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let request = page.hidden_fields("/oauth/sign_in")[1].1.clone();
    let password = "correct horse alice";
    // A CSRF token that is valid in the attacker's browser.
    let mut attacker = service.browser();
    let attacker_fields =
        attacker.get(&client.authorize_path(&[])).await.hidden_fields("/oauth/sign_in");
    for (csrf, request) in
        [("", &*request), ("x", &*request), (&*attacker_fields[0].1, &*attacker_fields[1].1)]
    {
        let fields =
            [("csrf", csrf), ("request", request), ("username", "alice"), ("password", password)];
        browser.post("/oauth/sign_in", &fields).await.assert_page(403, "could not be checked");
    }
    // A valid CSRF token, but from another site.
    for site in ["cross-site", "same-site"] {
        browser.fetch_site = Some(site);
        try_sign_in(&mut browser, &page, "alice", password)
            .await
            .assert_page(403, "could not be checked");
    }
    // Without Sec-Fetch-Site and Origin the CSRF token suffices.
    browser.fetch_site = None;
    let page = browser.sign_in(&page, "alice").await;
    browser.fetch_site = Some("cross-site");
    browser.decide(&page, "allow").await.assert_page(403, "could not be checked");
    browser.submit(&page, "/oauth/sign_out", &[]).await.assert_page(403, "could not be checked");
    browser
        .post("/oauth/sign_out", &[("csrf", "x")])
        .await
        .assert_page(403, "could not be checked");
    browser.fetch_site = Some("same-origin");
    for path in [
        "/oauth/account/remove_app",
        "/oauth/account/devices",
        "/oauth/account/security/password",
        "/oauth/account/security/delete",
    ] {
        browser.post(path, &[("csrf", "x")]).await.assert_page(403, "could not be checked");
    }
    service.browser().post("/oauth/sign_up", &[]).await.assert_page(403, "could not be checked");
    // Without a cookie no CSRF token is valid.
    browser.cookies.clear();
    browser.decide(&page, "allow").await.assert_page(403, "could not be checked");
}

#[tokio::test]
async fn signing_out_ends_the_session_and_requires_a_post() {
    let (service, _client, _) = start_with_alice().await;
    let mut browser = service.browser().sign_in_as("alice").await;
    let old_cookie = browser.session_cookie().to_owned();
    browser.get("/oauth/sign_out").await;
    assert!(is_signed_in(&mut browser).await);
    let page = browser.get("/oauth/account").await;
    let response = browser.submit(&page, "/oauth/sign_out", &[]).await;
    browser.follow(&response).await.assert_page(200, "You are signed out");
    assert!(!is_signed_in(&mut browser).await);
    browser.cookies.insert("__Host-belfry".to_owned(), old_cookie);
    assert!(!is_signed_in(&mut browser).await);
}

#[tokio::test]
async fn a_session_expires_when_idle_and_at_its_maximum_age() {
    let short_sessions = config_with(|config| {
        config.sessions = SessionSettings {
            idle_timeout: Duration::from_secs(1000),
            absolute_timeout: Duration::from_mins(50),
        };
    });
    let service = Service::start_with(short_sessions).await;
    service.add_account("alice").await;
    let mut idle_browser = service.browser().sign_in_as("alice").await;
    let mut busy_browser = service.browser().sign_in_as("alice").await;
    let steps = [
        (900, None, true),
        (99, None, true),
        (1, Some(false), true),
        (900, None, true),
        (900, None, true),
        (199, None, true),
        (1, None, false),
    ];
    for (seconds, idle_is_signed_in, busy_is_signed_in) in steps {
        service.clock.advance(seconds);
        if let Some(expected) = idle_is_signed_in {
            assert_eq!(is_signed_in(&mut idle_browser).await, expected);
        }
        assert_eq!(
            is_signed_in(&mut busy_browser).await,
            busy_is_signed_in,
            "after {seconds} s more"
        );
    }
}

// Prevents open redirects. A 307 redirect would also forward the password.
#[tokio::test]
async fn a_sign_in_redirects_with_303_and_only_within_this_server() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[])).await;
    let fields = [
        ("username", "alice"),
        ("password", "correct horse alice"),
        ("return_to", "//evil.example"),
        ("next", "https://evil.example"),
    ];
    let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
    assert_eq!(response.status, 303);
    assert!(response.header("location").starts_with("/oauth/authorize/resume?request="));
    for evil_url in ["//evil.example", "https:evil.example", "/\\evil.example"] {
        let fields = [("csrf", ""), ("request", evil_url)];
        assert_eq!(browser.post("/oauth/sign_in", &fields).await.header("location"), "");
        let path = crate::support::browser::with_query(
            "/oauth/authorize/resume",
            &[("request", evil_url)],
        );
        browser.get(&path).await.assert_page(400, "no longer open");
    }
}

#[tokio::test]
async fn sign_in_attempts_are_limited_per_address() {
    let (service, _client, mut browser) = start_with_alice().await;
    let page = browser.get("/oauth/sign_in").await;
    for attempt in 0..25 {
        // Attempts with unknown names count as well.
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        assert_eq!(try_sign_in(&mut browser, &page, name, "wrong").await.status, 401);
    }
    let right_password = "correct horse alice";
    let rejection = try_sign_in(&mut browser, &page, "alice", right_password).await;
    rejection.assert_page(429, "Too many attempts. Please try again in 5 minutes.");
    assert_eq!(rejection.header("retry-after"), "300");
    // The headers report the limit that was exceeded.
    assert_eq!(rejection.header("x-ratelimit-limit"), "25");
    assert_eq!(rejection.header("x-ratelimit-remaining"), "0");
    assert_eq!(rejection.header("x-ratelimit-reset"), "2027-01-15T08:05:00.000Z");
    let expected = r#""ip";r=272;t=300, "sign_in_address";r=0;t=300, "sign_in_name";r=12;t=3600"#;
    assert_eq!(rejection.header("ratelimit"), expected);
    let policy = r#""ip";q=300;w=300, "sign_in_address";q=25;w=300, "sign_in_name";q=25;w=3600"#;
    assert_eq!(rejection.header("ratelimit-policy"), policy);
    let mut browser_elsewhere =
        Browser::new(service.anonymous_client().with_address(documentation_address(9)));
    let page = browser_elsewhere.get("/oauth/sign_in").await;
    browser_elsewhere.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
    service.clock.advance(300);
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
}
