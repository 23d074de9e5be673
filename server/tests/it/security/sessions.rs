//! The sessions of an account on the security page.

use super::{
    FIREFOX, SAFARI, SECURITY_PATH, is_signed_in, lookup_key, read_events, sign_in, sign_in_alice,
};
use crate::support::browser::visible_text;
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const END_SESSION_PATH: &str = "/oauth/account/security/end_session";
const END_OTHER_SESSIONS_PATH: &str = "/oauth/account/security/end_other_sessions";

/// Returns the ids of the sessions on a page, in order.
fn session_ids_on(page: &TestResponse) -> Vec<String> {
    let buttons = page.text.split("name=\"session\" value=\"").skip(1);
    buttons.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

async fn sessions_are_listed_with_browser_and_last_use(service: Service) {
    let mut phone_browser = {
        service.add_account("alice").await;
        service.add_account("bob").await;
        sign_in(&service, "alice", SAFARI).await
    };
    service.clock.advance(5 * 3600);
    let mut unknown_browser = sign_in(&service, "alice", "<b>Evil</b>/1.0").await;
    sign_in(&service, "bob", FIREFOX).await;
    service.clock.advance(49 * 3600);
    let mut browser = sign_in(&service, "alice", FIREFOX).await;
    let text = visible_text(&browser.get(SECURITY_PATH).await);
    let expected = "Where you are signed in|\
        Firefox on Linux|This browser|Signed in on|2027-01-17 14:00 UTC|·|192.0.2.x|Used in the last hour|Sign out|\
        Unknown browser|Signed in on|2027-01-15 13:00 UTC|·|192.0.2.x|Last used 2 days ago|Sign out|\
        Safari on iPhone|Signed in on|2027-01-15 08:00 UTC|·|192.0.2.x|Last used 2 days ago|Sign out|\
        Sign out everywhere else|Your data";
    assert!(text.contains(expected), "{text}");
    // Each browser's own session is marked in its list, and comes first.
    phone_browser.get(SECURITY_PATH).await;
    service.clock.advance(2 * 3600);
    assert!(is_signed_in(&mut unknown_browser).await);
    let text = visible_text(&phone_browser.get(SECURITY_PATH).await);
    let expected = "Where you are signed in|\
        Safari on iPhone|This browser|Signed in on|2027-01-15 08:00 UTC|·|192.0.2.x|Used in the last hour";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_page_is_displayed_even_if_its_sessions_last_use_cannot_be_stored() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    service.execute_sql(
        "create trigger full_disk before update on sessions begin select raise(fail, 'full'); end",
    );
    service.clock.advance(3600);
    let page = browser.get(SECURITY_PATH).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(is_signed_in(&mut browser).await);
}

async fn one_session_or_all_other_sessions_can_be_ended(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let mut bobs_browser = sign_in(&service, "bob", FIREFOX).await;
    let mut other_browsers = Vec::new();
    for _ in 0..3 {
        service.clock.advance(60);
        other_browsers.push(sign_in(&service, "alice", SAFARI).await);
    }
    service.clock.advance(60);
    let page = browser.get(SECURITY_PATH).await;
    let session_ids = session_ids_on(&page);
    assert_eq!(session_ids.len(), 4);
    // The session of another account is not ended, whatever the form says.
    let bobs_session_id = session_ids_on(&bobs_browser.get(SECURITY_PATH).await).remove(0);
    browser.submit(&page, END_SESSION_PATH, &[("session", &bobs_session_id)]).await;
    assert!(is_signed_in(&mut bobs_browser).await);

    // The list begins with the session of this browser, followed by the most recently used one.
    for _ in 0..2 {
        let response =
            browser.submit(&page, END_SESSION_PATH, &[("session", &session_ids[1])]).await;
        let page = browser.follow(&response).await;
        page.assert_page(200, "That browser is signed out.");
        assert_eq!(session_ids_on(&page).len(), 3);
    }
    assert!(
        !is_signed_in(&mut other_browsers[2]).await && is_signed_in(&mut other_browsers[1]).await
    );

    let response = browser.submit(&page, END_OTHER_SESSIONS_PATH, &[]).await;
    let page = browser.follow(&response).await;
    page.assert_page(200, "All other browsers are signed out.");
    assert_eq!(session_ids_on(&page).len(), 1);
    assert!(!page.text.contains("Sign out everywhere else"));
    for other_browser in &mut other_browsers {
        assert!(!is_signed_in(other_browser).await);
    }
    assert!(is_signed_in(&mut browser).await && is_signed_in(&mut bobs_browser).await);
    let events = read_events(&service, "alice").await;
    let sign_outs =
        ["sign_out success 1 (another session)", "sign_out success 2 (another session)"];
    assert_eq!(events[4..], sign_outs, "{events:?}");
}

on_both_engines! {
    crate::security::start_with_defaults:
    sessions_are_listed_with_browser_and_last_use,
    one_session_or_all_other_sessions_can_be_ended,
}

#[tokio::test]
async fn ending_a_browsers_own_session_signs_it_out() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    let session_id = session_ids_on(&page).remove(0);
    let response = browser.submit(&page, END_SESSION_PATH, &[("session", &session_id)]).await;
    browser.follow(&response).await.assert_page(200, "You are signed out");
    assert!(!is_signed_in(&mut browser).await);
}

