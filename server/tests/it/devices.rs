//! The devices page, deliveries in `explain` responses, and receivers in the download of personal
//! data.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use belfry::config::RateLimitMode;
use belfry_core::push::attempt_error::AttemptError;
use belfry_store::AuditFilter;
use serde_json::{Value, json};

use crate::delivery::{DeliveringService, client_keys, notify_body, pusher_body};
use crate::support::browser::visible_text;
use crate::support::{
    Browser, PushService, Service, TestDatabase, TestResponse, on_both_engines, recorded_events,
};

const DEVICES: &str = "/oauth/account/devices";

/// Returns a browser with a session of this user.
async fn sign_in(fixture: &DeliveringService, name: &str) -> Browser {
    fixture.service.browser().sign_in_as(name).await
}

/// Gets the page repeatedly until its visible text contains `expected`, and returns that text.
async fn wait_for_text(browser: &mut Browser, expected: &str) -> String {
    let mut text = String::new();
    for _ in 0..1000 {
        let page = browser.get(DEVICES).await;
        assert_eq!(page.status, 200, "{page:?}");
        text = visible_text(&page);
        if text.contains(expected) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{expected}: {text}");
}

/// Presses a button of the first device on the page, or of the device with this id.
async fn press(browser: &mut Browser, change: &str, device: Option<&str>) -> TestResponse {
    let page = browser.get(DEVICES).await;
    let mut fields = vec![("change", change)];
    fields.extend(device.map(|id| ("device", id)));
    browser.submit(&page, DEVICES, &fields).await
}

/// Returns the id of the first device on the page.
async fn first_device(browser: &mut Browser) -> String {
    let fields = browser.get(DEVICES).await.hidden_fields(DEVICES);
    fields.into_iter().find(|(name, _)| name == "device").unwrap().1
}

/// Returns a URL at which no server listens.
pub(crate) async fn unused_url() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn devices_are_listed_with_their_last_delivery(fixture: DeliveringService) {
    let push_service = PushService::start().await;
    fixture.subscribe("alice", &format!("{}/capability", push_service.url)).await;
    fixture.service.clock.advance(60);
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    assert_eq!(fixture.mention("alice", 42).await, 1);
    fixture.wait_until_idle().await;
    let mut browser = sign_in(&fixture, "alice").await;
    let page = browser.get(DEVICES).await;
    let text = visible_text(&page);
    for expected in [
        "|Tests|Mastodon app, through 127.0.0.1 · Since|2027-01-15|Last delivered:|08:01 UTC|",
        "|Example · Phone|Matrix app, through the gateway 127.0.0.1 · Since|2027-01-15|Send a test|",
        "|Latest deliveries|Notification|Delivered:|08:01 UTC|Tests|",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for secret in ["capability", "key1", "/_matrix/push", "http://127"] {
        assert!(!page.text.contains(secret), "{secret}: {page:?}");
    }
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.header("content-security-policy").starts_with("default-src 'none';"));
}

async fn a_device_of_another_account_is_neither_listed_nor_changed(fixture: DeliveringService) {
    let push_service = PushService::start().await;
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    fixture.set_pusher("bob", &json!({ "pushkey": "key2" }), &push_service.url).await;
    let mut bob = sign_in(&fixture, "bob").await;
    let mut alice = sign_in(&fixture, "alice").await;
    let alices_device = first_device(&mut alice).await;
    let bobs_page = bob.get(DEVICES).await;
    assert!(!bobs_page.text.contains(&alices_device), "{bobs_page:?}");
    let response = press(&mut bob, "test", Some(&alices_device)).await;
    bob.follow(&response).await.assert_page(200, "No test was sent:");
    press(&mut bob, "remove", Some(&alices_device)).await;
    assert_eq!(first_device(&mut alice).await, alices_device);
    assert!(push_service.requests().is_empty());
}

async fn a_test_is_delivered_in_the_users_language(fixture: DeliveringService) {
    let push_service = PushService::start().await;
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    let mut browser = sign_in(&fixture, "alice").await;
    let response = press(&mut browser, "test", None).await;
    assert_eq!(response.header("location"), format!("{DEVICES}?notice=test-sent"));
    browser.follow(&response).await.assert_page(200, "The test is on its way.");
    let notification = push_service.wait_for(1).await[0].json()["notification"].clone();
    assert_eq!(notification["content"]["body"], "Notifications reach this device.");
    assert_eq!(notification["sender_display_name"], "Belfry", "the title of the service");
    let text = wait_for_text(&mut browser, "|Test|Delivered:|08:00 UTC|Example · Phone|").await;
    assert!(!text.contains("test-"), "{text}");
    assert!(text.contains("|Last delivered:|08:00 UTC|"), "{text}");

    let page = browser.get(&format!("{DEVICES}?lang=de")).await;
    browser.submit(&page, &format!("{DEVICES}?lang=de"), &[("change", "test")]).await;
    let notification = push_service.wait_for(2).await[1].json()["notification"].clone();
    assert_eq!(notification["content"]["body"], "Benachrichtigungen erreichen dieses Gerät.");
}

async fn removing_a_device_stops_its_messages_and_is_audited(fixture: DeliveringService) {
    let push_service = PushService::start().await;
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    let mut browser = sign_in(&fixture, "alice").await;
    let page = browser.get(DEVICES).await;
    // A form may be submitted twice.
    for _ in 0..2 {
        let response = browser.submit(&page, DEVICES, &[("change", "remove")]).await;
        browser.follow(&response).await.assert_page(200, "Removed.");
    }
    browser.get(DEVICES).await.assert_page(200, "No device receives your notifications yet.");
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 0);
    let store = fixture.service.store();
    let account = store.account_by_name("alice").await.unwrap().map(|account| account.id);
    let filter = AuditFilter { account, ..recorded_events() };
    let events = store.audit_events(filter, 100).await.unwrap();
    let removals: Vec<_> = events.iter().filter(|event| event.kind == "receiver_remove").collect();
    assert_eq!(removals.len(), 1, "{events:?}");
    assert_eq!(removals[0].address.as_deref(), Some("192.0.2.1"));
}

