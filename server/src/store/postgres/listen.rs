//! Cache invalidation between nodes by PostgreSQL's LISTEN/NOTIFY.
//!
//! A write sends its invalidations in its own transaction. Each node listens on a dedicated
//! connection and uses its cache only while that connection responds; otherwise it reads from the
//! database.
//!
//! A node invalidates its own cache on commit, so it ignores its own notifications: processing them
//! would cost the next reader a query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;

use crate::random;
use crate::store::cache::Cache;
use crate::store::engine::{Statement, sql};
use crate::store::invalidation::Invalidation;

/// Interval of the probes on the listening connection, and the time to wait for a response.
/// Together they are below the second within which a revoked token must be rejected by all nodes.
const PROBE_INTERVAL: Duration = Duration::from_millis(300);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The sender id in notifications, by which a node recognises its own.
pub(super) struct NodeId(AtomicU64);

impl NodeId {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(random_id()))
    }

    /// Replaces the id, so that notifications sent under the old one are processed like another
    /// node's. Call it before invalidating the cache when the outcome of a write is unknown: it may
    /// be committed later.
    pub(super) fn rotate(&self) {
        self.0.store(random_id(), Ordering::SeqCst);
    }

    /// The statement that notifies other nodes.
    pub(super) fn notify(&self, invalidation: Invalidation) -> Statement {
        sql("select pg_notify('belfry', $1)", [self.payload(invalidation).into()])
    }

    fn payload(&self, invalidation: Invalidation) -> String {
        format!("{} by {:016x}", invalidation.to_text(), self.0.load(Ordering::SeqCst))
    }

    /// Parses a notification; `None` if this node sent it.
    fn parse(&self, payload: &str) -> Option<Invalidation> {
        let (invalidation, sender) = payload.split_once(" by ").unwrap_or((payload, ""));
        let is_own = u64::from_str_radix(sender, 16) == Ok(self.0.load(Ordering::SeqCst));
        (!is_own).then(|| Invalidation::from_text(invalidation))
    }
}

fn random_id() -> u64 {
    u64::from_be_bytes(random::bytes())
}

/// Listens in a task until the handle is dropped, and reconnects whenever the connection is lost.
pub(super) fn start(
    config: Config,
    tls: MakeRustlsConnect,
    cache: Arc<Cache>,
    node_id: Arc<NodeId>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let reason = listen(&config, tls.clone(), &cache, &node_id).await;
            if cache.is_enabled() {
                tracing::warn!(%reason, "cache disabled, notifications cannot be received");
                cache.set_enabled(false);
            }
            sleep(PROBE_INTERVAL).await;
        }
    }))
}

/// Listens until the connection fails, and returns the reason.
async fn listen(
    config: &Config,
    tls: MakeRustlsConnect,
    cache: &Arc<Cache>,
    node_id: &Arc<NodeId>,
) -> String {
    let (client, mut connection) = match config.connect(tls).await {
        Ok(connected) => connected,
        Err(error) => return super::describe(&error),
    };
    let (receiving_cache, node_id) = (Arc::clone(cache), Arc::clone(node_id));
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    let receiver = tokio::spawn(messages.for_each(move |message| {
        if let Ok(AsyncMessage::Notification(notification)) = message
            && let Some(invalidation) = node_id.parse(notification.payload())
        {
            receiving_cache.invalidate(&[invalidation]);
        }
        future::ready(())
    }));
    let reason = probe(&client, cache).await;
    receiver.abort();
    reason
}

/// Enables the cache, then probes the connection until it fails. Returns the reason.
async fn probe(client: &Client, cache: &Cache) -> String {
    let mut query = "listen belfry";
    loop {
        match timeout(PROBE_TIMEOUT, client.batch_execute(query)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return super::describe(&error),
            Err(_) => return "no response in time".to_owned(),
        }
        if !cache.is_enabled() {
            tracing::info!("cache enabled, receiving notifications of other nodes");
            cache.set_enabled(true);
        }
        query = "";
        sleep(PROBE_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_processes_the_notifications_of_others_and_ignores_its_own() {
        let (one, other) = (NodeId::new(), NodeId::new());
        let lookup = random::secret(jiff::Timestamp::UNIX_EPOCH).hashed().lookup;
        for invalidation in
            [Invalidation::Rules(-7), Invalidation::Token(lookup), Invalidation::Everything]
        {
            assert_eq!(one.parse(&one.payload(invalidation)), None);
            assert_eq!(one.parse(&other.payload(invalidation)), Some(invalidation));
            assert_eq!(one.parse(&invalidation.to_text()), Some(invalidation), "without a sender");
        }
        for unknown in ["", "rules", "rules x by y", "something new by 1"] {
            assert_eq!(one.parse(unknown), Some(Invalidation::Everything), "{unknown}");
        }
    }

    #[test]
    fn notifications_sent_before_a_node_id_rotation_are_processed() {
        let node_id = NodeId::new();
        let before = node_id.payload(Invalidation::Rules(7));
        node_id.rotate();
        assert_eq!(node_id.parse(&before), Some(Invalidation::Rules(7)));
        assert_eq!(node_id.parse(&node_id.payload(Invalidation::Rules(7))), None);
    }
}