/// The sign-in page explains why the user has to sign in again.
#[tokio::test]
async fn the_sign_in_page_reports_an_ended_session_once() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let notice = "Your session in this browser has ended,";
    let shows_notice = async |browser: &mut Browser, path: &str| {
        let mut page = browser.get(path).await;
        while page.status == 303 {
            page = browser.follow(&page).await;
        }
        page.assert_page(200, "<h1>Sign in</h1>");
        page.text.contains(notice)
    };
    let client = service.register_client().await;
    for path in [SECURITY_PATH, "/oauth/sign_in", &*client.authorize_path(&[])] {
        let mut other_browser = sign_in(&service, "alice", SAFARI).await;
        let page = browser.get(SECURITY_PATH).await;
        browser.submit(&page, END_OTHER_SESSIONS_PATH, &[]).await;
        assert!(shows_notice(&mut other_browser, path).await, "{path}");
        assert!(!shows_notice(&mut other_browser, path).await, "{path}");
        assert!(!other_browser.cookies.contains_key("__Host-belfry-signed-in"));
    }
    // Neither a browser without a session nor one that was signed out has lost a session.
    let mut new_browser = service.browser();
    for _ in 0..2 {
        assert!(!shows_notice(&mut new_browser, SECURITY_PATH).await);
    }
    let page = browser.get("/oauth/account").await;
    browser.submit(&page, "/oauth/sign_out", &[]).await;
    assert!(!shows_notice(&mut browser, SECURITY_PATH).await);
}

/// The list still contains a session that has ended since the page was loaded.
#[tokio::test]
async fn a_form_on_a_stale_list_ends_no_other_session() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let mut other_browser = sign_in(&service, "alice", SAFARI).await;
    let stale_page = browser.get(SECURITY_PATH).await;
    let ended_session_id = lookup_key(other_browser.session_cookie());
    assert!(session_ids_on(&stale_page).contains(&ended_session_id));
    let page = other_browser.get("/oauth/account").await;
    other_browser.submit(&page, "/oauth/sign_out", &[]).await;
    for value in [&*ended_session_id, "", "nonsense", &"f".repeat(1000)] {
        let response = browser.submit(&stale_page, END_SESSION_PATH, &[("session", value)]).await;
        browser.follow(&response).await.assert_page(200, "That browser is signed out.");
    }
    assert!(is_signed_in(&mut browser).await);
}

#[tokio::test]
async fn a_bounded_number_of_sessions_is_listed() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    service.execute_sql(
        "insert into sessions (lookup, digest, account_id, methods, authenticated_at, created_at, \
         seen_at, expires_at) \
         with recursive n (i) as (select 1 union all select i + 1 from n where i < 60) \
         select substr('00000000000000000000000000000000' || i, -32), '-', \
         (select id from accounts where name = 'alice'), 'pwd', 1, 1, 1, 1900000000 from n",
    );
    let page = browser.get(SECURITY_PATH).await;
    page.assert_page(200, "Only the 50 used last are shown here.");
    assert_eq!(session_ids_on(&page).len(), 50);
    let response = browser.submit(&page, END_OTHER_SESSIONS_PATH, &[]).await;
    let page = browser.follow(&response).await;
    assert_eq!(session_ids_on(&page).len(), 1);
}

/// Time of the last use is stored once a minute, not with every request.
#[tokio::test]
async fn requests_within_a_minute_do_not_update_the_last_use() {
    let service = Service::start().await;
    let mut browser: Browser = sign_in_alice(&service).await;
    let write_count = async || {
        let metrics = service.metrics().await;
        let series =
            "belfry_store_operation_duration_seconds_count{engine=\"sqlite\",operation=\"write\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(series)).map(str::to_owned)
    };
    let before = write_count().await;
    assert!(before.is_some());
    for _ in 0..5 {
        browser.get(SECURITY_PATH).await;
    }
    assert_eq!(write_count().await, before);
}