async fn explain_lists_the_deliveries_of_an_event(fixture: DeliveringService) {
    let push_service = PushService::start().await;
    let client = fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    fixture.set_pusher("bob", &json!({ "pushkey": "key2" }), &push_service.url).await;
    let event = notify_body("$1", &[])["event"].clone();
    let explain = async |event: &Value| -> Value {
        let request_line = "POST /_matrix/client/v3/pushrules/explain";
        let body = json!({ "event": event }).to_string();
        client.send(request_line, body).await.expect_json(StatusCode::OK)
    };
    assert_eq!(explain(&event).await.get("deliveries"), None);
    fixture.notify("$1", &["alice", "bob"]).await;
    fixture.wait_until_idle().await;
    let receiver = json!({ "kind": "gateway", "name": "Example · Phone" });
    let mut expected = json!({
        "receiver": receiver, "state": "delivered", "attempts": 1, "status": 201,
        "accepted_ts": 1_800_000_000_000_i64, "finished_ts": 1_800_000_000_000_i64,
    });
    assert_eq!(explain(&event).await["deliveries"], json!([expected]), "only alice's");

    let mut browser = sign_in(&fixture, "alice").await;
    press(&mut browser, "remove", None).await;
    expected["receiver"] = Value::Null;
    assert_eq!(explain(&event).await["deliveries"], json!([expected]));
    let event_without_id = json!({ "type": "m.room.message" });
    assert_eq!(explain(&event_without_id).await.get("deliveries"), None);
}

on_both_engines! {
    crate::delivery::start_delivering:
    devices_are_listed_with_their_last_delivery,
    a_device_of_another_account_is_neither_listed_nor_changed,
    a_test_is_delivered_in_the_users_language,
    removing_a_device_stops_its_messages_and_is_audited,
    explain_lists_the_deliveries_of_an_event,
}

