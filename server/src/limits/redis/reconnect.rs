//! The current connection to Redis, and the task that replaces it when it fails.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{ConnectionInfo, RedisError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::connection::Connection;
use crate::log_throttle;

/// The number of timeouts in a row after which a connection is discarded.
const MAX_TIMEOUTS: u32 = 3;
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The lifetime after which a connection counts as stable.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// The shortest and the longest delay between two attempts to connect.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A connection that is replaced when it fails.
#[derive(Debug)]
pub(super) struct ManagedConnection {
    info: ConnectionInfo,
    prefix: Arc<str>,
    /// The time limit for a response.
    pub(super) timeout: Duration,
    current: RwLock<Option<Arc<LiveConnection>>>,
    lost: Notify,
}

/// A connection, and its timeouts since its last response.
#[derive(Debug)]
pub(super) struct LiveConnection {
    pub(super) connection: Connection,
    timeouts: AtomicU32,
}

impl LiveConnection {
    /// Ends a series of timeouts.
    pub(super) fn record_success(&self) {
        self.timeouts.store(0, Ordering::Relaxed);
    }
}

impl ManagedConnection {
    pub(super) fn new(info: ConnectionInfo, prefix: &str, timeout: Duration) -> Self {
        let (current, lost) = (RwLock::new(None), Notify::new());
        Self { info, prefix: prefix.into(), timeout, current, lost }
    }

    /// The current connection; `None` while Redis is unavailable.
    pub(super) fn get(&self) -> Option<Arc<LiveConnection>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a timeout and discards the connection after several in a row.
    pub(super) fn record_timeout(&self, failed: &Arc<LiveConnection>) {
        if failed.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TIMEOUTS {
            self.discard(failed, &format!("no response within {:?}", self.timeout));
        }
    }

    /// Discards a failed connection, unless it has been replaced already.
    pub(super) fn discard(&self, failed: &Arc<LiveConnection>, reason: &str) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.take_if(|current| Arc::ptr_eq(current, failed)).is_some() {
            drop(current);
            self.log_unavailable(reason);
            self.lost.notify_one();
        }
    }

    /// Makes one attempt to connect, and verifies that the server responds in time.
    pub(super) async fn try_connect(&self) -> Result<(), String> {
        let text = |error: RedisError| error.to_string();
        let mut connection = timeout(CONNECT_TIMEOUT, Connection::open(&self.info, &self.prefix))
            .await
            .map_err(|_| format!("no connection within {CONNECT_TIMEOUT:?}"))?
            .map_err(text)?;
        timeout(self.timeout, connection.probe())
            .await
            .map_err(|_| format!("no response within {:?}", self.timeout))?
            .map_err(text)?;
        let live = LiveConnection { connection, timeouts: AtomicU32::new(0) };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
        self.log_connected();
        Ok(())
    }

    pub(super) fn log_unavailable(&self, reason: &str) {
        if log_throttle::REDIS_UNAVAILABLE.admits() {
            let redis = self.info.addr();
            tracing::warn!(%redis, reason, "Redis unavailable, using local counters");
        }
    }

    fn log_connected(&self) {
        if log_throttle::REDIS_CONNECTED.admits() {
            tracing::info!(redis = %self.info.addr(), "connected to Redis, using shared counters");
        }
    }
}

/// Replaces the connection whenever it is lost.
pub(super) async fn reconnect_loop(connection: Arc<ManagedConnection>) {
    let mut delay = RETRY_DELAYS.0;
    loop {
        let since = Instant::now();
        while connection.get().is_some() {
            connection.lost.notified().await;
        }
        // A short-lived connection is retried after a delay, because each failure delays requests.
        let mut attempt = if since.elapsed() > STABLE_AFTER {
            delay = RETRY_DELAYS.0;
            connection.try_connect().await
        } else {
            Err("the last connection was short-lived".to_owned())
        };
        while let Err(reason) = attempt {
            tracing::debug!(redis = %connection.info.addr(), reason, "Redis still unavailable");
            sleep(delay).await;
            delay = RETRY_DELAYS.1.min(delay * 2);
            attempt = connection.try_connect().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use redis::IntoConnectionInfo;

    use super::*;

    /// A log in memory.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_connection_that_is_lost_and_restored_often_causes_few_log_lines() {
        let info = "redis://127.0.0.1".into_connection_info().unwrap();
        let connection = ManagedConnection::new(info, "test", Duration::from_secs(1));
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..100 {
                connection.log_unavailable("broken pipe");
                connection.log_connected();
            }
        });
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        for message in ["Redis unavailable", "connected to Redis"] {
            // Other tests of this process may have logged some.
            assert!((1..=10).contains(&log.matches(message).count()), "{log}");
        }
    }
}
