//! Delivery of notifications to devices: the keys of this installation, its queue and its worker.

mod backlog;
pub mod event_delivery;
pub(crate) mod outgoing;
pub(crate) mod registration;
pub mod test_message;

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::secret::Sha256Digest;
use belfry_delivery::outbound::{OutboundClient, OutboundOptions};
use belfry_delivery::sender::Sender;
use belfry_delivery::vapid_keys::{LoadKeysError, VapidKeys};
use belfry_delivery::worker::Worker;
use belfry_runtime::certificate::verifier::system_authorities;
use belfry_runtime::clock::Clock;
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Database, KeyPurpose, Store, StoreError, StoredReceiver};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use self::backlog::{Backlog, QueueFull};
use self::outgoing::{DeliveryTarget, OutgoingMessage};
use self::test_message::{TestText, enqueue_test};
use crate::config::Config;

/// What to do if the sealing key is missing although the database has data that it sealed.
const LOST_KEY_ADVICE: &str = "the database has secrets that it sealed, so put a copy of the file back; if there is none, \
     create a key with `belfry key new` and run `belfry push key new --replace-lost-key`";

/// Maximum number of targets of a message. Each takes up to 1 KiB of memory until it is stored.
pub(crate) const MAX_TARGETS: usize = 100_000;

/// Delivers notifications to devices. Exists only if `push.contact` is set.
pub struct Delivery {
    sealing_key: SealingKey,
    keys: Arc<VapidKeys>,
    /// The addresses to which messages may be sent.
    pub addresses: PushAddressPolicy,
    /// Sends the messages in the queue.
    pub worker: Arc<Worker>,
    backlog: Backlog,
    /// One permit for each target whose delivery may be stored at the same time.
    stored_targets: Semaphore,
}

/// The reason why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// Too many deliveries are waiting, or being stored.
    #[error("too many messages are waiting to be delivered")]
    QueueFull,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<QueueFull> for EnqueueError {
    fn from(QueueFull: QueueFull) -> Self {
        Self::QueueFull
    }
}

impl Delivery {
    /// Loads or creates the keys, creates the worker and counts the waiting deliveries. Returns
    /// `None` if `push.contact` is not set.
    pub async fn open(
        config: &Config,
        store: &Store,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Self>, Box<dyn Error + Send + Sync>> {
        let (Some(contact), Some(key_path)) = (&config.push.contact, config.sealing_key_path())
        else {
            return Ok(None);
        };
        let is_sqlite = matches!(config.database(), Database::Sqlite(_));
        // A new sealing key would make the stored secrets unreadable for good.
        let has_sealed_rows = !store.signing_keys(KeyPurpose::VAPID).await?.is_empty();
        let sealing_key =
            load_sealing_key(&key_path, is_sqlite && !has_sealed_rows).map_err(|error| {
                match (has_sealed_rows, key_path.try_exists()) {
                    (true, Ok(false)) => format!("{error}; {LOST_KEY_ADVICE}"),
                    _ => error,
                }
            })?;
        let keys = VapidKeys::load(store, &sealing_key, contact.as_str(), clock.now()).await?;
        if keys.lost_count() > 0 {
            let message = "VAPID keys were sealed with a different sealing key: receivers that \
                           were registered with them get no messages";
            tracing::warn!(keys = keys.lost_count(), "{message}");
        }
        if is_sqlite {
            // SQLite has one node, so all claims are left from its previous run.
            store.release_all_claims().await?;
        }
        let addresses = PushAddressPolicy::new(config.push.allowed_networks.clone());
        let keys = Arc::new(keys);
        let sender = Sender {
            client: OutboundClient::new(OutboundOptions::new(
                addresses.clone(),
                system_authorities()?,
            )),
            address_policy: addresses.clone(),
            sealing_key: sealing_key.clone(),
            vapid_keys: Arc::clone(&keys),
            clock: Arc::clone(clock),
        };
        let worker = Arc::new(Worker::new(store.clone(), sender, Arc::clone(clock)));
        let delivery = Self {
            sealing_key,
            keys,
            addresses,
            worker,
            backlog: Backlog::new(config.push.max_waiting as u64),
            stored_targets: Semaphore::new(2 * MAX_TARGETS),
        };
        delivery.count_backlog(store).await?;
        Ok(Some(delivery))
    }

    /// Returns the public VAPID key that clients need to subscribe.
    pub fn vapid_key(&self) -> String {
        self.keys.newest()
    }

    /// Loads keys that an operator has added. Call it regularly.
    pub async fn reload_keys(&self, store: &Store) -> Result<(), LoadKeysError> {
        self.keys.reload(store, &self.sealing_key).await
    }

    /// Accepts a message for these targets: when this returns, it is durable. A target is omitted if
    /// too many messages wait for its origin. Returns the number of accepted deliveries, including
    /// those that an earlier request with the same deduplication keys has stored.
    pub(crate) async fn enqueue(
        &self,
        store: &Store,
        message: &OutgoingMessage<'_>,
        mut targets: Vec<DeliveryTarget>,
        now: Timestamp,
    ) -> Result<usize, EnqueueError> {
        if targets.is_empty() {
            return Ok(0);
        }
        let permits = u32::try_from(targets.len()).unwrap_or(u32::MAX);
        let _permits = self.stored_targets.try_acquire_many(permits).map_err(|_| QueueFull)?;
        let mut repeated = 0;
        if !self.backlog.has_space_for(&targets) {
            // A repeated request needs no space.
            let keys: Vec<Sha256Digest> =
                targets.iter().map(|target| message.dedup_key(target)).collect();
            let stored_keys = store.stored_deliveries(&keys).await?;
            repeated = stored_keys.len();
            let mut keys = keys.iter();
            targets.retain(|_| keys.next().is_some_and(|key| !stored_keys.contains(key)));
        }
        self.backlog.reserve(&mut targets)?;
        let (accepted, not_added) =
            message.enqueue(store, &self.sealing_key, &targets, now).await?;
        self.backlog.release(not_added.into_iter());
        self.worker.wake();
        Ok(repeated + accepted)
    }

    /// Sends a test to a receiver. Returns the test's event id in the delivery log; `None` if the
    /// receiver gets no messages, or too many are waiting for it.
    pub(crate) async fn send_test(
        &self,
        store: &Store,
        receiver: &StoredReceiver,
        text: TestText,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let event_id = enqueue_test(store, &self.sealing_key, receiver, text, now).await?;
        self.worker.wake();
        Ok(event_id)
    }

    /// Counts the waiting deliveries. Call it regularly.
    pub async fn count_backlog(&self, store: &Store) -> Result<(), StoreError> {
        self.backlog.count(store).await
    }

    /// Writes the metrics of the attempts and of the queue.
    pub fn write_metrics(&self, out: &mut Exposition) {
        self.worker.metrics.write(self.backlog.status(), out);
    }
}

/// Reads the sealing key; a missing one is created if `create` is true.
pub fn load_sealing_key(path: &Path, create: bool) -> Result<SealingKey, String> {
    let describe = |verb: &str, error: io::Error| {
        let name = path.display();
        let reason = describe_file_error(path, &error);
        format!("cannot {verb} the sealing key {name}: {reason}")
    };
    match SealingKey::read(path) {
        Ok(key) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
            let key = SealingKey::random();
            key.write_new(path).map_err(|error| describe("create", error))?;
            let file = path.display();
            tracing::info!(%file, "created the sealing key; backups do not contain it, keep a copy");
            Ok(key)
        }
        Err(error) => Err(describe("read", error)),
    }
}
