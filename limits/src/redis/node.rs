//! A Redis node with counters: its current connection, and the task that replaces it when it fails.

use std::ops::{Deref, RangeInclusive};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use belfry_runtime::log_throttled;
use belfry_runtime::supervisor::Task;
use redis::{ConnectionInfo, RedisError, RedisResult};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::connection::Connection;
use super::slots::{ALL_SLOTS, find_hash_tag};

/// The number of timeouts in a row after which a connection is discarded.
const MAX_TIMEOUTS: u32 = 3;
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The lifetime after which a connection counts as stable.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// The shortest delay between two attempts to connect.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The longest delay between two attempts to connect.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);

/// The interval between two test writes, which detect an outage even without requests.
const TEST_WRITE_INTERVAL: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub(super) struct NodeSettings {
    pub(super) prefix: Arc<str>,
    /// Time limit for a response.
    pub(super) timeout: Duration,
    /// Notified when a node fails.
    pub(super) failure: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct RedisNode {
    connection: Arc<ManagedConnection>,
    pub(super) created_at: Instant,
    _reconnect_task: Task,
}

impl RedisNode {
    /// Starts connecting. `slots` is a range that the node owns; `None` if none is known.
    pub(super) fn start(
        info: ConnectionInfo,
        slots: Option<RangeInclusive<u16>>,
        settings: NodeSettings,
    ) -> Arc<Self> {
        let connection = Arc::new(ManagedConnection::new(info, slots, settings));
        let task_connection = Arc::clone(&connection);
        let reconnect = move || reconnect_loop(Arc::clone(&task_connection));
        let created_at = Instant::now();
        let task = Task::spawn("redis_connection", reconnect);
        Arc::new(Self { connection, created_at, _reconnect_task: task })
    }
}

impl Deref for RedisNode {
    type Target = ManagedConnection;

    fn deref(&self) -> &ManagedConnection {
        &self.connection
    }
}

/// A connection that is replaced when it fails.
#[derive(Debug)]
pub(super) struct ManagedConnection {
    pub(super) info: ConnectionInfo,
    settings: NodeSettings,
    /// A range of slots that the node is known to own, used by test writes.
    slots: Mutex<Option<RangeInclusive<u16>>>,
    state: watch::Sender<ConnectionState>,
}

#[derive(Debug, Clone)]
enum ConnectionState {
    /// The first attempt to connect is in progress.
    Connecting,
    Connected(Arc<LiveConnection>),
    Unavailable,
}

/// A connection, and the number of timeouts since its last response.
#[derive(Debug)]
pub(super) struct LiveConnection {
    pub(super) connection: Connection,
    timeouts: AtomicU32,
}

impl LiveConnection {
    /// Resets the number of timeouts.
    pub(super) fn record_success(&self) {
        self.timeouts.store(0, Ordering::Relaxed);
    }
}

impl ManagedConnection {
    fn new(
        info: ConnectionInfo,
        slots: Option<RangeInclusive<u16>>,
        settings: NodeSettings,
    ) -> Self {
        let state = watch::Sender::new(ConnectionState::Connecting);
        Self { info, settings, slots: Mutex::new(slots), state }
    }

    /// Returns the host and port.
    pub(super) fn address(&self) -> String {
        self.info.addr().to_string()
    }

    /// Replaces the slots that the node is known to own.
    pub(super) fn set_slots(&self, slots: RangeInclusive<u16>) {
        *self.slots.lock().unwrap_or_else(PoisonError::into_inner) = Some(slots);
    }

    /// Returns the current connection; `None` while there is none.
    pub(super) fn get(&self) -> Option<Arc<LiveConnection>> {
        match &*self.state.borrow() {
            ConnectionState::Connected(live_connection) => Some(Arc::clone(live_connection)),
            ConnectionState::Connecting | ConnectionState::Unavailable => None,
        }
    }

    /// Returns whether the last attempt to connect failed, or the connection was lost.
    pub(super) fn is_unavailable(&self) -> bool {
        matches!(*self.state.borrow(), ConnectionState::Unavailable)
    }

    /// Returns the current connection. Waits for the first attempt to connect, but not for later
    /// ones.
    pub(super) async fn get_or_wait_for_first(
        &self,
        deadline: Instant,
    ) -> Option<Arc<LiveConnection>> {
        let is_connecting = matches!(*self.state.borrow(), ConnectionState::Connecting);
        if is_connecting {
            let mut changes = self.state.subscribe();
            let first_attempt =
                changes.wait_for(|state| !matches!(state, ConnectionState::Connecting));
            drop(timeout_at(deadline, first_attempt).await);
        }
        self.get()
    }

    /// Counts a timeout and discards the connection after several in a row.
    pub(super) fn record_timeout(&self, live_connection: &Arc<LiveConnection>) {
        if live_connection.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TIMEOUTS {
            self.discard(
                live_connection,
                &format!("no response within {:?}", self.settings.timeout),
            );
        }
    }

    /// Discards a failed connection, unless it has been replaced already. Logs the reason, and
    /// triggers a refresh of the topology.
    pub(super) fn discard(&self, live_connection: &Arc<LiveConnection>, reason: &str) {
        let was_current = self.state.send_if_modified(|state| {
            let is_current = match state {
                ConnectionState::Connected(current) => Arc::ptr_eq(current, live_connection),
                ConnectionState::Connecting | ConnectionState::Unavailable => false,
            };
            if is_current {
                *state = ConnectionState::Unavailable;
            }
            is_current
        });
        if was_current {
            log_unavailable(&self.address(), reason);
            self.settings.failure.notify_one();
        }
    }

    /// Makes one attempt to connect. The connection is used if the server then responds to a test
    /// write before the timeout.
    async fn try_connect(&self) -> Result<(), String> {
        let error_message = |error: RedisError| error.to_string();
        let response_timeout = self.settings.timeout;
        let open_and_test = async {
            let mut connection = Connection::open(&self.info).await?;
            // Loads the script if the server does not have it.
            self.test_write(&mut connection).await?;
            Ok(connection)
        };
        let mut connection = timeout(CONNECT_TIMEOUT, open_and_test)
            .await
            .map_err(|_| format!("no connection within {CONNECT_TIMEOUT:?}"))?
            .map_err(error_message)?;
        timeout(response_timeout, self.test_write(&mut connection))
            .await
            .map_err(|_| format!("no response within {response_timeout:?}"))?
            .map_err(error_message)?;
        let live_connection = LiveConnection { connection, timeouts: AtomicU32::new(0) };
        self.state.send_replace(ConnectionState::Connected(Arc::new(live_connection)));
        self.log_connected();
        Ok(())
    }

    /// Makes a test write. Discards the connection after an error, or after several timeouts in a
    /// row.
    async fn test_connection(&self) {
        let Some(live_connection) = self.get() else { return };
        let mut connection = live_connection.connection.clone();
        match timeout(self.settings.timeout, self.test_write(&mut connection)).await {
            Err(_) => self.record_timeout(&live_connection),
            Ok(Ok(())) => live_connection.record_success(),
            Ok(Err(error)) => self.discard(&live_connection, &error.to_string()),
        }
    }

    async fn test_write(&self, connection: &mut Connection) -> RedisResult<()> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tag = slots.as_ref().map(find_hash_tag);
        let outcome = connection.test_write(&self.settings.prefix, tag.as_deref()).await;
        accept_redirect(outcome, slots.as_ref())
    }

    /// Marks the server as unavailable after a failed attempt to connect, and logs the reason.
    fn record_failure(&self, reason: &str) {
        let address = self.address();
        if let ConnectionState::Connecting = self.state.send_replace(ConnectionState::Unavailable) {
            log_unavailable(&address, reason);
        } else {
            tracing::debug!(redis = address, reason, "Redis still unavailable");
        }
    }

    fn log_connected(&self) {
        let redis = self.address();
        log_throttled!(info, "connected to Redis, using shared counters", redis);
    }
}

