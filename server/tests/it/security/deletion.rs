//! Account deletion requested on the security page and carried out a day later.

use belfry_core::account::Role;
use belfry_store::WriteOutcome;

use super::{FIREFOX, SECURITY_PATH, is_signed_in, read_events, sign_in, sign_in_alice};
use crate::support::{Browser, Service, TestResponse, any_events, on_both_engines};

const DELETE_PATH: &str = "/oauth/account/security/delete";
const KEEP_PATH: &str = "/oauth/account/security/keep";
const PENDING_NOTICE: &str = "Your account will be deleted on <bdi>\
    <time datetime=\"2027-01-16T08:00:00Z\" data-format=\"full\">2027-01-16 08:00 UTC</time>\
    </bdi>.";

async fn request_deletion(browser: &mut Browser, page: &TestResponse, name: &str) -> TestResponse {
    let password = format!("correct horse {name}");
    browser.submit(page, DELETE_PATH, &[("password", &password)]).await
}

/// Sweeps every five minutes, for this many minutes.
async fn sweep_for(service: &Service, minutes: i64) {
    for _ in 0..minutes / 5 {
        service.clock.advance(300);
        service.state.sweep().await;
    }
}

async fn an_account_is_deleted_a_day_after_the_request(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let app = service.user_client("alice").await;
    let page = browser.get(SECURITY_PATH).await;
    page.assert_page(200, "Your account is deleted after one day");
    let response = request_deletion(&mut browser, &page, "alice").await;
    assert_eq!((response.status, response.header("location")), (303, SECURITY_PATH));
    let page = browser.follow(&response).await;
    page.assert_page(200, PENDING_NOTICE);
    assert!(!page.text.contains("Delete my account"), "{}", page.text);
    // The banner is on every page of the account, and the account can still be used.
    browser.get("/oauth/account").await.assert_page(200, PENDING_NOTICE);
    sign_in(&service, "alice", FIREFOX).await;
    assert_eq!(app.get("/_matrix/client/v3/pushrules/").await.status, 200);

    sweep_for(&service, 24 * 60 - 10).await;
    assert!(is_signed_in(&mut browser).await);
    sweep_for(&service, 15).await;
    assert_eq!(service.store().account_by_name("alice").await.unwrap(), None);
    assert!(!is_signed_in(&mut browser).await);
    assert_eq!(app.get("/_matrix/client/v3/pushrules/").await.status, 401);
    assert!(service.store().account_by_name("bob").await.unwrap().is_some());
    let metrics = service.metrics().await;
    assert!(metrics.contains("belfry_deleted_rows_total{table=\"accounts\"} 1\n"), "{metrics}");
}

async fn a_deletion_is_cancelled_with_one_click(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    // A double submit does not change the time.
    for _ in 0..2 {
        request_deletion(&mut browser, &page, "alice").await;
        service.clock.advance(1800);
    }
    // Any account page can cancel the deletion. A second cancellation has no effect.
    let page = browser.get("/oauth/account").await;
    page.assert_page(200, PENDING_NOTICE);
    for _ in 0..2 {
        let redirect = browser.submit(&page, KEEP_PATH, &[]).await;
        let security_page = browser.follow(&redirect).await;
        security_page.assert_page(200, "Your account will not be deleted.");
        assert!(
            !security_page.text.contains("will be deleted on")
                && security_page.text.contains("Delete my account")
        );
    }
    sweep_for(&service, 26 * 60).await;
    assert!(service.store().account_by_name("alice").await.unwrap().is_some());
    assert_eq!(
        read_events(&service, "alice").await,
        [
            "account_delete_cancel success 1",
            "account_delete_request success 1",
            "sign_in success 1"
        ]
    );
}

on_both_engines! {
    crate::security::start_with_defaults:
    an_account_is_deleted_a_day_after_the_request,
    a_deletion_is_cancelled_with_one_click,
}

#[tokio::test]
async fn a_wrong_password_deletes_nothing() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let page = browser.get(SECURITY_PATH).await;
    for password in ["wrong", ""] {
        let response = browser.submit(&page, DELETE_PATH, &[("password", password)]).await;
        let text =
            "<p class=\"field-error\" id=\"delete-password-error\">This is not your password.";
        response.assert_page(401, text);
    }
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(account.delete_at, None);
    let failure = "account_delete_request failure 2";
    assert_eq!(read_events(&service, "alice").await, [failure, "sign_in success 1"]);
}

#[tokio::test]
async fn the_last_admin_cannot_be_deleted() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let account_id = async |name| service.store().account_by_name(name).await.unwrap().unwrap().id;
    service
        .store()
        .set_account_role(&any_events(), account_id("alice").await, Role::Admin)
        .await
        .unwrap();
    let page = browser.get(SECURITY_PATH).await;
    let response = request_deletion(&mut browser, &page, "alice").await;
    response.assert_page(403, "You are the only administrator of this server.");
    let alice_id = account_id("alice").await;
    let outcome = service.store().cancel_account_deletion(&any_events(), alice_id).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    service
        .store()
        .set_account_role(&any_events(), account_id("bob").await, Role::Admin)
        .await
        .unwrap();
    let response = request_deletion(&mut browser, &page, "alice").await;
    browser.follow(&response).await.assert_page(200, PENDING_NOTICE);
}
