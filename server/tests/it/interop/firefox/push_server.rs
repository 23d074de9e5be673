//! A push server for one browser, with the protocol of Mozilla's autopush: the browser connects
//! with a WebSocket, and application servers post Web Push messages (RFC 8030) to the endpoints of
//! its subscriptions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};

/// The largest body that push services must accept.
const MAX_BODY_BYTES: usize = 4096;

pub(super) struct PushServer {
    /// `http://127.0.0.1:PORT`
    origin: String,
    /// The VAPID key of each subscription, by its channel ID.
    keys: Mutex<BTreeMap<String, String>>,
    /// The channel to the connection of the browser.
    browser: Mutex<Option<UnboundedSender<Value>>>,
    /// The content encoding of each message, and the code of the browser's acknowledgement, such as
    /// 100 for a delivered message. The index is the version of the message.
    deliveries: Mutex<Vec<(String, Value)>>,
}

impl PushServer {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Arc::new(Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            keys: Mutex::default(),
            browser: Mutex::default(),
            deliveries: Mutex::default(),
        });
        let router = Router::new()
            .route("/", get(accept_browser))
            .route("/push/{channel}", post(accept_message))
            .with_state(Arc::clone(&server));
        tokio::spawn(axum::serve(listener, router).into_future());
        server
    }

    /// Returns the URL to which the browser connects.
    pub(super) fn websocket_url(&self) -> String {
        self.origin.replace("http", "ws")
    }

    pub(super) fn is_connected(&self) -> bool {
        self.browser.lock().unwrap().is_some()
    }

    pub(super) fn deliveries(&self) -> Vec<(String, Value)> {
        self.deliveries.lock().unwrap().clone()
    }

    /// Answers the browser, and sends it the messages for its subscriptions.
    async fn serve_browser(&self, mut socket: WebSocket) {
        let (sender, mut messages) = mpsc::unbounded_channel();
        loop {
            let message = tokio::select! {
                Some(message) = messages.recv() => Some(message),
                request = socket.recv() => match request {
                    Some(Ok(Message::Text(text))) => {
                        self.respond(&serde_json::from_str(&text).unwrap(), &sender)
                    }
                    Some(Ok(_)) => None,
                    Some(Err(_)) | None => return,
                },
            };
            if let Some(message) = message {
                drop(socket.send(Message::text(message.to_string())).await);
            }
        }
    }

    /// Handles a request of the browser. Returns the response, if the protocol has one.
    fn respond(&self, request: &Value, sender: &UnboundedSender<Value>) -> Option<Value> {
        let Some(message_type) = request["messageType"].as_str() else {
            return Some(json!({})); // a ping
        };
        let channel = &request["channelID"];
        let mut response = json!({ "messageType": message_type, "status": 200 });
        match message_type {
            "hello" => {
                *self.browser.lock().unwrap() = Some(sender.clone());
                response["uaid"] = "browser".into();
                response["use_webpush"] = true.into();
            }
            "register" => {
                let [channel, key] = [channel, &request["key"]].map(|text| text.as_str().unwrap());
                let key = key.trim_end_matches('=').to_owned();
                self.keys.lock().unwrap().insert(channel.to_owned(), key);
                response["channelID"] = channel.into();
                response["pushEndpoint"] = format!("{}/push/{channel}", self.origin).into();
            }
            "unregister" => {
                self.keys.lock().unwrap().remove(channel.as_str().unwrap());
                response["channelID"] = channel.clone();
            }
            "ack" => {
                for update in request["updates"].as_array().unwrap() {
                    let version: usize = update["version"].as_str().unwrap().parse().unwrap();
                    self.deliveries.lock().unwrap()[version].1 = update["code"].clone();
                }
                return None;
            }
            _ => return None,
        }
        Some(response)
    }

    /// Returns whether a VAPID token for this server is signed with the key, which must also be a
    /// parameter of `Authorization` (RFC 8292) or `Crypto-Key` (its draft).
    fn is_authorized(&self, authorization: &str, crypto_key: &str, key: &str) -> Option<bool> {
        let (token, sent_key) = match authorization.split_once(' ')? {
            ("vapid", list) => (parameter(list, "t")?, parameter(list, "k")?),
            ("WebPush", token) => (token, parameter(crypto_key, "p256ecdsa")?),
            _ => return None,
        };
        let (signed, signature) = token.rsplit_once('.')?;
        let decode = |text| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let claims: Value = serde_json::from_slice(&decode(signed.split_once('.')?.1)?).ok()?;
        let public_key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(key)?);
        public_key.verify(signed.as_bytes(), &decode(signature)?).ok()?;
        Some(sent_key == key && claims["aud"] == *self.origin)
    }
}

/// Returns the value of a parameter in a list such as `t=…, k=…`.
fn parameter<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    list.split([',', ';']).find_map(|item| item.trim().strip_prefix(name)?.strip_prefix('='))
}

async fn accept_browser(
    State(server): State<Arc<PushServer>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade.protocols(["push-notification"]);
    upgrade.on_upgrade(|socket| async move { server.serve_browser(socket).await })
}

async fn accept_message(
    State(server): State<Arc<PushServer>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some(key) = server.keys.lock().unwrap().get(&channel).cloned() else {
        return StatusCode::GONE;
    };
    if header("ttl").parse::<u32>().is_err() {
        return StatusCode::BAD_REQUEST;
    }
    let is_authorized = server.is_authorized(header("authorization"), header("crypto-key"), &key);
    if is_authorized != Some(true) {
        return StatusCode::UNAUTHORIZED;
    }
    if body.len() > MAX_BODY_BYTES {
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    let mut deliveries = server.deliveries.lock().unwrap();
    let message = json!({
        "messageType": "notification", "channelID": channel,
        "version": deliveries.len().to_string(), "data": BASE64_URL_SAFE_NO_PAD.encode(body),
        "headers": {
            "encoding": header("content-encoding"),
            "encryption": header("encryption"),
            "crypto_key": header("crypto-key"),
        },
    });
    let browser = server.browser.lock().unwrap();
    if browser.as_ref().is_none_or(|browser| browser.send(message).is_err()) {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    deliveries.push((header("content-encoding").to_owned(), Value::Null));
    StatusCode::CREATED
}
