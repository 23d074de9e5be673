//! Signing in and out, and sessions.

use std::time::Duration;

use belfry::config::Sessions;
use belfry::store::ExistingAccess;

use crate::support::caller::address;
use crate::support::client::CALLBACK;
use crate::support::service::config;
use crate::support::{Answer, Browser, Client, Service};

pub(super) async fn with_alice() -> (Service, Client, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let (client, browser) = (service.client().await, service.browser());
    (service, client, browser)
}

pub(super) async fn try_in(
    browser: &mut Browser,
    page: &Answer,
    name: &str,
    password: &str,
) -> Answer {
    let fields = [("username", name), ("password", password)];
    browser.submit(page, "/oauth/sign_in", &fields).await
}

/// Whether somebody is signed in.
async fn is_signed_in(browser: &mut Browser) -> bool {
    browser.get("/oauth/account").await.text.contains("@alice:ring.example")
}

async fn signed_in(service: &Service) -> Browser {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await.page(200, "@alice:ring.example");
    browser
}

// Attack 112.
#[tokio::test]
async fn a_wrong_password_an_unknown_name_and_a_disabled_account_look_the_same() {
    let (service, client, mut browser) = with_alice().await;
    let bob = service.add_account("bob").await;
    service.store().disable_account(bob, Some(service.now())).await.unwrap();
    let page = browser.get(&client.authorize(&[])).await;
    let mut seen = Vec::new();
    for (name, password) in [
        ("alice", "wrong"),
        ("nobody", "wrong"),
        ("nobody@example.org", "wrong"),
        ("bob", "correct horse bob"),
        ("alice", ""),
        ("", ""),
        // Attack 114: not hashed at all.
        ("alice", &*"x".repeat(60_000)),
    ] {
        let answer = try_in(&mut browser, &page, name, password).await;
        answer.page(401, "The name or the password is wrong");
        assert_eq!(answer.header("www-authenticate"), "", "a browser would ask for it itself");
        seen.push(answer.text.replace(&format!("value=\"{name}\""), "").replace(" autofocus", ""));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:#?}");
    // The page that came back works.
    let again = try_in(&mut browser, &page, "alice", "wrong").await;
    browser.sign_in(&again, "alice").await.page(200, "name=\"decision\"");
}

#[tokio::test]
async fn one_signs_in_by_name_or_by_address_however_it_is_capitalised() {
    let service = Service::start().await;
    service.add_account("alice").await;
    for name in ["alice", "Alice", " alice ", "alice@example.org", "Alice@Example.org"] {
        let mut browser = service.browser();
        let page = browser.get("/oauth/sign_in").await;
        let answer = try_in(&mut browser, &page, name, "correct horse alice").await;
        assert_eq!(answer.status, 303, "{name}");
        assert!(is_signed_in(&mut browser).await);
    }
}

// Attack 101.
#[tokio::test]
async fn the_cookie_is_for_this_host_over_https_and_for_no_script() {
    let (_service, client, mut browser) = with_alice().await;
    let answer = browser.get(&client.authorize(&[])).await;
    let cookie = answer.header("set-cookie");
    let (value, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(value.strip_prefix("__Host-belfry=").unwrap().len(), 51);
    assert_eq!(attributes, " Path=/; Max-Age=7776000; HttpOnly; SameSite=Lax; Secure");

    let plain = config(|config| config.base_url = Some("http://ring.example".parse().unwrap()));
    let service = Service::with(plain).await;
    let cookie = service.anyone().get("/oauth/sign_in").await.header("set-cookie").to_owned();
    assert!(cookie.starts_with("belfry=") && !cookie.contains("Secure"), "{cookie}");
}

// Attacks 102 and 103.
#[tokio::test]
async fn a_sign_in_gives_another_cookie_and_the_old_one_is_nobodys() {
    let (service, _client, mut browser) = with_alice().await;
    let page = browser.get("/oauth/sign_in").await;
    // An attacker knows this one, or has even set it.
    let before = browser.cookie().to_owned();
    browser.sign_in(&page, "alice").await.page(200, "@alice:ring.example");
    assert_ne!(browser.cookie(), before);
    let mut attacker = service.browser();
    attacker.cookies.insert("__Host-belfry".to_owned(), before);
    assert!(!is_signed_in(&mut attacker).await);
    // Two cookies of one name: one of them is not ours.
    let value = browser.cookie();
    let twice = format!("__Host-belfry={value}; __Host-belfry={value}");
    let answer = service.anyone().with("cookie", &twice).get("/oauth/account").await;
    assert_eq!(answer.header("location"), "/oauth/sign_in");
}

// Attacks 95 and 96.
#[tokio::test]
async fn a_form_of_another_site_does_nothing() {
    let (service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let (request, alice) = (page.form("/oauth/sign_in")[1].1.clone(), "correct horse alice");
    // The attacker's own page has a token that is good in the attacker's browser.
    let mut attacker = service.browser();
    let own = attacker.get(&client.authorize(&[])).await.form("/oauth/sign_in");
    for (csrf, request) in [("", &*request), ("x", &*request), (&*own[0].1, &*own[1].1)] {
        let fields =
            [("csrf", csrf), ("request", request), ("username", "alice"), ("password", alice)];
        browser.post("/oauth/sign_in", &fields).await.page(403, "could not be checked");
    }
    // With the right token, but from another site.
    for site in ["cross-site", "same-site"] {
        browser.fetch_site = Some(site);
        try_in(&mut browser, &page, "alice", alice).await.page(403, "could not be checked");
    }
    // A browser that says nothing: the token protects, and lets in.
    browser.fetch_site = None;
    let page = browser.sign_in(&page, "alice").await;
    browser.fetch_site = Some("cross-site");
    browser.decide(&page, "allow").await.page(403, "could not be checked");
    browser.submit(&page, "/oauth/sign_out", &[]).await.page(403, "could not be checked");
    browser.post("/oauth/sign_out", &[("csrf", "x")]).await.page(403, "could not be checked");
    // A browser that sends no cookie has none that a token could be made from.
    browser.cookies.clear();
    browser.fetch_site = Some("same-origin");
    browser.decide(&page, "allow").await.page(403, "could not be checked");
}

// Attack 104.
#[tokio::test]
async fn who_signs_out_is_out_and_a_link_signs_nobody_out() {
    let (service, _client, _) = with_alice().await;
    let mut browser = signed_in(&service).await;
    let old = browser.cookie().to_owned();
    browser.get("/oauth/sign_out").await;
    assert!(is_signed_in(&mut browser).await);
    let page = browser.get("/oauth/account").await;
    let out = browser.submit(&page, "/oauth/sign_out", &[]).await;
    browser.follow(&out).await.page(200, "You are signed out");
    assert!(!is_signed_in(&mut browser).await);
    browser.cookies.insert("__Host-belfry".to_owned(), old);
    assert!(!is_signed_in(&mut browser).await);
}

// Attack 104.
#[tokio::test]
async fn another_password_ends_the_sessions() {
    let (service, _client, _) = with_alice().await;
    let mut browser = signed_in(&service).await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap();
    service.store().set_password(alice.id, &alice.password, ExistingAccess::Keep).await.unwrap();
    assert!(!is_signed_in(&mut browser).await);
}

// Attack 105.
#[tokio::test]
async fn a_session_ends_when_it_is_not_used_and_when_it_is_old() {
    let short = config(|config| {
        config.sessions = Sessions {
            idle_timeout: Duration::from_secs(1000),
            absolute_timeout: Duration::from_mins(50),
        };
    });
    let service = Service::with(short).await;
    service.add_account("alice").await;
    let mut idle = signed_in(&service).await;
    let mut busy = signed_in(&service).await;
    let steps = [
        (900, None, true),
        (99, None, true),
        (1, Some(false), true),
        (900, None, true),
        (900, None, true),
        (199, None, true),
        (1, None, false),
    ];
    for (seconds, idle_lives, busy_lives) in steps {
        service.clock.advance(seconds);
        if let Some(lives) = idle_lives {
            assert_eq!(is_signed_in(&mut idle).await, lives);
        }
        assert_eq!(is_signed_in(&mut busy).await, busy_lives, "after {seconds} s more");
    }
}

// Attacks 108 and 109.
#[tokio::test]
async fn a_sign_in_leads_to_a_page_of_ours_with_a_get() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[])).await;
    let more = [
        ("username", "alice"),
        ("password", "correct horse alice"),
        ("return_to", "//evil.example"),
        ("next", "https://evil.example"),
    ];
    let answer = browser.submit(&page, "/oauth/sign_in", &more).await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").starts_with("/oauth/authorize/resume?request="));
    for evil in ["//evil.example", "https:evil.example", "/\\evil.example"] {
        let fields = [("csrf", ""), ("request", evil)];
        assert_eq!(browser.post("/oauth/sign_in", &fields).await.header("location"), "");
        let path =
            crate::support::browser::with_query("/oauth/authorize/resume", &[("request", evil)]);
        browser.get(&path).await.page(400, "no longer open");
    }
}

