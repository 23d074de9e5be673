//! The sessions of an account on the security page.

use super::{FIREFOX, SAFARI, SECURITY, events, is_signed_in, lookup_key, sign_in, sign_in_alice};
use crate::support::browser::visible_text;
use crate::support::client::address;
use crate::support::service::config_with;
use crate::support::{Browser, Service, TestResponse, on_both_engines};

const END: &str = "/oauth/account/security/end_session";
const END_OTHERS: &str = "/oauth/account/security/end_other_sessions";

/// Returns the ids of the sessions on a page, in order.
fn ids(page: &TestResponse) -> Vec<String> {
    let buttons = page.text.split("name=\"session\" value=\"").skip(1);
    buttons.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

async fn sessions_are_listed_with_browser_and_last_use(service: Service) {
    let mut phone = {
        service.add_account("alice").await;
        service.add_account("bob").await;
        sign_in(&service, "alice", SAFARI).await
    };
    service.clock.advance(5 * 3600);
    let mut unknown = sign_in(&service, "alice", "<b>Evil</b>/1.0").await;
    sign_in(&service, "bob", FIREFOX).await;
    service.clock.advance(49 * 3600);
    let mut here = sign_in(&service, "alice", FIREFOX).await;
    let text = visible_text(&here.get(SECURITY).await);
    let expected = "Where you are signed in|\
        Firefox on Linux|This browser|Signed in on|2027-01-17 14:00 UTC|· Used in the last hour ·|192.0.2.x|Sign out|\
        Unknown browser|Signed in on|2027-01-15 13:00 UTC|· Last used 2 days ago ·|192.0.2.x|Sign out|\
        Safari on iPhone|Signed in on|2027-01-15 08:00 UTC|· Last used 2 days ago ·|192.0.2.x|Sign out|\
        Sign out everywhere else|Your data";
    assert!(text.contains(expected), "{text}");
    // Each browser's own session is marked in its list, and comes first.
    phone.get(SECURITY).await;
    service.clock.advance(2 * 3600);
    assert!(is_signed_in(&mut unknown).await);
    let text = visible_text(&phone.get(SECURITY).await);
    let expected = "Where you are signed in|\
        Safari on iPhone|This browser|Signed in on|2027-01-15 08:00 UTC|· Used in the last hour";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_session_has_no_address_if_addresses_are_not_recorded() {
    for (addresses, is_shown) in [("none", false), ("truncated", true), ("full", true)] {
        let addresses = serde_json::from_value(addresses.into()).unwrap();
        let service =
            Service::start_with(config_with(|config| config.audit.addresses = addresses)).await;
        service.add_account("alice").await;
        let client = service.anonymous_client().with_address(address(77));
        let mut browser = Browser::new(client).sign_in_as("alice").await;
        let page = browser.get(SECURITY).await;
        assert_eq!(page.text.contains("192.0.2.x"), is_shown, "{addresses:?}");
        assert!(!page.text.contains("192.0.2.77"), "{addresses:?}");
        let account = service.store().account_by_name("alice").await.unwrap().unwrap().id;
        let sessions = service.store().sessions_of(account, service.now(), 9).await.unwrap();
        assert_eq!(sessions[0].address.as_deref(), is_shown.then_some("192.0.2.x"));
    }
}

#[tokio::test]
async fn a_page_is_shown_even_if_the_last_use_of_its_session_cannot_be_stored() {
    let service = Service::start().await;
    let mut here = sign_in_alice(&service).await;
    service.execute_sql(
        "create trigger full_disk before update on sessions begin select raise(fail, 'full'); end",
    );
    service.clock.advance(3600);
    let page = here.get(SECURITY).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(is_signed_in(&mut here).await);
}

async fn one_session_or_all_other_sessions_can_be_ended(service: Service) {
    let mut here = sign_in_alice(&service).await;
    let mut bob = sign_in(&service, "bob", FIREFOX).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        service.clock.advance(60);
        others.push(sign_in(&service, "alice", SAFARI).await);
    }
    service.clock.advance(60);
    let page = here.get(SECURITY).await;
    let session_ids = ids(&page);
    assert_eq!(session_ids.len(), 4);
    // The session of another account is not ended, whatever the form says.
    let bobs = ids(&bob.get(SECURITY).await).remove(0);
    here.submit(&page, END, &[("session", &bobs)]).await;
    assert!(is_signed_in(&mut bob).await);

    // The list begins with the session of this browser, followed by the most recently used one.
    for _ in 0..2 {
        let ended = here.submit(&page, END, &[("session", &session_ids[1])]).await;
        let ended = here.follow(&ended).await;
        ended.assert_page(200, "That browser is signed out.");
        assert_eq!(ids(&ended).len(), 3);
    }
    assert!(!is_signed_in(&mut others[2]).await && is_signed_in(&mut others[1]).await);

    let ended = here.submit(&page, END_OTHERS, &[]).await;
    let ended = here.follow(&ended).await;
    ended.assert_page(200, "All other browsers are signed out.");
    assert_eq!(ids(&ended).len(), 1);
    assert!(!ended.text.contains("Sign out everywhere else"));
    for other in &mut others {
        assert!(!is_signed_in(other).await);
    }
    assert!(is_signed_in(&mut here).await && is_signed_in(&mut bob).await);
    let events = events(&service, "alice").await;
    let ended = ["sign_out success 1 (another session)", "sign_out success 2 (another session)"];
    assert_eq!(events[4..], ended, "{events:?}");
}

on_both_engines! {
    crate::security::start:
    sessions_are_listed_with_browser_and_last_use,
    one_session_or_all_other_sessions_can_be_ended,
}

#[tokio::test]
async fn ending_the_session_of_this_browser_signs_out() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY).await;
    let this = ids(&page).remove(0);
    let response = browser.submit(&page, END, &[("session", &this)]).await;
    browser.follow(&response).await.assert_page(200, "You are signed out");
    assert!(!is_signed_in(&mut browser).await);
}

