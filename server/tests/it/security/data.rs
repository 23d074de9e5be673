//! Downloading the account's data.

use axum::http::StatusCode;
use belfry_core::audit::{AuditKind, NewAuditEvent};
use serde_json::{Value, json};

use super::{SAFARI, SECURITY_PATH, read_events, sign_in, sign_in_alice};
use crate::support::{Service, on_both_engines};

const DOWNLOAD_PATH: &str = "/oauth/account/security/download";

async fn the_download_is_complete_and_has_no_secrets(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    service.clock.advance(3600);
    sign_in(&service, "alice", SAFARI).await;
    let app = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    for (client, rule) in [(&app, "alices"), (&bob, "bobs")] {
        for scope in ["global", "device/phone"] {
            let request = format!("PUT /_matrix/client/v3/pushrules/{scope}/room/{rule}");
            client
                .send(&request, json!({ "actions": [] }).to_string())
                .await
                .expect_json(StatusCode::OK);
        }
    }
    service.state.flush_uses().await;
    let page = browser.get(SECURITY_PATH).await;
    let response = browser.submit(&page, DOWNLOAD_PATH, &[]).await;
    let download = response.expect_json(StatusCode::OK);
    let attachment = "attachment; filename=\"alice-2027-01-15.json\"";
    assert_eq!(response.header("content-disposition"), attachment);
    for (name, value) in [
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ] {
        assert_eq!(response.header(name), value, "{name}");
    }
    let account = &download["account"];
    assert_eq!(account["name"], "alice");
    assert_eq!(account["user_id"], "@alice:ring.example");
    assert_eq!(
        (&account["email"], &account["email_verified"]),
        (&json!("alice@example.org"), &json!(true))
    );
    assert_eq!(account["delete_at"], Value::Null);
    let apps = download["apps"].as_array().unwrap();
    assert_eq!(apps.len(), 1);
    assert_eq!(apps[0]["name"], "Tests");
    let token = json!({
        "scopes": ["read", "write", "push"],
        "issued_at": "2027-01-15T09:00:00Z",
        "expires_at": null,
        "last_used_at": "2027-01-15T09:00:00Z",
        "device": null,
    });
    assert_eq!(apps[0]["tokens"], json!([token]));
    let sessions = download["sessions"].as_array().unwrap();
    let browsers: Vec<_> =
        sessions.iter().map(|session| (&session["browser"], &session["this_session"])).collect();
    let expected = [(json!("Firefox"), json!(true)), (json!("Safari"), json!(false))];
    assert_eq!(browsers.len(), 2);
    for (browser, is_this) in &expected {
        assert!(browsers.contains(&(browser, is_this)), "{sessions:?}");
    }
    let rules = download["push_rules"].to_string();
    assert_eq!(rules.matches("\"alices\"").count(), 2, "{rules}");
    assert_eq!(download["push_rules"]["global"]["room"][0]["rule_id"], "alices");
    assert_eq!(download["push_rules"]["device"]["phone"]["room"][0]["rule_id"], "alices");
    let all_events = download["audit_events"].as_array().unwrap();
    // The test helpers add the account and the token with `any_events()`, an account note.
    let is_not_from_helper = |event: &&Value| event["kind"] != "account_note";
    let request_events: Vec<_> = all_events.iter().filter(is_not_from_helper).collect();
    let mut kinds: Vec<_> =
        request_events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["data_download", "sign_in", "sign_in"]);
    assert!(request_events.iter().all(|event| event["address"] == "192.0.2.1"));

    let password_hash =
        service.store().account_by_name("alice").await.unwrap().unwrap().password_hash;
    for secret in [&*password_hash, "argon2", app.token(), browser.session_cookie(), "bobs", "@bob"]
    {
        assert!(!response.text.contains(secret), "{secret}");
    }
    assert_eq!(read_events(&service, "alice").await[0], "data_download success 1");
}

on_both_engines! {
    crate::security::start_with_defaults:
    the_download_is_complete_and_has_no_secrets,
}

/// The data may take megabytes of memory while it is collected.
#[tokio::test]
async fn an_account_can_run_one_download_at_a_time() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let account_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let page = browser.get(SECURITY_PATH).await;
    let slot = service.state.large_body_slots.acquire(account_id).unwrap();
    let response = browser.submit(&page, DOWNLOAD_PATH, &[]).await;
    response.assert_page(429, "This server is busy");
    assert_eq!(response.header("retry-after"), "1");
    assert_eq!(
        read_events(&service, "alice").await[0],
        "sign_in success 1",
        "nothing was downloaded"
    );
    drop(slot);
    browser.submit(&page, DOWNLOAD_PATH, &[]).await.expect_json(StatusCode::OK);
    browser.submit(&page, DOWNLOAD_PATH, &[]).await.expect_json(StatusCode::OK);
}

/// An admin's address and notes are not data of the account.
#[tokio::test]
async fn admin_actions_are_exported_without_address_and_notes() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let alice = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let detail = Some("by root: a private note".to_owned());
    let event = NewAuditEvent {
        detail,
        ..NewAuditEvent::for_command(service.now(), AuditKind::AccountNote)
    };
    service.store().record_account_events(&event.into(), alice).await.unwrap();
    let page = browser.get(SECURITY_PATH).await;
    let response = browser.submit(&page, DOWNLOAD_PATH, &[]).await;
    let download = response.expect_json(StatusCode::OK);
    // The account note of the test helpers has a different time.
    let now = service.now().to_string();
    let is_note = |event: &&Value| event["kind"] == "account_note" && event["at"] == now;
    let note = download["audit_events"].as_array().unwrap().iter().find(is_note).unwrap();
    assert_eq!((note.get("detail"), note.get("address")), (None, None));
    assert!(!response.text.contains("private note"));
}