#[tokio::test]
async fn a_language_that_the_page_was_asked_in_stays_through_a_wrong_password_and_a_sign_in() {
    let (_service, _client, mut browser) = with_alice().await;
    let page = browser.get("/oauth/sign_in?lang=de").await;
    let action = "/oauth/sign_in?lang=de";
    let fields = |password| [("username", "alice"), ("password", password)];
    let again = browser.submit(&page, action, &fields("wrong")).await;
    again.page(401, "<html lang=\"de\"");
    let welcome = browser.submit(&again, action, &fields("correct horse alice")).await;
    browser.follow(&welcome).await.page(200, "<html lang=\"de\"");
    browser.get("/oauth/account").await.page(200, "<html lang=\"de\"");
    // What is no language is no wish, and goes nowhere.
    let page = browser.get("/oauth/account?lang=%22%3E%3Cscript%3E").await;
    page.page(200, "action=\"/oauth/sign_out\"");
    // Who wishes for another sees it to the end.
    let page = browser.get("/oauth/account?lang=fr").await;
    let remove = "/oauth/account/remove_app?lang=fr";
    page.page(200, "action=\"/oauth/sign_out?lang=fr\"");
    let out = browser.submit(&page, "/oauth/sign_out?lang=fr", &[]).await;
    let signed_out = browser.follow(&out).await;
    signed_out.page(200, "<html lang=\"fr\"");
    signed_out.page(200, "href=\"/oauth/sign_in?lang=fr\"");
    browser.post(remove, &[]).await.page(403, "<html lang=\"fr\"");
}

