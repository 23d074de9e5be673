//! Cache invalidation between nodes via PostgreSQL's LISTEN/NOTIFY.
//!
//! A write sends its invalidations in its own transaction. Each node listens on a dedicated
//! connection. It uses its cache only while its probes, which it sends over the same connections as
//! writes, return on that connection before they time out; otherwise it reads from the database. A
//! responding connection is not enough: a pooler may drop notifications, and after a failover the
//! old server may still respond.
//!
//! A node invalidates its own cache on commit, so it ignores its own notifications: processing them
//! would cost the next reader a query.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use belfry_runtime::supervisor::Task;
use belfry_runtime::{log_throttled, random};
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::AsyncMessage;
use tokio_util::task::AbortOnDropHandle;

use super::connections::Connections;
use super::errors::{describe_error, error_reason};
use super::hosts::Hosts;
use crate::cache::{Cache, Invalidation};
use crate::engine::{Statement, sql};

/// Interval between probes. Together with [`PROBE_TIMEOUT`] it is below the second within which all
/// nodes must reject a revoked token.
const PROBE_INTERVAL: Duration = Duration::from_millis(300);
/// Time within which a probe must return.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// Builds and parses notifications. They contain the id of the sending node, so that a node
/// recognises its own.
pub(super) struct NodeNotifier(AtomicU64);

/// A message from a node to the others.
#[derive(Debug, PartialEq, Eq)]
enum Notification {
    Write(Invalidation),
    OwnWrite,
    Probe(u64),
}

impl NodeNotifier {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(random_id()))
    }

    /// Replaces the id, so that notifications sent under the old one are processed like those from
    /// another node. Call it before invalidating the cache when the outcome of a write is
    /// unknown: it may be committed later.
    pub(super) fn rotate_id(&self) {
        self.0.store(random_id(), Ordering::SeqCst);
    }

    /// Returns the statement that notifies other nodes; `None` if there is nothing to invalidate.
    pub(super) fn notify_statement<'a>(
        &self,
        invalidations: impl Iterator<Item = &'a Invalidation>,
    ) -> Option<Statement> {
        let payloads: Vec<String> =
            invalidations.map(|&invalidation| self.payload(invalidation)).collect();
        let notify = sql!(
            "select count(pg_notify('belfry', payload)) from unnest(string_to_array($payloads, \
             ',')) as payload",
            [payloads = payloads.join(",")]
        );
        (!payloads.is_empty()).then_some(notify)
    }

    fn payload(&self, invalidation: Invalidation) -> String {
        format!("{} by {:016x}", invalidation.to_text(), self.0.load(Ordering::SeqCst))
    }

    /// Parses a notification. An unknown one invalidates everything.
    fn parse(&self, payload: &str) -> Notification {
        let hex_nonce = payload.strip_prefix("probe ");
        if let Some(nonce) = hex_nonce.and_then(|nonce| u64::from_str_radix(nonce, 16).ok()) {
            return Notification::Probe(nonce);
        }
        let (invalidation, sender) = payload.split_once(" by ").unwrap_or((payload, ""));
        if u64::from_str_radix(sender, 16) == Ok(self.0.load(Ordering::SeqCst)) {
            return Notification::OwnWrite;
        }
        Notification::Write(Invalidation::from_text(invalidation))
    }
}

fn random_id() -> u64 {
    u64::from_be_bytes(random::bytes())
}

/// Disables the cache when listening ends, even after a panic, because entries could become stale
/// undetected.
struct DisableCacheOnDrop<'a>(&'a Cache);

impl Drop for DisableCacheOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set_enabled(false);
    }
}

/// The task that listens, and enables and disables the cache.
pub(super) struct Listener {
    pub(super) hosts: Hosts,
    pub(super) connections: Connections,
    pub(super) cache: Arc<Cache>,
    pub(super) notifier: Arc<NodeNotifier>,
    /// True if it has been logged that the cache is disabled.
    pub(super) is_disable_logged: AtomicBool,
}

impl Listener {
    /// Starts the task, which listens until the handle is dropped, and reconnects when the
    /// connection fails or a probe does not return.
    pub(super) fn start(self) -> Task {
        let listener = Arc::new(self);
        Task::spawn("postgres_listener", move || Arc::clone(&listener).run())
    }

    async fn run(self: Arc<Self>) {
        let _disable = DisableCacheOnDrop(&self.cache);
        loop {
            let reason = self.listen().await;
            self.connections.metrics.listen_failures.inc();
            self.disable_cache(&reason);
            sleep(PROBE_INTERVAL).await;
        }
    }

    /// Listens until the connection fails or a probe does not return, and returns the reason.
    async fn listen(&self) -> String {
        let (client, mut connection) = match self.hosts.connect(self.connections.timeout).await {
            Ok((client, connection, _)) => (client, connection),
            Err(error) => return error_reason(error),
        };
        let (probe_sender, probes) = mpsc::unbounded_channel();
        let cache = Arc::clone(&self.cache);
        let notifier = Arc::clone(&self.notifier);
        let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
        let _receiver = AbortOnDropHandle::new(tokio::spawn(async move {
            // Stops at the first error: over TLS each later poll would return it again.
            while let Some(Ok(message)) = messages.next().await {
                let AsyncMessage::Notification(notification) = message else { continue };
                match notifier.parse(notification.payload()) {
                    Notification::Write(invalidation) => cache.invalidate(&[invalidation]),
                    // Fails only if this task is about to end.
                    Notification::Probe(nonce) => drop(probe_sender.send(nonce)),
                    Notification::OwnWrite => {}
                }
            }
        }));
        match timeout(PROBE_TIMEOUT, client.batch_execute("listen belfry")).await {
            Ok(Ok(())) => self.run_probes(probes).await,
            Ok(Err(error)) => describe_error(&error),
            Err(_) => format!("no response within {PROBE_TIMEOUT:?}"),
        }
    }

