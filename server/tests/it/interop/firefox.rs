//! Notifications in Firefox, which subscribes at a push server of the test.

mod push_server;
mod web_app;

use std::time::Duration;

use serde_json::{Value, json};
use test_engines::Firefox;

use self::push_server::PushServer;
use self::web_app::WebApp;
use super::{ALICE, DeliveringServer, SERVICE_TOKEN};
use crate::support::report_skipped;

const ACK_PATH: &str = "/_matrix/client/unstable/org.matrix.msc4174/pushers/ack";

/// An app that is a client of both APIs shows a mention in each encoding and a Matrix event. Its
/// subscription and pusher are removed after it has unsubscribed.
#[tokio::test(flavor = "multi_thread")]
async fn firefox_shows_notifications() {
    let push_server = PushServer::start().await;
    let mut app = WebApp::start().await;
    // A page that subscribes before Firefox has started its push service waits forever.
    let is_connected = || push_server.is_connected();
    let firefox = Firefox::open(&app.url, &push_server.websocket_url(), is_connected);
    let _firefox = match firefox {
        Ok(firefox) => firefox,
        Err(error) => return report_skipped("notifications in Firefox", &error.to_string()),
    };
    let server = DeliveringServer::start();
    let subscribe = format!("subscribe('{}', '{}')", server.process.url, server.token);
    let vapid_key = app.evaluate(&subscribe).await;

    for (id, is_standard) in [(42, true), (43, false)] {
        let response = app.evaluate(&format!("setSubscription({is_standard})")).await;
        assert_eq!(response[0], 200, "{response}");
        let details = (&response[1]["server_key"], &response[1]["standard"]);
        assert_eq!(details, (&vapid_key, &json!(is_standard)));
        send_mention(&server, id).await;
        let message = json!({
            "access_token": server.token, "preferred_locale": "en", "notification_id": id,
            "notification_type": "mention", "icon": "", "title": "Bob", "body": "Cake? 🍰",
        });
        let push = json!({ "message": message, "shown": [["Bob", "Cake? 🍰"]] });
        assert_eq!(next_push(&mut app, &push_server).await, push);
    }

    assert_eq!(app.evaluate("setPusher()").await, json!([201, {}]));
    let push = next_push(&mut app, &push_server).await;
    assert_eq!(push["shown"], json!([["Activation", ""]]), "{push}");
    let acknowledge = format!("send('POST', '{ACK_PATH}', {})", push["message"]);
    assert_eq!(app.evaluate(&acknowledge).await, json!([200, {}]));
    let event = send_event(&server, "$1").await;
    let push = json!({ "message": event, "shown": [["@bob:x", "Cake? 🍰"]] });
    assert_eq!(next_push(&mut app, &push_server).await, push);

    assert_eq!(app.evaluate("subscription.unsubscribe()").await, json!(true));
    let encodings = ["aes128gcm", "aesgcm", "aes128gcm", "aes128gcm"];
    let delivered = encodings.map(|encoding| (encoding.to_owned(), json!(100)));
    assert_eq!(push_server.deliveries(), delivered);
    send_mention(&server, 44).await;
    send_event(&server, "$2").await;
    wait_for(&mut app, "/api/v1/push/subscription", json!([404, { "error": "Record not found" }]))
        .await;
    wait_for(&mut app, "/_matrix/client/v3/pushers", json!([200, { "pushers": [] }])).await;
}

async fn next_push(app: &mut WebApp, push_server: &PushServer) -> Value {
    let push = app.next_push().await;
    push.unwrap_or_else(|| panic!("no message; earlier ones: {:?}", push_server.deliveries()))
}

async fn send_mention(server: &DeliveringServer, id: u64) {
    let body = json!({
        "account": ALICE, "type": "mention", "id": id.to_string(), "title": "Bob",
        "body": "Cake? 🍰",
    });
    send_as_product(server, "notifications", &body).await;
}

/// Sends an event, and returns the message of its pushers.
async fn send_event(server: &DeliveringServer, event_id: &str) -> Value {
    let mut event = json!({
        "event_id": event_id, "type": "m.room.message", "room_id": "!r:x", "sender": "@bob:x",
        "content": { "msgtype": "m.text", "body": "Cake? 🍰" },
    });
    let members = json!([{ "user_id": ALICE, "counts": { "unread": 3 } }]);
    let body = json!({ "event": event, "room": { "member_count": 2 }, "members": members });
    send_as_product(server, "notify", &body).await;
    event["prio"] = "high".into();
    event["unread"] = 3.into();
    event
}

/// Sends a request that causes one message, as the application service.
async fn send_as_product(server: &DeliveringServer, endpoint: &str, body: &Value) {
    let url = format!("{}/_matrix/app/v1/{endpoint}", server.process.url);
    let request = reqwest::Client::new().post(url).bearer_auth(SERVICE_TOKEN).json(body);
    let response: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(response["accepted"], 1, "{response}");
}

/// Waits until a path has this status and body.
async fn wait_for(app: &mut WebApp, path: &str, expected: Value) {
    for _ in 0..1500 {
        if app.evaluate(&format!("send('GET', '{path}')")).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path}: {}", app.evaluate(&format!("send('GET', '{path}')")).await);
}