#[tokio::test]
async fn a_language_that_was_chosen_stays_with_the_session() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[("lang", "ar")])).await;
    page.page(200, "<html lang=\"ar\" dir=\"rtl\"");
    browser.sign_in(&page, "alice").await.page(200, "<html lang=\"ar\"");
    browser.get("/oauth/account").await.page(200, "<html lang=\"ar\"");
    // A request may still wish for another; attack 32: what is no language is no wish.
    browser.get(&client.authorize(&[("lang", "fr")])).await.page(200, "<html lang=\"fr\"");
    browser.get(&client.authorize(&[("lang", "<script>")])).await.page(200, "<html lang=\"ar\"");
}

#[tokio::test]
async fn two_accounts_can_let_one_app_in() {
    let (service, client, mut browser) = with_alice().await;
    service.add_account("bob").await;
    let mut names = Vec::new();
    for name in ["alice", "bob"] {
        let page = browser.get(&client.authorize(&[("force_login", "true")])).await;
        let page = browser.sign_in(&page, name).await;
        let code = browser.decide(&page, "allow").await.redirected(CALLBACK)["code"].clone();
        let token = client.spend(&code, &[]).await.json();
        let person = service.anyone().bearing(token["access_token"].as_str().unwrap());
        let account = person.get("/api/v1/accounts/verify_credentials").await.json();
        names.push(account["username"].as_str().unwrap().to_owned());
    }
    assert_eq!(names, ["alice", "bob"]);
}

// Attacks 112 and 117.
#[tokio::test]
async fn too_many_attempts_from_one_address_are_refused_there_and_nowhere_else() {
    let (service, _client, mut browser) = with_alice().await;
    let page = browser.get("/oauth/sign_in").await;
    for attempt in 0..25 {
        // An unknown name counts like a known one.
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        assert_eq!(try_in(&mut browser, &page, name, "wrong").await.status, 401);
    }
    let right = "correct horse alice";
    let refused = try_in(&mut browser, &page, "alice", right).await;
    refused.page(429, "Too many attempts. Please try again in 5 minutes.");
    assert_eq!(refused.header("retry-after"), "300");
    // The limit that refused is the one that the headers tell of.
    assert_eq!(refused.header("x-ratelimit-limit"), "25");
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert_eq!(refused.header("x-ratelimit-reset"), "2027-01-15T08:05:00.000Z");
    let told = r#""ip";r=272;t=300, "sign_in_address";r=0;t=300, "sign_in_name";r=12;t=3600"#;
    assert_eq!(refused.header("ratelimit"), told);
    let policy = r#""ip";q=300;w=300, "sign_in_address";q=25;w=300, "sign_in_name";q=25;w=3600"#;
    assert_eq!(refused.header("ratelimit-policy"), policy);
    let mut elsewhere = Browser::new(service.anyone().at(address(9)));
    let page = elsewhere.get("/oauth/sign_in").await;
    elsewhere.sign_in(&page, "alice").await.page(200, "@alice:ring.example");
    service.clock.advance(300);
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await.page(200, "@alice:ring.example");
}