#[tokio::test]
async fn a_delivery_is_listed_with_the_title_of_its_rule() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    fixture.notify("$builtin", &["alice"]).await;
    let request_line = "PUT /_matrix/client/v3/pushrules/global/content/words";
    let rule = json!({ "pattern": "hello", "actions": ["notify"] });
    client.send(request_line, rule.to_string()).await.expect_json(StatusCode::OK);
    fixture.notify("$word", &["alice"]).await;
    fixture.wait_until_idle().await;
    let mut browser = sign_in(&fixture, "alice").await;
    let text = visible_text(&browser.get(DEVICES).await);
    for expected in [
        "|Messages with the word hello|Delivered:|08:00 UTC|Example · Phone|",
        "|Messages in rooms with one other person|Delivered:|08:00 UTC|Example · Phone|",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn failures_are_described_in_words() {
    let overloaded =
        PushService::start_with(|_| StatusCode::SERVICE_UNAVAILABLE.into_response()).await;
    let rejecting =
        PushService::start_with(|_| (StatusCode::PAYLOAD_TOO_LARGE, "reply").into_response()).await;
    for (url, state, reason) in [
        (&overloaded.url, "Waiting since", "The push service reports an error (status 503)."),
        (&rejecting.url, "Not delivered:", "The push service rejected the message (status 413)."),
        (&unused_url().await, "Waiting since", "The push service cannot be reached."),
    ] {
        let fixture = DeliveringService::start().await;
        fixture.set_pusher("alice", &json!({}), url).await;
        fixture.notify("$1", &["alice"]).await;
        let mut browser = sign_in(&fixture, "alice").await;
        let text = wait_for_text(&mut browser, "|Last attempt failed:|08:00 UTC|").await;
        assert!(text.contains(&format!("|08:00 UTC|{reason}|Send a test|")), "{text}");
        let delivery = format!("|{state}|08:00 UTC|{reason}|");
        assert!(text.contains(&delivery), "{delivery}: {text}");
        assert_eq!(text.contains("|Next attempt:|"), state == "Waiting since", "{text}");
        assert!(!text.contains("reply"), "{text}");
    }
}

#[tokio::test]
async fn a_device_that_gets_no_messages_is_marked_and_not_tested() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let (pushkey, auth) = client_keys();
    let data = json!({ "url": push_service.url, "auth": auth });
    let web_push = json!({ "kind": "webpush", "pushkey": pushkey, "data": data });
    let client = fixture.service.user_client("alice").await;
    client.set_pusher(&pusher_body(&web_push, "")).await.expect_json(StatusCode::CREATED);
    push_service.wait_for(1).await;
    let disabled = json!({ "org.matrix.msc3881.enabled": false });
    fixture.set_pusher("bob", &disabled, &push_service.url).await;
    for (name, mark) in [
        (
            "alice",
            "|Example · Phone|Waiting for the app to confirm|Matrix app, through 127.0.0.1 ·",
        ),
        ("bob", "|Example · Phone|Switched off in the app|Matrix app, through the gateway"),
    ] {
        let mut browser = sign_in(&fixture, name).await;
        let text = visible_text(&browser.get(DEVICES).await);
        assert!(text.contains(mark), "{text}");
        assert!(!text.contains("Send a test"), "{text}");
        let response = press(&mut browser, "test", None).await;
        browser.follow(&response).await.assert_page(200, "No test was sent:");
    }
    assert_eq!(push_service.requests().len(), 1, "only the request to acknowledge");
}

#[tokio::test]
async fn the_number_of_tests_is_limited() {
    let push_service = PushService::start().await;
    let database = TestDatabase::sqlite();
    let fixture = DeliveringService::start_on(database, |config| {
        config.limits.mode = RateLimitMode::Enforce;
    })
    .await;
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    fixture.set_pusher("bob", &json!({ "pushkey": "key2" }), &push_service.url).await;
    let mut browser = sign_in(&fixture, "alice").await;
    for _ in 0..5 {
        assert_eq!(press(&mut browser, "test", None).await.status, 303);
    }
    let response = press(&mut browser, "test", None).await;
    response.assert_page(429, "Too many attempts. Please try again in one minute.");
    assert!(response.text.contains("Latest tests"), "{response:?}");
    assert!((1..=60).contains(&response.header("retry-after").parse().unwrap()), "{response:?}");
    push_service.wait_for(5).await;
    let mut bob = sign_in(&fixture, "bob").await;
    assert_eq!(press(&mut bob, "test", None).await.status, 303, "the limit is per account");
    push_service.wait_for(6).await;
    fixture.service.clock.advance(60);
    assert_eq!(press(&mut browser, "test", None).await.status, 303);
    push_service.wait_for(7).await;
}

#[tokio::test]
async fn a_form_needs_the_csrf_token_and_a_known_change() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &push_service.url).await;
    let mut browser = sign_in(&fixture, "alice").await;
    let device = first_device(&mut browser).await;
    for change in ["test", "remove"] {
        let response = browser.post(DEVICES, &[("device", &device), ("change", change)]).await;
        response.assert_page(403, "This form could not be checked");
        browser.fetch_site = Some("cross-site");
        press(&mut browser, change, None).await.assert_page(403, "This form could not be checked");
        browser.fetch_site = Some("same-origin");
    }
    assert_eq!(press(&mut browser, "other", None).await.status, 400);
    assert_eq!(press(&mut browser, "remove", Some("x")).await.status, 400);
    assert_eq!(first_device(&mut browser).await, device);
    assert!(push_service.requests().is_empty());
}

#[tokio::test]
async fn a_signed_out_user_returns_to_the_page_after_signing_in() {
    let fixture = DeliveringService::start().await;
    fixture.service.add_account("alice").await;
    let mut browser = fixture.service.browser();
    let response = browser.get(DEVICES).await;
    let page = browser.follow(&response).await;
    let page = browser.sign_in(&page, "alice").await;
    page.assert_page(200, "<h1>Devices</h1>");
    page.assert_page(200, "No device receives your notifications yet. Sign in with an app");
    assert!(page.text.contains(&format!("<a href=\"{DEVICES}\" aria-current=\"page\">")));
    assert!(!page.text.contains("Latest deliveries"), "{page:?}");
}

