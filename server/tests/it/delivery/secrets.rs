//! Secrets of devices and the content of messages are not readable without the sealing key.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;

use super::process::{DeliveringProcess, KEY_FILE};
use super::{
    NOTIFICATIONS, NOTIFY, PUSHERS, SUBSCRIPTION, client_keys, notify_body, pusher_body,
    subscription_body,
};
use crate::devices::unused_url;
use crate::support::files::{contains, read_all_files};

/// The beginning of the PKCS #8 document of a P-256 key, which precedes the private key.
const PKCS8_PREFIX: [u8; 36] = [
    0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30, 0x6b, 0x02,
    0x01, 0x01, 0x04, 0x20,
];

/// The messages wait during the search, because their push service does not respond.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_a_device_or_message_is_in_the_data_a_backup_or_the_log() {
    let mut process = DeliveringProcess::start();
    let url = unused_url().await;
    let token = process.issue_token("alice");
    let mut secrets = vec![("token", token.clone().into_bytes())];
    let mut add_secret = |name, text: &str| {
        secrets.push((name, text.as_bytes().to_vec()));
        secrets.push((name, BASE64_URL_SAFE_NO_PAD.encode(text).into_bytes()));
        text.to_owned()
    };
    let [subscription_auth, pusher_auth] = [
        ("secret of a subscription", "auth of a device"),
        ("secret of a pusher", "auth of a pusher"),
    ]
    .map(|(name, auth)| BASE64_URL_SAFE_NO_PAD.encode(add_secret(name, auth)));

    let mut subscription = subscription_body(&format!("{url}/capability"));
    subscription["subscription"]["keys"]["auth"] = subscription_auth.into();
    let server_key =
        process.post(SUBSCRIPTION, &token, &subscription).await["server_key"].to_string();
    let data = json!({ "url": format!("{url}/capability"), "auth": pusher_auth });
    let web_push = json!({ "kind": "webpush", "pushkey": client_keys().0, "data": data });
    for changes in [web_push, json!({})] {
        let body = pusher_body(&changes, &url);
        process.post(&format!("{PUSHERS}/set"), &process.issue_token("alice"), &body).await;
    }
    let notification = json!({
        "account": "@alice:ring.example", "type": "mention", "id": "1",
        "title": add_secret("title", "title of a notification"),
        "body": add_secret("body", "body of a notification"),
    });
    let response = process.post_as_product(NOTIFICATIONS, &notification).await;
    assert_eq!(response["accepted"], 1);
    let mut event = notify_body("$1", &["alice"]);
    event["event"]["content"]["body"] = add_secret("text", "text of an event").into();
    event["room"]["name"] = add_secret("room", "name of a room").into();
    event["sender_display_name"] = add_secret("sender", "name of a sender").into();
    assert_eq!(process.post_as_product(NOTIFY, &event).await["accepted"], 1);
    let is_attempted = |error: &str| !error.is_empty();
    process
        .wait_for_deliveries("alice", |delivery| {
            delivery["error"].as_str().is_some_and(is_attempted)
        })
        .await;

    let sealing_key = std::fs::read(process.path().join(KEY_FILE)).unwrap();
    secrets.push(("sealing key", sealing_key.trim_ascii().to_vec()));
    secrets.push(("VAPID key", PKCS8_PREFIX.to_vec()));
    secrets.push(("VAPID key", BASE64_URL_SAFE_NO_PAD.encode(PKCS8_PREFIX).into_bytes()));
    process.run(&["backup", "copy.db"]);
    let data_directory = process.path().join("data");
    assert!(data_directory.join("belfry.db-wal").exists());
    let data = read_all_files(&data_directory);
    let backup = std::fs::read(process.path().join("copy.db")).unwrap();
    let audit_trail = process.run(&["audit", "--json"]).into_bytes();
    process.stop();
    let log = process.server().log().into_bytes();

    let server_key = server_key.trim_matches('"');
    let mut found = Vec::new();
    for (place, bytes, expected) in [
        ("data", &data, [server_key, "capability", ".m.rule.room_one_to_one"]),
        ("backup", &backup, [server_key, "capability", "org.example.app"]),
        ("audit trail", &audit_trail, ["receiver_add", "alice", "token_issue"]),
        ("log", &log, ["/_matrix/app/v1/notify", SUBSCRIPTION, "/_matrix/app/v1/notifications"]),
    ] {
        for text in expected {
            assert!(contains(bytes, text.as_bytes()), "the search must find {text} in the {place}");
        }
        for (name, secret) in &secrets {
            assert!(secret.len() >= 14, "{name}");
            if contains(bytes, secret) {
                found.push((place, *name));
            }
        }
    }
    for (place, bytes) in [("audit trail", audit_trail), ("log", log)] {
        if contains(&bytes, b"capability") {
            found.push((place, "URL of a device"));
        }
    }
    assert_eq!(found, []);
}