/// The sign-in page explains why the user has to sign in again.
#[tokio::test]
async fn a_browser_whose_session_has_ended_shows_that_once() {
    let service = Service::start().await;
    let mut here = sign_in_alice(&service).await;
    let ended = "Your session in this browser has ended,";
    let shows_notice = async |browser: &mut Browser, path: &str| {
        let mut page = browser.get(path).await;
        while page.status == 303 {
            page = browser.follow(&page).await;
        }
        page.assert_page(200, "<h1>Sign in</h1>");
        page.text.contains(ended)
    };
    let client = service.register_client().await;
    for path in [SECURITY, "/oauth/sign_in", &*client.authorize_path(&[])] {
        let mut other = sign_in(&service, "alice", SAFARI).await;
        let page = here.get(SECURITY).await;
        here.submit(&page, END_OTHERS, &[]).await;
        assert!(shows_notice(&mut other, path).await, "{path}");
        assert!(!shows_notice(&mut other, path).await, "{path}");
        assert!(!other.cookies.contains_key("__Host-belfry-signed-in"));
    }
    // Neither a browser without a session nor one that was signed out has lost a session.
    let mut new = service.browser();
    for _ in 0..2 {
        assert!(!shows_notice(&mut new, SECURITY).await);
    }
    let page = here.get("/oauth/account").await;
    here.submit(&page, "/oauth/sign_out", &[]).await;
    assert!(!shows_notice(&mut here, SECURITY).await);
}

/// The list shows a session that has ended in the meantime.
#[tokio::test]
async fn a_form_on_a_stale_list_ends_no_other_session() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let mut other = sign_in(&service, "alice", SAFARI).await;
    let stale = browser.get(SECURITY).await;
    let id = lookup_key(other.cookie());
    assert!(ids(&stale).contains(&id));
    let page = other.get("/oauth/account").await;
    other.submit(&page, "/oauth/sign_out", &[]).await;
    for value in [&*id, "", "nonsense", &"f".repeat(1000)] {
        let ended = browser.submit(&stale, END, &[("session", value)]).await;
        browser.follow(&ended).await.assert_page(200, "That browser is signed out.");
    }
    assert!(is_signed_in(&mut browser).await);
}

#[tokio::test]
async fn a_bounded_number_of_sessions_is_listed() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    service.execute_sql(
        "insert into sessions (lookup, digest, account_id, created_at, seen_at, expires_at) \
         with recursive n (i) as (select 1 union all select i + 1 from n where i < 60) \
         select substr('00000000000000000000000000000000' || i, -32), '-', \
         (select id from accounts where name = 'alice'), 1, 1, 1900000000 from n",
    );
    let page = browser.get(SECURITY).await;
    page.assert_page(200, "Only the 50 used last are shown here.");
    assert_eq!(ids(&page).len(), 50);
    let ended = browser.submit(&page, END_OTHERS, &[]).await;
    let page = browser.follow(&ended).await;
    assert_eq!(ids(&page).len(), 1);
}

/// The time of the last use is stored once a minute, not with every request.
#[tokio::test]
async fn requests_within_a_minute_do_not_write() {
    let service = Service::start().await;
    let mut browser: Browser = sign_in_alice(&service).await;
    let write_count = async || {
        let metrics = service.metrics().await;
        let name =
            "belfry_store_operation_duration_seconds_count{engine=\"sqlite\",operation=\"write\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    let before = write_count().await;
    assert!(before.is_some());
    for _ in 0..5 {
        browser.get(SECURITY).await;
    }
    assert_eq!(write_count().await, before);
}
