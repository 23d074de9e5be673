//! Pushers for Web Push that their device has to acknowledge.

use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use belfry::config::{Config, RateLimitMode};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use super::{DeliveringService, PUSHERS, pusher_body};
use crate::support::{PushService, TestClient, TestDatabase, TestResponse};

/// The secret `auth` of every device.
const AUTH: [u8; 16] = [7; 16];

/// Bytes of the header of an encrypted message before the sender's public key.
const SALT_AND_SIZES_BYTES: usize = 21;
const PUBLIC_KEY_BYTES: usize = 65;

/// A device with a key pair, which can decrypt one message.
struct Device {
    private_key: EphemeralPrivateKey,
    public_key: Vec<u8>,
}

struct NonceLength;

impl KeyType for NonceLength {
    fn len(&self) -> usize {
        NONCE_LEN
    }
}

impl Device {
    fn new() -> Self {
        let private_key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public_key = private_key.compute_public_key().unwrap().as_ref().to_owned();
        Self { private_key, public_key }
    }

    fn pusher_body(&self, url: &str) -> Value {
        json!({
            "kind": "org.matrix.msc4174.webpush", "app_id": "web", "lang": "en",
            "pushkey": BASE64_URL_SAFE_NO_PAD.encode(&self.public_key),
            "app_display_name": "Web", "device_display_name": "Browser",
            "data": { "url": url, "auth": BASE64_URL_SAFE_NO_PAD.encode(AUTH) },
        })
    }

    /// Decrypts a message as in RFC 8291.
    fn decrypt(self, message: &[u8]) -> Value {
        let (header, text) = message.split_at(SALT_AND_SIZES_BYTES + PUBLIC_KEY_BYTES);
        let salt = &header[..16];
        let sender_key = &header[SALT_AND_SIZES_BYTES..];
        let key_info = [b"WebPush: info\0", &*self.public_key, sender_key];
        let sender_key = UnparsedPublicKey::new(&ECDH_P256, sender_key);
        let mut input_key = [0; 32];
        agree_ephemeral(self.private_key, &sender_key, |shared_secret| {
            let secret = Salt::new(HKDF_SHA256, &AUTH).extract(shared_secret);
            secret.expand(&key_info, HKDF_SHA256).unwrap().fill(&mut input_key).unwrap();
        })
        .unwrap();
        let secret = Salt::new(HKDF_SHA256, salt).extract(&input_key);
        let key = secret.expand(&[b"Content-Encoding: aes128gcm\0"], &AES_128_GCM).unwrap();
        let mut nonce = [0; NONCE_LEN];
        let nonce_info = [&b"Content-Encoding: nonce\0"[..]];
        secret.expand(&nonce_info, NonceLength).unwrap().fill(&mut nonce).unwrap();
        let mut text = text.to_vec();
        let text = LessSafeKey::new(UnboundKey::from(key))
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut text)
            .unwrap();
        serde_json::from_slice(text.strip_suffix(&[2]).unwrap()).unwrap()
    }
}

impl TestClient {
    /// Sends the acknowledgement that a device has received.
    async fn acknowledge(&self, acknowledgement: &Value) -> TestResponse {
        self.send(&format!("POST {PUSHERS}/ack"), acknowledgement.to_string()).await
    }
}

/// The push key is public, so only the acknowledgement proves that the device belongs to the user.
#[tokio::test]
async fn a_push_key_is_taken_from_other_accounts_only_after_the_acknowledgement() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let alice = fixture.service.user_client("alice").await;
    let bob = fixture.service.user_client("bob").await;
    let device = Device::new();
    let body = device.pusher_body(&push_service.url);
    alice.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    push_service.wait_for(1).await;
    // The device can decrypt only one message, which is the one for Bob.
    fixture.service.execute_sql("update receivers set ack_digest = null, ack_expires_at = null");
    assert_eq!(alice.pushers().await[0]["activated"], true);

    bob.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    let requests = push_service.wait_for(2).await;
    assert_eq!(alice.pushers().await[0]["activated"], true);
    assert_eq!(fixture.notify("$1", &["alice", "bob"]).await["accepted"], 1);
    push_service.wait_for(3).await;

    let acknowledgement = device.decrypt(&requests[1].body);
    bob.acknowledge(&acknowledgement).await.expect_json(StatusCode::OK);
    assert_eq!(alice.pushers().await, json!([]));
    assert_eq!(bob.pushers().await[0]["activated"], true);
    assert_eq!(fixture.notify("$2", &["alice", "bob"]).await["accepted"], 1);
    push_service.wait_for(4).await;
}

#[tokio::test]
async fn an_acknowledgement_is_rejected_after_5_minutes() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let mut count = 0;
    for (name, seconds, error) in [
        ("alice", 5 * 60 - 1, None),
        ("bob", 5 * 60, Some((400, "M_EXPIRED_ACTIVATION_TOKEN".to_owned()))),
    ] {
        let client = fixture.service.user_client(name).await;
        let device = Device::new();
        let body = device.pusher_body(&push_service.url);
        client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
        count += 1;
        let requests = push_service.wait_for(count).await;
        let acknowledgement = device.decrypt(&requests[count - 1].body);
        fixture.service.clock.advance(seconds);
        let response = client.acknowledge(&acknowledgement).await;
        if error.is_some() {
            assert_eq!(Some(response.status_and_errcode()), error);
        } else {
            response.expect_json(StatusCode::OK);
        }
        assert_eq!(client.pushers().await[0]["activated"], error.is_none());
    }
}

/// Each of these messages goes to a URL that the user chooses.
#[tokio::test]
async fn acknowledgements_count_as_tests_of_devices() {
    let push_service = PushService::start().await;
    let enforce = |config: &mut Config| config.limits.mode = RateLimitMode::Enforce;
    let fixture = DeliveringService::start_on(TestDatabase::sqlite(), enforce).await;
    let client = fixture.service.user_client("alice").await;
    let device = Device::new();
    let body = device.pusher_body(&push_service.url);
    client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    let requests = push_service.wait_for(1).await;
    client.acknowledge(&device.decrypt(&requests[0].body)).await.expect_json(StatusCode::OK);
    // Setting the same device again sends nothing.
    for _ in 0..10 {
        client.set_pusher(&body).await.expect_json(StatusCode::OK);
    }
    for _ in 0..4 {
        let body = Device::new().pusher_body(&push_service.url);
        client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    }
    let body = Device::new().pusher_body(&push_service.url);
    let response = client.set_pusher(&body).await;
    assert_eq!(response.header("retry-after"), "60");
    let error = response.expect_json(StatusCode::TOO_MANY_REQUESTS);
    let expected = json!({
        "errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests", "retry_after_ms": 60_000,
    });
    assert_eq!(error, expected);
    assert_eq!(client.pushers().await.as_array().unwrap().len(), 5, "nothing is stored");
    // Other kinds of pushers and other accounts are not affected.
    let gateway = pusher_body(&json!({}), &push_service.url);
    client.set_pusher(&gateway).await.expect_json(StatusCode::OK);
    let bob = fixture.service.user_client("bob").await;
    bob.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    fixture.service.clock.advance(60);
    client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
}
