//! Browser tests of the devices page.

use serde_json::{Value, json};

use super::fixture::{Fixture, with_browser};
use crate::delivery::{client_keys, pusher_body, subscription_body};
use crate::devices::unused_url;
use crate::support::PushService;

fn devices_url(fixture: &Fixture) -> String {
    format!("{}/oauth/account/devices", fixture.server.url)
}

/// Posts JSON with a new token for Alice, as an app does.
async fn post(fixture: &Fixture, app: &str, path: &str, body: &Value) {
    let url = format!("{}{path}", fixture.server.url);
    let token = fixture.issue_token("read write push", &["--app", app]);
    let request = reqwest::Client::new().post(url).bearer_auth(token);
    let request = request.header("content-type", "application/json").body(body.to_string());
    assert!(request.send().await.unwrap().status().is_success(), "{path}");
}

/// Opens the page without and with devices, and calls `on_page` with the name of each state. Alice
/// is signed in.
pub(super) async fn visit_devices(fixture: &Fixture, on_page: &mut impl AsyncFnMut(&str)) {
    let tab = &fixture.tab;
    tab.goto(&devices_url(fixture)).await;
    tab.find(".none").await;
    on_page("devices-none").await;

    let push_service = PushService::start().await;
    let subscription = subscription_body(&push_service.url);
    post(fixture, "Tusky", "/api/v1/push/subscription", &subscription).await;
    let set_pusher_path = "/_matrix/client/v3/pushers/set";
    let names = json!({ "app_display_name": "Element", "device_display_name": "Pixel 9" });
    post(fixture, "Element", set_pusher_path, &pusher_body(&names, &unused_url().await)).await;
    let (pushkey, auth) = client_keys();
    let web_push = json!({
        "kind": "webpush", "pushkey": pushkey, "data": { "url": push_service.url, "auth": auth },
        "app_display_name": "Element Web", "device_display_name": "Firefox on Linux",
    });
    post(fixture, "Element Web", set_pusher_path, &pusher_body(&web_push, "")).await;
    for device in ["Tusky", "Pixel 9"] {
        tab.goto(&devices_url(fixture)).await;
        press(fixture, device, "test").await;
        tab.find("[role=status]").await;
    }
    reload_until(fixture, ".cards .failure").await;
    reload_until(fixture, ".cards > :has([value=test]):not(:has(.failure)) .small + .small").await;
    on_page("devices").await;
}

/// Presses a button of the device whose name contains this text.
async fn press(fixture: &Fixture, device: &str, change: &str) {
    let tab = &fixture.tab;
    tab.find(".cards").await;
    let mark_card_script = format!(
        "[...document.querySelectorAll('.cards > li')].find(card => \
         card.querySelector('h2').textContent.includes('{device}')).setAttribute('data-pressed', '')"
    );
    tab.evaluate(&mark_card_script).await;
    tab.click(&format!("[data-pressed] button[value={change}]")).await;
}

/// Reloads the page until an element matches the selector.
async fn reload_until(fixture: &Fixture, css: &str) {
    for _ in 0..100 {
        fixture.tab.goto(&devices_url(fixture)).await;
        fixture.tab.find("h1").await;
        if fixture.tab.has_element(css).await {
            return;
        }
    }
    panic!("{css}: {}", fixture.tab.visible_text().await);
}

#[test]
fn a_device_is_tested_and_removed_without_scripts() {
    with_browser(async |fixture| {
        let tab = &fixture.tab;
        let push_service = PushService::start().await;
        tab.goto(&devices_url(fixture)).await;
        fixture.sign_in("alice").await;
        tab.find(".none").await;
        let pusher = pusher_body(&json!({}), &push_service.url);
        post(fixture, "Example", "/_matrix/client/v3/pushers/set", &pusher).await;
        tab.disable_scripts().await;
        tab.goto(&devices_url(fixture)).await;
        tab.click("button[value=test]").await;
        tab.wait_for_text("The test is on its way.").await;
        push_service.wait_for(1).await;
        reload_until(fixture, ".cards .small + .small").await;
        tab.wait_for_text("Last delivered:").await;
        tab.click("button[value=remove]").await;
        tab.find(".notice").await;
        tab.wait_for_text("No device receives your notifications yet.").await;
        tab.wait_for_text("A device that is no longer listed").await;
    });
}
