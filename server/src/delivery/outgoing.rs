//! Storing messages with their deliveries.

use std::time::Duration;

use belfry_core::push::message::{DeliveryDetails, Message, MessageKind};
use belfry_core::secret::Sha256Digest;
use belfry_delivery::sealed::seal_message;
use belfry_runtime::random;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{NewDelivery, NewMessage, Store, StoreError, StoredReceiver};
use jiff::Timestamp;
use serde_json::json;

/// Maximum number of deliveries stored in one transaction, so that it ends before the database's
/// timeout. If a later transaction fails, a repeated request stores the remaining deliveries.
const MAX_DELIVERIES_PER_TRANSACTION: usize = 10_000;

/// A message to be stored, with the properties that its deliveries share.
pub(crate) struct OutgoingMessage<'a> {
    pub(crate) content: Message,
    /// The id of the application service that requested it; empty for messages of this server.
    pub(crate) source: &'a str,
    /// Time after which an undelivered message expires.
    pub(crate) ttl: Duration,
}

/// A receiver for which a message is stored, and the details of its delivery.
pub(crate) struct DeliveryTarget {
    pub(crate) account_id: i64,
    pub(crate) receiver_id: i64,
    pub(crate) origin: String,
    pub(crate) details: DeliveryDetails,
}

impl From<&StoredReceiver> for DeliveryTarget {
    fn from(receiver: &StoredReceiver) -> Self {
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
    /// those that an earlier request with the same deduplication keys has stored.
    pub(crate) async fn enqueue(
        &self,
        store: &Store,
        sealing_key: &SealingKey,
        targets: Vec<DeliveryTarget>,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let deliveries: Vec<NewDelivery> =
            targets.into_iter().map(|target| self.to_delivery(target, now)).collect();
        let mut accepted = 0;
        for chunk in deliveries.chunks(MAX_DELIVERIES_PER_TRANSACTION) {
            // Each chunk has a separate message, which is deleted with its last delivery.
            let id = random::hex_id();
            let content = seal_message(sealing_key, &id, &self.content);
            accepted += store.enqueue(&NewMessage { id, content }, chunk, now).await?;
        }
        Ok(accepted)
    }

    fn to_delivery(&self, target: DeliveryTarget, now: Timestamp) -> NewDelivery {
        let (kind, event_id) = match &self.content {
            Message::Event(event) => (MessageKind::Event, event.event_id.clone()),
            Message::Notification(notification) => {
                (MessageKind::Notification, notification.id.to_string())
            }
            Message::Ack { .. } => (MessageKind::Ack, "ack".to_owned()),
            Message::Test { id, .. } => (MessageKind::Test, id.clone()),
        };
        let DeliveryTarget { account_id, receiver_id, details, .. } = target;
        let key = json!([kind, self.source, event_id, account_id, receiver_id]);
        NewDelivery {
            dedup_key: Sha256Digest::compute(&key.to_string()),
            account_id,
            receiver_id,
            event_id,
            details: DeliveryDetails { kind, ..details },
            expires_at: now.checked_add(self.ttl).unwrap_or(now),
        }
    }
}
