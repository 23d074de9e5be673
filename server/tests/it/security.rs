//! The pages for account security: password, e-mail address, sessions, tokens, data, deletion and
//! sign-up.

mod data;
mod deletion;
mod email;
mod password;
mod sessions;
mod sign_up;
mod tokens;

use belfry::config::Config;
use belfry_core::secret::SplitToken;
use belfry_store::AuditFilter;

use crate::support::{Browser, Service, TestDatabase, TestResponse, recorded_events};

const SECURITY_PATH: &str = "/oauth/account/security";
const PASSWORD_PATH: &str = "/oauth/account/security/password";

async fn start_with_defaults(database: TestDatabase) -> Service {
    Service::start_on(database, Config::default()).await
}

async fn sign_in(service: &Service, name: &str, user_agent: &str) -> Browser {
    Browser::new(service.anonymous_client().with_header("user-agent", user_agent))
        .sign_in_as(name)
        .await
}

/// Adds the accounts of Alice and Bob, and returns a browser with a session of Alice.
async fn sign_in_alice(service: &Service) -> Browser {
    for name in ["alice", "bob"] {
        service.add_account(name).await;
    }
    sign_in(service, "alice", FIREFOX).await
}

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SAFARI: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 \
                      (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

/// Returns the events of an account: kind, outcome, count and detail. Sorted, because events within
/// one second have no order.
async fn read_events(service: &Service, name: &str) -> Vec<String> {
    service.state.audit.flush(service.store()).await.unwrap();
    let account = service.store().account_by_name(name).await.unwrap().map(|account| account.id);
    let filter = AuditFilter { account, ..recorded_events() };
    let events = service.store().audit_events(filter, 100).await.unwrap().into_iter();
    let mut events: Vec<String> = events
        .map(|event| {
            let detail = event.detail.map_or_else(String::new, |detail| format!(" ({detail})"));
            format!("{} {} {}{detail}", event.kind, event.outcome, event.count)
        })
        .collect();
    events.sort();
    events
}

/// Returns the lookup key in a cookie or token. Forms identify sessions and tokens by it.
fn lookup_key(secret: &str) -> String {
    SplitToken::parse(secret).unwrap().hashed_secret().lookup_key.to_text()
}

/// Returns whether a browser is signed in.
async fn is_signed_in(browser: &mut Browser) -> bool {
    browser.get(SECURITY_PATH).await.status == 200
}

async fn change_password(
    browser: &mut Browser,
    page: &TestResponse,
    current_password: &str,
    new_password: &str,
) -> TestResponse {
    let fields = [
        ("current_password", current_password),
        ("new_password", new_password),
        ("password_again", new_password),
    ];
    browser.submit(page, PASSWORD_PATH, &fields).await
}

/// The forms of the security page, and the token form of the account page, with their fields except
/// the CSRF token.
const FORMS: [(&str, &[(&str, &str)]); 8] = [
    (
        PASSWORD_PATH,
        &[
            ("current_password", "correct horse alice"),
            ("new_password", "a new password"),
            ("password_again", "a new password"),
        ],
    ),
    (
        "/oauth/account/security/email",
        &[("email", "new@example.org"), ("current_password", "correct horse alice")],
    ),
    ("/oauth/account/security/end_session", &[("session", "0")]),
    ("/oauth/account/security/end_other_sessions", &[]),
    ("/oauth/account/security/download", &[]),
    ("/oauth/account/security/delete", &[("password", "correct horse alice")]),
    ("/oauth/account/security/keep", &[]),
    ("/oauth/account/revoke_token", &[("token", "0")]),
];

#[tokio::test]
async fn no_form_is_accepted_from_another_site_or_without_the_csrf_token() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let csrf_token = browser.get(SECURITY_PATH).await.hidden_fields(PASSWORD_PATH)[0].1.clone();
    for (action, fields) in FORMS {
        let response = browser.post(action, fields).await;
        response.assert_page(403, "This form could not be checked");
        let mut fields = fields.to_vec();
        fields.push(("csrf", &csrf_token));
        browser.fetch_site = Some("cross-site");
        browser.post(action, &fields).await.assert_page(403, "This form could not be checked");
        browser.fetch_site = Some("same-origin");
        let response = browser.get(action).await;
        assert_eq!(response.status, 405, "{action}");
    }
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(account.delete_at, None);
    assert_eq!(read_events(&service, "alice").await, ["sign_in success 1"]);
}

/// The user learns that nothing was changed, and returns to the page after signing in.
#[tokio::test]
async fn a_form_submitted_after_the_session_expired_reports_that_nothing_was_saved() {
    let service = Service::start().await;
    service.add_account("alice").await;
    for (action, fields) in FORMS {
        let mut browser = sign_in(&service, "alice", FIREFOX).await;
        let mut fields = fields.to_vec();
        let csrf_token = browser.get(SECURITY_PATH).await.hidden_fields(PASSWORD_PATH)[0].1.clone();
        fields.push(("csrf", &csrf_token));
        service.clock.advance(15 * 86_400);
        let response = browser.post(action, &fields).await;
        assert_eq!(response.status, 303, "{action}");
        let page = browser.follow(&response).await;
        // The download would not have saved anything.
        if action != "/oauth/account/security/download" {
            page.assert_page(200, "Nothing was saved, because you were no longer signed in.");
        }
        let returned_page = browser.sign_in(&page, "alice").await;
        let title = if action.contains("security") { "Security" } else { "Your account" };
        returned_page.assert_page(200, &format!("<h1>{title}</h1>"));
    }
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(account.delete_at, None);
    let events = read_events(&service, "alice").await;
    assert!(events.iter().all(|event| event.starts_with("sign_in success")), "{events:?}");
}

#[tokio::test]
async fn a_signed_out_user_signs_in_and_returns_to_the_security_page() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let response = browser.get(SECURITY_PATH).await;
    let page = browser.follow(&response).await;
    browser.sign_in(&page, "alice").await.assert_page(200, "<h1>Security</h1>");
}
