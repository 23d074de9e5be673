//! Delivery of notifications to devices: subscriptions, pushers, the queue, and the messages that
//! push services receive.

mod acknowledgement;
mod attacks;
mod first_message;
mod keys;
mod nodes;
mod notifications;
mod notify;
mod origins;
pub(crate) mod process;
mod pushers;
mod queue;
mod read_elsewhere;
mod restarts;
mod secrets;
mod silence;
mod subscriptions;

use std::time::Duration;

use axum::http::StatusCode;
use belfry::config::{Config, RateLimitMode};
use belfry_store::Store;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use crate::evaluation::APPLICATION_SERVICE_SETTINGS;
use crate::support::{Service, TestClient, TestDatabase, TestResponse};

pub(crate) const SUBSCRIPTION: &str = "/api/v1/push/subscription";
pub(crate) const PUSHERS: &str = "/_matrix/client/v3/pushers";
pub(crate) const NOTIFY: &str = "POST /_matrix/app/v1/notify";
pub(crate) const NOTIFICATIONS: &str = "POST /_matrix/app/v1/notifications";

/// Settings of a server that may send to this machine.
pub(crate) const PUSH_SETTINGS: &str = "[push]\ncontact = 'mailto:ops@ring.example'\n\
    allowed_networks = ['127.0.0.0/8']\n";

/// A service that delivers notifications, and a client with its application service's token.
pub(crate) struct DeliveringService {
    pub(crate) service: Service,
    pub(crate) product: TestClient,
    key_directory: tempfile::TempDir,
}

pub(crate) async fn start_delivering(database: TestDatabase) -> DeliveringService {
    DeliveringService::start_on(database, |_| {}).await
}

impl DeliveringService {
    pub(crate) async fn start() -> Self {
        Self::start_on(TestDatabase::sqlite(), |_| {}).await
    }

    /// Starts a service without rate limits that may send to this machine, with changed settings.
    /// Its worker runs until the test ends.
    pub(crate) async fn start_on(database: TestDatabase, change: impl FnOnce(&mut Config)) -> Self {
        let key_directory = tempfile::tempdir().unwrap();
        let settings = format!(
            "secret_key_file = '{}'\n{APPLICATION_SERVICE_SETTINGS}{PUSH_SETTINGS}",
            key_directory.path().join("belfry.key").display()
        );
        let mut config: Config = toml::from_str(&settings).unwrap();
        config.limits.mode = RateLimitMode::Off;
        change(&mut config);
        let service = Box::pin(Service::start_on(database, config)).await;
        let delivery = service.state.delivery.as_ref().unwrap();
        tokio::spawn(std::sync::Arc::clone(&delivery.worker).run());
        let product = service.anonymous_client().with_token("token of product");
        Self { service, product, key_directory }
    }

    /// Subscribes a new token of a user to mentions. Returns a client with that token.
    pub(crate) async fn subscribe(&self, name: &str, endpoint: &str) -> TestClient {
        let client = self.service.user_client(name).await;
        let body = subscription_body(endpoint).to_string();
        client
            .with_json()
            .send(&format!("POST {SUBSCRIPTION}"), body)
            .await
            .expect_json(StatusCode::OK);
        client
    }

    /// Sets a pusher for a new token of a user. Returns a client with that token.
    pub(crate) async fn set_pusher(&self, name: &str, changes: &Value, url: &str) -> TestClient {
        let client = self.service.user_client(name).await;
        client.set_pusher(&pusher_body(changes, url)).await.expect_json(StatusCode::OK);
        client
    }

    /// Sends a mention to an account's subscriptions. Returns the number of accepted messages.
    pub(crate) async fn mention(&self, name: &str, id: u64) -> u64 {
        let body = json!({
            "account": format!("@{name}:ring.example"), "type": "mention", "id": id.to_string(),
            "title": "bob mentioned you", "body": "hello",
        });
        let response = self.product.send(NOTIFICATIONS, body.to_string()).await;
        response.expect_json(StatusCode::OK)["accepted"].as_u64().unwrap()
    }

    /// Sends an event to members. Returns the response.
    pub(crate) async fn notify(&self, event_id: &str, names: &[&str]) -> Value {
        let body = notify_body(event_id, names).to_string();
        self.product.send(NOTIFY, body).await.expect_json(StatusCode::OK)
    }

    /// Waits until the queue is empty.
    pub(crate) async fn wait_until_idle(&self) {
        wait_until_idle(self.service.store()).await;
    }
}

impl TestClient {
    pub(crate) fn with_json(&self) -> Self {
        self.with_header("content-type", "application/json")
    }

    pub(crate) async fn set_pusher(&self, body: &Value) -> TestResponse {
        self.send(&format!("POST {PUSHERS}/set"), body.to_string()).await
    }

    pub(crate) async fn pushers(&self) -> Value {
        self.get(PUSHERS).await.expect_json(StatusCode::OK)["pushers"].clone()
    }
}

/// Returns the settings of a server process with the name that [`notify_body`] uses.
fn process_settings() -> String {
    format!("server_name = 'ring.example'\n{APPLICATION_SERVICE_SETTINGS}{PUSH_SETTINGS}")
}

/// Waits until the queue is empty.
async fn wait_until_idle(store: &Store) {
    for _ in 0..3000 {
        if store.queue_status().await.unwrap().waiting == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("deliveries are still waiting");
}

/// Returns the keys of a new client: p256dh and auth.
pub(crate) fn client_keys() -> (String, String) {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    let public_key = BASE64_URL_SAFE_NO_PAD.encode(key.compute_public_key().unwrap());
    (public_key, BASE64_URL_SAFE_NO_PAD.encode([7; 16]))
}

pub(crate) fn subscription_body(endpoint: &str) -> Value {
    let (p256dh, auth) = client_keys();
    json!({
        "subscription": { "endpoint": endpoint, "keys": { "p256dh": p256dh, "auth": auth } },
        "data": { "alerts": { "mention": true, "follow": false }, "policy": "all" },
    })
}

/// Returns the body that sets a pusher at a push gateway. `changes` replaces default members.
pub(crate) fn pusher_body(changes: &Value, url: &str) -> Value {
    let mut body = json!({
        "kind": "http", "app_id": "org.example.app", "pushkey": "key1",
        "app_display_name": "Example", "device_display_name": "Phone", "lang": "en",
        "data": { "url": format!("{url}/_matrix/push/v1/notify") },
    });
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

pub(crate) fn notify_body(event_id: &str, names: &[&str]) -> Value {
    json!({
        "event": {
            "event_id": event_id, "type": "m.room.message", "room_id": "!r:x",
            "sender": "@bob:elsewhere.example",
            "content": { "msgtype": "m.text", "body": "hello" },
        },
        "room": { "name": "Cake", "member_count": 2 },
        "sender_display_name": "Bob",
        "members": crate::evaluation::members(names),
    })
}
