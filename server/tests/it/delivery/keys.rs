//! VAPID keys: a key that is added while the server runs, and keys sealed with a lost sealing key.

use axum::http::StatusCode;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::receiver::ReceiverSecrets;
use belfry_delivery::sealed::seal_secrets;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{KeyPurpose, Receiver};
use serde_json::Value;

use super::{DeliveringService, SUBSCRIPTION};
use crate::support::{PushService, TestClient, any_events};

impl DeliveringService {
    fn sealing_key(&self) -> SealingKey {
        SealingKey::read(&self.key_directory.path().join("belfry.key")).unwrap()
    }

    /// Adds a VAPID key that the server does not know yet. Returns its public key.
    async fn add_vapid_key(&self) -> String {
        let store = self.service.store();
        let newest = store.signing_keys(KeyPurpose::VAPID).await.unwrap().pop().unwrap().public_key;
        // Keys are in the order of their creation, in seconds.
        self.service.clock.advance(1);
        let now = self.service.now();
        let events = any_events();
        let sealing_key = self.sealing_key();
        let purpose = KeyPurpose::VAPID;
        let added = store.create_signing_key(&events, purpose, &sealing_key, Some(&newest), now);
        added.await.unwrap().unwrap()
    }

    async fn reload_keys(&self) {
        let delivery = self.service.state.delivery.as_ref().unwrap();
        delivery.reload_keys().await.unwrap();
    }

    async fn find_receiver(&self, name: &str) -> Option<Receiver> {
        let store = self.service.store();
        let account_id = store.account_by_name(name).await.unwrap().unwrap().id;
        store.receivers(account_id, self.service.now()).await.unwrap().into_iter().next()
    }
}

async fn server_key(client: &TestClient) -> Value {
    client.get(SUBSCRIPTION).await.expect_json(StatusCode::OK)["server_key"].clone()
}

#[tokio::test]
async fn new_subscriptions_use_a_new_key_and_old_ones_keep_theirs() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let old = fixture.subscribe("alice", &format!("{}/old", push_service.url)).await;
    let old_key = server_key(&old).await;
    let new_key = fixture.add_vapid_key().await;
    fixture.reload_keys().await;
    let instance = old.get("/api/v2/instance").await.expect_json(StatusCode::OK);
    assert_eq!(instance["configuration"]["vapid"]["public_key"], new_key);
    let new = fixture.subscribe("alice", &format!("{}/new", push_service.url)).await;
    assert_eq!((server_key(&old).await, server_key(&new).await), (old_key.clone(), new_key.into()));
    assert_eq!(fixture.mention("alice", 1).await, 2);
    for request in push_service.wait_for(2).await {
        let client = if request.path == "/old" { &old } else { &new };
        let key = server_key(client).await;
        assert!(request.header("crypto-key").ends_with(key.as_str().unwrap()), "{request:?}");
    }
}

/// On another node, a client has subscribed with a key that was added a moment ago.
#[tokio::test]
async fn a_message_waits_until_the_key_of_its_receiver_is_known() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.subscribe("alice", &push_service.url).await;
    let known = fixture.find_receiver("alice").await.unwrap();
    client.send(&format!("DELETE {SUBSCRIPTION}"), "").await.expect_json(StatusCode::OK);
    let new_key = fixture.add_vapid_key().await;
    let receiver = Receiver { vapid_key: Some(new_key), ..with_new_secrets(&fixture, &known) };
    fixture.service.store().set_receiver(&any_events(), &receiver).await.unwrap();
    fixture.mention("alice", 1).await;
    let delivery = fixture.wait_for_attempts("alice", 1).await;
    assert_eq!(delivery.outcome, None);
    assert_eq!(delivery.error, Some(AttemptError::VapidKeyUnknown));
    fixture.reload_keys().await;
    fixture.service.clock.advance(60);
    push_service.wait_for(1).await;
}

/// Returns a receiver like this one, without a token and with new secrets.
fn with_new_secrets(fixture: &DeliveringService, receiver: &Receiver) -> Receiver {
    let account_id = receiver.account_id;
    let id = 5;
    let (_, auth) = super::client_keys();
    let secrets = ReceiverSecrets { auth: Some(auth), ..Default::default() };
    Receiver {
        account_id,
        id,
        token: None,
        document: receiver.document.clone(),
        secrets: seal_secrets(&fixture.sealing_key(), account_id, id, &secrets),
        origin: receiver.origin.clone(),
        vapid_key: receiver.vapid_key.clone(),
        pending_ack: None,
        created_at: receiver.created_at,
        succeeded_at: None,
        failed_at: None,
        failure: None,
        denied_since: None,
        denied_count: 0,
        failures: 0,
        is_proven: false,
    }
}
