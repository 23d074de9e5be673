//! Storing messages with their deliveries.

use std::time::Duration;

use belfry_core::push::message::{DeliveryDetails, Message};
use belfry_core::secret::Sha256Digest;
use belfry_runtime::random;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Admission, NewDelivery, NewMessage, Receiver, Store, StoreError};
use jiff::Timestamp;
use serde_json::json;

use crate::sealed::seal_message;

/// Maximum number of deliveries stored in one transaction, so that it ends before the database's
/// timeout. If a later transaction fails, a repeated request stores the remaining deliveries.
const MAX_DELIVERIES_PER_TRANSACTION: usize = 10_000;

/// Time after which a test is no longer sent.
const TEST_LIFETIME: Duration = Duration::from_mins(10);

/// A message to be stored, with the properties that its deliveries share.
pub struct OutgoingMessage<'a> {
    pub content: Message,
    /// The id of the application service that requested it; empty for messages of this server.
    pub source: &'a str,
    /// Time after which an undelivered message expires.
    pub ttl: Duration,
    /// The topic, in which a newer message replaces one that waits for the same receiver.
    pub topic: Option<&'a str>,
}

/// A receiver for which a message is stored, and the details of its delivery.
pub struct DeliveryTarget {
    pub account_id: i64,
    /// The receiver's id, unique within the account.
    pub receiver_id: i64,
    pub origin: String,
    /// The properties that differ between deliveries.
    pub details: DeliveryDetails,
}

impl From<&Receiver> for DeliveryTarget {
    fn from(receiver: &Receiver) -> Self {
        Self {
            account_id: receiver.account_id,
            receiver_id: receiver.id,
            origin: receiver.origin.clone(),
            details: DeliveryDetails::default(),
        }
    }
}

impl OutgoingMessage<'_> {
    /// Stores the message for these targets. Returns the number of its deliveries, including
    /// those that an earlier request with the same deduplication keys has stored, and the targets
    /// for which no delivery was added.
    pub(super) async fn enqueue<'a>(
        &self,
        store: &Store,
        sealing_key: &SealingKey,
        targets: &'a [DeliveryTarget],
        admission: Admission,
        now: Timestamp,
    ) -> Result<(usize, Vec<&'a DeliveryTarget>), StoreError> {
        let topic = self.topic.map(|topic| self.content.topic_digest(self.source, topic));
        let mut count = 0;
        let mut not_added = Vec::new();
        for chunk in targets.chunks(MAX_DELIVERIES_PER_TRANSACTION) {
            let deliveries: Vec<NewDelivery> =
                chunk.iter().map(|target| self.to_delivery(target, topic.clone(), now)).collect();
            // Each chunk has a separate message, which is deleted with its last delivery.
            let id = random::hex_id();
            let content = seal_message(sealing_key, &id, &self.content);
            let message = NewMessage { id, content };
            let stored = store.enqueue(&message, &deliveries, admission, now).await?;
            count += stored.new.len() + stored.repeated;
            let is_new = |delivery: &NewDelivery| stored.new.contains(&delivery.dedup_key);
            let pairs = chunk.iter().zip(&deliveries);
            not_added.extend(pairs.filter(|pair| !is_new(pair.1)).map(|(target, _)| target));
        }
        Ok((count, not_added))
    }

    /// Returns the key that recognises the delivery to this target if the request is repeated.
    pub(super) fn dedup_key(&self, target: &DeliveryTarget) -> Sha256Digest {
        let kind = self.content.kind();
        let event_id = self.content.event_id();
        let key = json!([kind, self.source, event_id, target.account_id, target.receiver_id]);
        Sha256Digest::compute(&key.to_string())
    }

    fn to_delivery(
        &self,
        target: &DeliveryTarget,
        topic: Option<String>,
        now: Timestamp,
    ) -> NewDelivery {
        NewDelivery {
            dedup_key: self.dedup_key(target),
            account_id: target.account_id,
            receiver_id: target.receiver_id,
            event_id: self.content.event_id(),
            room_id: self.content.room_id().map(str::to_owned),
            topic,
            details: DeliveryDetails { kind: self.content.kind(), ..target.details.clone() },
            expires_at: now.checked_add(self.ttl).unwrap_or(now),
        }
    }
}

/// Stores a test with this title and body for a receiver, which gets it like every other message.
/// Returns the test's event id in the delivery log; `None` if the receiver gets no messages, or too
/// many are waiting for it.
pub async fn enqueue_test(
    store: &Store,
    sealing_key: &SealingKey,
    receiver: &Receiver,
    title: &str,
    body: &str,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    let event_id = format!("test-{}", random::hex_id());
    let content =
        Message::Test { id: event_id.clone(), title: title.to_owned(), body: body.to_owned() };
    let message = OutgoingMessage { content, source: "", ttl: TEST_LIFETIME, topic: None };
    let target = DeliveryTarget::from(receiver);
    let targets = [target];
    let (stored_count, _) =
        message.enqueue(store, sealing_key, &targets, Admission::All, now).await?;
    Ok((stored_count > 0).then_some(event_id))
}
