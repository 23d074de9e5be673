//! The connection pool. A request that times out is cancelled on the server, so the node never
//! occupies more server processes than it has connections.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use belfry_runtime::metrics::exposition::Exposition;
use deadpool::Runtime;
use deadpool::managed::{self, Pool, PoolError, Timeouts};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;

use super::errors::{NOT_REPLICATED, READ_ONLY, requires_reconnect};
use super::hosts::{Hosts, Primary};
use super::pooled_connection::ConnectionManager;
use crate::engine::options::Options;
use crate::error::StoreError;
use crate::metrics::{PostgresMetrics, families};

/// Maximum time for a cancel request, and then for the response of the cancelled statement.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection in use, which returns to the pool when it is dropped.
pub(super) type ConnectionGuard = managed::Object<ConnectionManager>;

/// Pooled connections. Clones share them.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Pool<ConnectionManager>,
    hosts: Hosts,
    /// A permit for each connection except the one that is reserved for probes. Probes must not
    /// wait while all others are in use, because the node would stop using its cache under load.
    permits: Arc<Semaphore>,
    pub(super) timeout: Duration,
    pub(super) metrics: Arc<PostgresMetrics>,
}

impl Connections {
    /// Creates a pool of the configured size, with one more connection for probes.
    pub(super) fn new(hosts: Hosts, options: &Options) -> Result<Self, String> {
        let Options { timeout, connections, .. } = *options;
        let size = connections.get();
        let pool = Pool::builder(ConnectionManager { hosts: hosts.clone(), timeout })
            .max_size(size + 1)
            // The manager has its own timeout.
            .timeouts(Timeouts { wait: Some(timeout), create: None, recycle: None })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| error.to_string())?;
        let permits = Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Ok(Self { pool, hosts, permits, timeout, metrics: Arc::default() })
    }

    pub(super) fn write_metrics(&self, out: &mut Exposition) {
        let status = self.pool.status();
        let mut connections = out.family(&families::POSTGRES_CONNECTIONS);
        connections.value(&["in_use"], status.size.saturating_sub(status.available));
        connections.value(&["idle"], status.available);
        out.value(&families::POSTGRES_MAX_CONNECTIONS, status.max_size);
        self.metrics.write(out);
    }

    /// Returns the error of the last attempt to open a connection, if it failed.
    pub(super) fn last_error(&self) -> Option<String> {
        self.hosts.last_error()
    }

    pub(super) async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&ConnectionGuard) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let waiting = self.metrics.waiting_operations.enter();
        let permit = timeout(self.timeout, self.permits.acquire()).await;
        drop(waiting);
        let Ok(Ok(_permit)) = permit else {
            return Err(StoreError::Unavailable("all connections are in use".to_owned()));
        };
        self.run_without_permit(work).await
    }

    /// Sends a notification as a probe over one of the pooled connections, so it takes the same
    /// path as writes. A server that has become read-only is abandoned, because others may have
    /// newer data.
    pub(super) async fn send_probe(&self, payload: &str) -> Result<(), StoreError> {
        let query = format!(
            "select current_setting('transaction_read_only'), pg_notify('belfry', '{payload}')"
        );
        let send_query = async |client: &ConnectionGuard| {
            Ok((client.simple_query(&query).await?, client.primary))
        };
        let (messages, primary) = self.run_without_permit(send_query).await?;
        let is_read_only = messages.iter().any(
            |message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")),
        );
        if is_read_only && self.hosts.must_accept_writes() {
            self.abandon(primary);
            return Err(StoreError::Unavailable(READ_ONLY.to_owned()));
        }
        Ok(())
    }

    /// Closes the connections to a server that no longer accepts writes, so that the next ones are
    /// opened to the new primary. Connections in use are closed when they return to the pool.
    fn abandon(&self, primary: Primary) {
        if self.hosts.abandon(primary) {
            drop(self.pool.retain(|connection, _| self.hosts.is_current(connection.primary)));
        }
    }

    /// Runs `work` with a timeout. After a timeout the statement is cancelled and its outcome
    /// awaited. If there is none, the connection is considered broken and is discarded. It is also
    /// discarded if another host has become the primary, because the old one may never respond.
    async fn run_without_permit<T>(
        &self,
        work: impl AsyncFnOnce(&ConnectionGuard) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => error,
            error => StoreError::Unavailable(error.to_string()),
        })?;
        let outcome = {
            let mut work = pin!(work(&client));
            let mut failover = pin!(self.hosts.wait_for_other_host(client.primary));
            tokio::select! {
                outcome = timeout(self.timeout, &mut work) => {
                    if let Ok(outcome) = outcome {
                        Some(outcome)
                    } else {
                        let cancel_token = client.cancel_token();
                        let cancel = cancel_token.cancel_query(self.hosts.tls());
                        match timeout(CANCEL_TIMEOUT, cancel).await {
                            Ok(Ok(())) => timeout(CANCEL_TIMEOUT, work).await.ok(),
                            _ => None,
                        }
                    }
                }
                () = &mut failover => None,
            }
        };
        match outcome {
            // The cancelled statement may be a commit that waited for the synchronous standby.
            Some(Ok(_)) if client.take_unreplicated_commit() => {
                return Err(StoreError::Unavailable(NOT_REPLICATED.to_owned()));
            }
            Some(Ok(outcome)) => return Ok(outcome),
            Some(Err(error)) => {
                if requires_reconnect(&error) {
                    self.abandon(client.primary);
                }
                return Err(error.into());
            }
            None => {}
        }
        let primary = client.primary;
        drop(ConnectionGuard::take(client));
        if !self.hosts.is_current(primary) {
            return Err(StoreError::Unavailable(
                "a different server has become the primary".to_owned(),
            ));
        }
        let seconds = self.timeout.as_secs_f32();
        Err(StoreError::Unavailable(format!("no response within {seconds} s")))
    }
}