/// Treats a redirected test write as successful. The node redirects requests as well, because it
/// has lost its slots or is about to receive them. A redirect from a server that should own all
/// slots is an error: the server is probably a cluster node whose slots the Redis user may not
/// read, so it cannot be used.
fn accept_redirect(
    test_result: RedisResult<()>,
    slots: Option<&RangeInclusive<u16>>,
) -> RedisResult<()> {
    match test_result {
        Err(error) if slots != Some(&ALL_SLOTS) && error.redirect_node().is_some() => Ok(()),
        test_result => test_result,
    }
}

/// Logs that a server is unavailable, and why.
pub(super) fn log_unavailable(redis: &str, reason: &str) {
    log_throttled!(warn, "Redis unavailable, using local counters", redis, reason);
}

/// Connects, tests the connection regularly, and replaces it whenever it is lost.
async fn reconnect_loop(connection: Arc<ManagedConnection>) {
    let mut delay = MIN_RETRY_DELAY;
    let mut changes = connection.state.subscribe();
    loop {
        while let Err(reason) = connection.try_connect().await {
            connection.record_failure(&reason);
            sleep(delay).await;
            delay = MAX_RETRY_DELAY.min(delay * 2);
        }
        let connected_at = Instant::now();
        let is_lost = |state: &ConnectionState| !matches!(state, ConnectionState::Connected(_));
        loop {
            let outcome = timeout(TEST_WRITE_INTERVAL, changes.wait_for(is_lost)).await;
            match outcome.map(|change| change.is_ok()) {
                Ok(true) => break,
                Ok(false) => return,
                Err(_) => connection.test_connection().await,
            }
        }
        // A short-lived connection is replaced after a delay, because each failure delays requests.
        if connected_at.elapsed() > STABLE_AFTER {
            delay = MIN_RETRY_DELAY;
        } else {
            sleep(delay).await;
            delay = MAX_RETRY_DELAY.min(delay * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::{Value, parse_redis_value};

    use super::*;

    #[test]
    fn a_node_that_redirects_test_writes_is_used_unless_it_should_own_all_slots() {
        let is_used = |response: &str, slots| {
            let value = parse_redis_value(format!("-{response}\r\n").as_bytes());
            let test_result = value.and_then(Value::extract_error).map(drop);
            accept_redirect(test_result, slots).is_ok()
        };
        for redirect in ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"] {
            assert!(is_used(redirect, Some(&(3000..=4000))), "{redirect}");
            assert!(is_used(redirect, None), "{redirect}");
            assert!(!is_used(redirect, Some(&ALL_SLOTS)), "{redirect}");
        }
        for error in ["READONLY You can't write against a read only replica.", "ERR no"] {
            assert!(!is_used(error, Some(&(3000..=4000))), "{error}");
        }
    }
}
