//! Delivery of notifications to devices: the keys of this installation, its queue and its worker.

pub mod event_delivery;
pub(crate) mod outgoing;
pub(crate) mod registration;
pub mod test_message;

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use belfry_core::push::address::PushAddressPolicy;
use belfry_delivery::outbound::{OutboundClient, OutboundOptions};
use belfry_delivery::sender::Sender;
use belfry_delivery::vapid_keys::{LoadKeysError, VapidKeys};
use belfry_delivery::worker::Worker;
use belfry_runtime::certificate::verifier::system_authorities;
use belfry_runtime::clock::Clock;
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Database, QueueStatus, Store, StoreError, StoredReceiver};
use jiff::Timestamp;

use self::outgoing::{DeliveryTarget, OutgoingMessage};
use self::test_message::{TestText, enqueue_test};
use crate::config::Config;

/// What to do if the sealing key is missing although the database has data that it sealed.
const LOST_KEY_ADVICE: &str = "the database has secrets that it sealed, so put a copy of the file back; if there is none, \
     create a key with `belfry key new` and run `belfry push key new --replace-lost-key`";

/// Delivers notifications to devices. Exists only if `push.contact` is set.
pub struct Delivery {
    sealing_key: SealingKey,
    keys: Arc<VapidKeys>,
    /// The addresses to which messages may be sent.
    pub addresses: PushAddressPolicy,
    /// Sends the messages in the queue.
    pub worker: Arc<Worker>,
    /// Maximum number of waiting deliveries; at most half of them for one origin.
    max_waiting: u64,
    backlog: Mutex<Backlog>,
}

/// The waiting deliveries of all nodes when they were last counted, and those that this node has
/// accepted since then.
#[derive(Debug, Default)]
struct Backlog {
    status: QueueStatus,
    by_origin: HashMap<String, u64>,
}

/// The reason why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// Too many deliveries are waiting.
    #[error("too many messages are waiting to be delivered")]
    QueueFull,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
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
        let has_sealed_rows = !store.vapid_keys().await?.is_empty();
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
            max_waiting: config.push.max_waiting as u64,
            backlog: Mutex::default(),
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
        self.reserve(&mut targets)?;
        let accepted = message.enqueue(store, &self.sealing_key, targets, now).await?;
        self.worker.wake();
        Ok(accepted)
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

    /// Rejects a number of targets that exceeds the size of the queue.
    pub(crate) fn check_target_count(&self, count: usize) -> Result<(), EnqueueError> {
        if count as u64 > self.max_waiting {
            return Err(EnqueueError::QueueFull);
        }
        Ok(())
    }

    /// Reserves space in the queue for these targets, or returns `QueueFull`. Those whose origin
    /// has no space are removed, so that a dead push service affects only its own devices.
    fn reserve(&self, targets: &mut Vec<DeliveryTarget>) -> Result<(), EnqueueError> {
        let mut backlog = self.lock_backlog();
        let Backlog { status, by_origin } = &mut *backlog;
        let mut new_by_origin: HashMap<String, u64> = HashMap::new();
        targets.retain(|DeliveryTarget { origin, .. }| {
            let new_count = new_by_origin.entry(origin.clone()).or_default();
            let waiting = by_origin.get(origin).copied().unwrap_or_default() + *new_count;
            let has_space = waiting < self.max_waiting.div_ceil(2);
            *new_count += u64::from(has_space);
            has_space
        });
        let count = targets.len() as u64;
        if status.waiting + count > self.max_waiting {
            return Err(EnqueueError::QueueFull);
        }
        status.waiting += count;
        for (origin, new_count) in new_by_origin {
            *by_origin.entry(origin).or_default() += new_count;
        }
        Ok(())
    }

    /// Counts the waiting deliveries. Call it regularly.
    pub async fn count_backlog(&self, store: &Store) -> Result<(), StoreError> {
        let status = store.queue_status().await?;
        // Origins with a small share of the queue do not count individually.
        let min_backlog = i64::try_from(self.max_waiting.div_ceil(1000)).unwrap_or(i64::MAX);
        let origin_backlogs = store.lane_backlogs(min_backlog).await?.into_iter();
        let by_origin = origin_backlogs
            .map(|backlog| (backlog.origin, u64::try_from(backlog.waiting).unwrap_or_default()))
            .collect();
        *self.lock_backlog() = Backlog { status, by_origin };
        Ok(())
    }

    /// Writes the metrics of the attempts and of the queue.
    pub fn write_metrics(&self, out: &mut Exposition) {
        self.worker.metrics.write(self.lock_backlog().status, out);
    }

    fn lock_backlog(&self) -> std::sync::MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
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
