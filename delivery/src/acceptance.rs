//! Acceptance of messages and registration of receivers.

mod backlog;
pub mod outgoing;
pub mod registration;

use std::error::Error;
use std::sync::Arc;

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::secret::Sha256Digest;
use belfry_runtime::certificate::verifier::system_authorities;
use belfry_runtime::clock::Clock;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Receiver, Store, StoreError};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use self::backlog::Backlog;
use self::outgoing::{DeliveryTarget, OutgoingMessage, enqueue_test};
use crate::outbound::{OutboundClient, OutboundOptions};
use crate::sender::Sender;
use crate::vapid_keys::{LoadKeysError, VapidKeys};
use crate::worker::Worker;

/// Maximum number of targets of a message. Each takes up to 1 KiB of memory until it is stored.
pub const MAX_TARGETS: usize = 100_000;

/// Delivers notifications to devices.
pub struct Delivery {
    store: Store,
    sealing_key: SealingKey,
    keys: Arc<VapidKeys>,
    pub addresses: PushAddressPolicy,
    /// Sends the messages in the queue.
    pub worker: Arc<Worker>,
    backlog: Backlog,
    /// One permit for each target whose delivery may be stored at the same time.
    stored_targets: Semaphore,
}

/// The properties of an installation that delivery depends on.
pub struct DeliveryOptions {
    /// The contact that push services get with every message.
    pub contact: String,
    pub sealing_key: SealingKey,
    pub addresses: PushAddressPolicy,
    /// Maximum number of waiting deliveries; at most half of them for one origin.
    pub max_waiting: u64,
    /// True if no other node uses the database.
    pub is_only_node: bool,
}

/// The reason why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// Too many deliveries are waiting, or being stored.
    #[error("too many messages are waiting to be delivered")]
    QueueFull,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Delivery {
    /// Loads or creates the VAPID keys, creates the worker and counts the waiting deliveries.
    pub async fn open(
        store: Store,
        options: DeliveryOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let DeliveryOptions { contact, sealing_key, addresses, max_waiting, is_only_node } =
            options;
        let keys = VapidKeys::load(&store, &sealing_key, &contact, clock.now()).await?;
        if keys.lost_count() > 0 {
            let message = "VAPID keys were sealed with a different sealing key: receivers that \
                           were registered with them get no messages";
            tracing::warn!(keys = keys.lost_count(), "{message}");
        }
        if is_only_node {
            // All claims are left from the previous run.
            store.release_all_claims(clock.now()).await?;
        }
        let keys = Arc::new(keys);
        let sender = Sender {
            client: OutboundClient::new(OutboundOptions::new(
                addresses.clone(),
                system_authorities()?,
            )),
            address_policy: addresses.clone(),
            sealing_key: sealing_key.clone(),
            vapid_keys: Arc::clone(&keys),
            clock,
        };
        let worker = Arc::new(Worker::new(store.clone(), sender));
        let backlog = Backlog::new(max_waiting);
        let stored_targets = Semaphore::new(2 * MAX_TARGETS);
        let delivery =
            Self { store, sealing_key, keys, addresses, worker, backlog, stored_targets };
        delivery.count_backlog().await?;
        Ok(delivery)
    }

    /// Returns the public VAPID key that clients need to subscribe.
    pub fn vapid_key(&self) -> String {
        self.keys.newest()
    }

    /// Loads keys that an operator has added. Call it regularly.
    pub async fn reload_keys(&self) -> Result<(), LoadKeysError> {
        self.keys.reload(&self.store, &self.sealing_key).await
    }

    /// Accepts a message for these targets: when this returns, it is durable. A target is omitted if
    /// too many messages wait for its origin. Returns the number of accepted deliveries, including
    /// those that an earlier request with the same deduplication keys has stored.
    pub async fn enqueue(
        &self,
        message: &OutgoingMessage<'_>,
        mut targets: Vec<DeliveryTarget>,
        now: Timestamp,
    ) -> Result<usize, EnqueueError> {
        if targets.is_empty() {
            return Ok(0);
        }
        let permits = u32::try_from(targets.len()).unwrap_or(u32::MAX);
        let _permits =
            self.stored_targets.try_acquire_many(permits).map_err(|_| EnqueueError::QueueFull)?;
        let mut repeated = 0;
        if !self.backlog.has_space_for(&targets) {
            // A repeated request needs no space.
            let keys: Vec<Sha256Digest> =
                targets.iter().map(|target| message.dedup_key(target)).collect();
            let stored_keys = self.store.stored_deliveries(&keys).await?;
            repeated = stored_keys.len();
            let mut keys = keys.iter();
            targets.retain(|_| keys.next().is_some_and(|key| !stored_keys.contains(key)));
        }
        let admission = self.backlog.reserve(&mut targets)?;
        let (accepted, not_added) =
            message.enqueue(&self.store, &self.sealing_key, &targets, admission, now).await?;
        self.backlog.release(not_added.into_iter());
        self.worker.wake(targets.iter().map(|target| &*target.origin));
        Ok(repeated + accepted)
    }

    /// Sends a test with this title and body to a receiver. Returns the test's event id in the
    /// delivery log; `None` if the receiver gets no messages, or too many are waiting for it.
    pub async fn send_test(
        &self,
        receiver: &Receiver,
        title: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let event_id =
            enqueue_test(&self.store, &self.sealing_key, receiver, title, body, now).await?;
        self.worker.wake([&*receiver.origin]);
        Ok(event_id)
    }

    /// Counts the waiting deliveries. Call it regularly.
    pub async fn count_backlog(&self) -> Result<(), StoreError> {
        self.backlog.count(&self.store).await
    }

    pub fn write_metrics(&self, out: &mut Exposition) {
        self.worker.metrics.write(&self.backlog.status(), out);
    }
}
