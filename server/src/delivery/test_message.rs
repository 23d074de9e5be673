//! Test messages, which a user or an operator sends to a receiver.

use std::time::Duration;

use belfry_core::push::message::Message;
use belfry_runtime::random;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Store, StoreError, StoredReceiver};
use jiff::Timestamp;

use super::outgoing::{DeliveryTarget, OutgoingMessage};

/// Time after which a test is no longer sent.
const LIFETIME: Duration = Duration::from_mins(10);

/// The title and body that the device shows.
#[derive(Debug, Clone)]
pub struct TestText {
    /// The title.
    pub title: String,
    /// The body.
    pub body: String,
}

/// Stores a test for a receiver, which gets it like every other message. Returns the test's event
/// id in the delivery log; `None` if the receiver gets no messages, or too many are waiting for it.
pub async fn enqueue_test(
    store: &Store,
    sealing_key: &SealingKey,
    receiver: &StoredReceiver,
    text: TestText,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    let event_id = format!("test-{}", random::hex_id());
    let content = Message::Test { id: event_id.clone(), title: text.title, body: text.body };
    let message = OutgoingMessage { content, source: "", ttl: LIFETIME };
    let target = DeliveryTarget::from(receiver);
    let (stored_count, _) = message.enqueue(store, sealing_key, &[target], now).await?;
    Ok((stored_count > 0).then_some(event_id))
}