    /// Probes until a probe does not return, and returns the reason. The cache is enabled while
    /// probes return. With a single host, a late probe only disables the cache until the next one.
    /// `probes` contains the nonces of the probes of all nodes.
    async fn run_probes(&self, mut probes: mpsc::UnboundedReceiver<u64>) -> String {
        loop {
            let nonce = random_id();
            let start = Instant::now();
            let mut probe = pin!(async {
                let payload = format!("probe {nonce:016x}");
                self.connections.send_probe(&payload).await.map_err(error_reason)?;
                wait_for_probe(&mut probes, nonce).await
            });
            match timeout(PROBE_TIMEOUT, &mut probe).await {
                Ok(Ok(())) => {
                    self.connections.metrics.probe_durations.observe_duration(start.elapsed());
                    self.enable_cache();
                }
                Ok(Err(reason)) => return reason,
                Err(_) => {
                    let reason = "this node's notification to itself timed out; the machine \
                                  may be overloaded, or a connection pooler or proxy does not \
                                  forward LISTEN and NOTIFY";
                    // The server may be suspended or unreachable, and a standby promoted.
                    if self.hosts.has_several_hosts() {
                        return reason.to_owned();
                    }
                    self.disable_cache(reason);
                    // The probe may have had to wait for a new connection; the next one reuses it.
                    match timeout(self.connections.timeout, probe).await {
                        Ok(Ok(())) => self.connections.metrics.listen_failures.inc(),
                        Ok(Err(reason)) => return reason,
                        Err(_) => return reason.to_owned(),
                    }
                }
            }
            sleep(PROBE_INTERVAL).await;
        }
    }

    fn enable_cache(&self) {
        if !self.cache.is_enabled() {
            log_throttled!(info, "cache enabled, receiving notifications from other nodes");
            self.cache.set_enabled(true);
            self.is_disable_logged.store(false, Ordering::Relaxed);
        }
    }

    fn disable_cache(&self, reason: &str) {
        self.cache.set_enabled(false);
        if !self.is_disable_logged.swap(true, Ordering::Relaxed) {
            log_throttled!(warn, "cache disabled, notifications cannot be received", reason);
        }
    }
}

/// Waits until the probe with this nonce returns. Fails if the receiving task has ended.
async fn wait_for_probe(
    probes: &mut mpsc::UnboundedReceiver<u64>,
    nonce: u64,
) -> Result<(), String> {
    while probes.recv().await.ok_or("the connection was closed")? != nonce {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_probe_returns_even_if_another_nodes_probe_arrives_right_after_it() {
        let (sender, mut probes) = mpsc::unbounded_channel();
        assert!(wait_for_probe(&mut probes, 7).now_or_never().is_none());
        for nonce in [6, 7, 8] {
            sender.send(nonce).unwrap();
        }
        assert_eq!(wait_for_probe(&mut probes, 7).now_or_never(), Some(Ok(())));
        assert!(wait_for_probe(&mut probes, 9).now_or_never().is_none());
        drop(sender);
        assert!(
            wait_for_probe(&mut probes, 9).now_or_never().is_some_and(|outcome| outcome.is_err())
        );
    }

    #[test]
    fn a_node_processes_notifications_from_other_nodes_and_ignores_its_own() {
        let node = NodeNotifier::new();
        let other_node = NodeNotifier::new();
        let lookup = random::split_token(jiff::Timestamp::UNIX_EPOCH).hashed_secret().lookup_key;
        for invalidation in
            [Invalidation::Rules(-7), Invalidation::Token(lookup), Invalidation::Everything]
        {
            let write = Notification::Write(invalidation);
            assert_eq!(node.parse(&node.payload(invalidation)), Notification::OwnWrite);
            assert_eq!(node.parse(&other_node.payload(invalidation)), write);
            assert_eq!(
                node.parse(&invalidation.to_text()),
                write,
                "a notification without a sender comes from a different node"
            );
        }
        let everything = Notification::Write(Invalidation::Everything);
        for unknown in ["", "rules", "rules x by y", "something new by 1", "probe x", "probe"] {
            assert_eq!(node.parse(unknown), everything, "{unknown}");
        }
        assert_eq!(node.parse("probe 00000000000000ff"), Notification::Probe(255));
    }

    #[test]
    fn own_notifications_sent_before_an_id_rotation_are_processed() {
        let notifier = NodeNotifier::new();
        let old_payload = notifier.payload(Invalidation::Rules(7));
        notifier.rotate_id();
        let write = Notification::Write(Invalidation::Rules(7));
        assert_eq!(notifier.parse(&old_payload), write);
        assert_eq!(
            notifier.parse(&notifier.payload(Invalidation::Rules(7))),
            Notification::OwnWrite
        );
    }
}