#[tokio::test]
async fn without_delivery_the_page_explains_it_and_the_overview_has_no_link() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser().sign_in_as("alice").await;
    let page = browser.get(DEVICES).await;
    page.assert_page(200, "This server does not send notifications to devices.");
    let overview = browser.get("/oauth/account").await;
    assert!(!overview.text.contains("/oauth/account/devices"), "{overview:?}");
}

async fn download(fixture: &DeliveringService) -> TestResponse {
    let mut browser = sign_in(fixture, "alice").await;
    let page = browser.get("/oauth/account/security").await;
    browser.submit(&page, "/oauth/account/security/download", &[]).await
}

/// Otherwise, users could find the names in the operator's network.
#[tokio::test]
async fn a_name_with_a_forbidden_address_is_shown_like_one_that_does_not_exist() {
    let fixture = DeliveringService::start_on(TestDatabase::sqlite(), |config| {
        config.push.allowed_networks = vec!["10.0.0.0/8".parse().unwrap()];
    })
    .await;
    let client = fixture.set_pusher("alice", &json!({}), "http://localhost:9999").await;
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 1);
    let delivery = fixture.wait_for_attempts("alice", 1).await;
    assert_eq!(delivery.error, Some(AttemptError::ForbiddenAddress), "what the operator sees");

    let unknown_name = "the host name cannot be resolved";
    let body = json!({ "event": notify_body("$1", &[])["event"] }).to_string();
    let explanation = client.send("POST /_matrix/client/v3/pushrules/explain", body).await;
    assert_eq!(explanation.expect_json(StatusCode::OK)["deliveries"][0]["error"], unknown_name);
    let data = download(&fixture).await.expect_json(StatusCode::OK);
    assert_eq!(data["deliveries"][0]["error"], unknown_name);
    assert_eq!(data["receivers"][0]["last_failure"], unknown_name);
    wait_for_text(&mut sign_in(&fixture, "alice").await, "The push service cannot be reached.")
        .await;
}

#[tokio::test]
async fn the_download_contains_the_receivers_without_secrets() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    fixture.subscribe("alice", &format!("{}/capability", push_service.url)).await;
    fixture.service.clock.advance(60);
    let gateway_url = unused_url().await;
    fixture.set_pusher("alice", &json!({ "profile_tag": "work" }), &gateway_url).await;
    fixture.mention("alice", 1).await;
    fixture.wait_until_idle().await;
    let response = download(&fixture).await;
    let receivers = response.expect_json(StatusCode::OK)["receivers"].clone();
    let expected = json!([
        {
            "id": receivers[0]["id"], "kind": "mastodon", "app": "Tests", "device": null,
            "origin": push_service.url, "created_at": "2027-01-15T08:00:00Z",
            "last_success_at": "2027-01-15T08:01:00Z", "last_failure_at": null,
            "last_failure": null, "alerts": { "mention": true, "follow": false }, "policy": "all",
        },
        {
            "id": receivers[1]["id"], "kind": "gateway", "app": "Example", "device": "Phone",
            "origin": gateway_url, "created_at": "2027-01-15T08:01:00Z", "last_success_at": null,
            "last_failure_at": null, "last_failure": null, "profile_tag": "work", "lang": "en",
        },
    ]);
    assert_eq!(receivers, expected);
    for secret in ["capability", "key1", "p256dh", "secrets"] {
        assert!(!response.text.contains(secret), "{secret}: {response:?}");
    }
}

#[tokio::test]
async fn the_download_contains_the_delivery_log() {
    let gateway = PushService::start_with(|_| "{}".into_response()).await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    fixture.set_pusher("bob", &json!({ "pushkey": "key2" }), &gateway.url).await;
    assert_eq!(fixture.notify("$1", &["alice", "bob"]).await["accepted"], 2);
    fixture.wait_until_idle().await;
    let response = download(&fixture).await;
    let data = response.expect_json(StatusCode::OK);
    let expected = json!([{
        "at": "2027-01-15T08:00:00Z", "event_id": "$1",
        "rule": "global/underride/.m.rule.room_one_to_one",
        "receiver_id": data["receivers"][0]["id"], "attempts": 1, "outcome": "delivered",
        "expires_at": "2027-01-17T08:00:00Z", "finished_at": "2027-01-15T08:00:00Z",
        "status": 200, "error": null,
    }]);
    assert_eq!(data["deliveries"], expected);
    assert!(!response.text.contains("hello"), "the text of the message: {response:?}");
}
