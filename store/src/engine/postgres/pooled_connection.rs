//! A pooled connection: its client, its settings, and the warnings that the server sends.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use belfry_runtime::log_throttled;
use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::ClientWrapper;
use futures_util::{StreamExt, stream};
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;

use super::errors::{describe_error, is_unreplicated_commit};
use super::hosts::{ConnectionDriver, Hosts, Primary};
use crate::error::StoreError;

pub(super) struct PooledConnection {
    client: ClientWrapper,
    pub(super) primary: Primary,
    has_unreplicated_commit: Arc<AtomicBool>,
}

impl PooledConnection {
    /// Returns whether a commit since the last call has not been confirmed by the synchronous
    /// standby, and clears that flag.
    pub(super) fn take_unreplicated_commit(&self) -> bool {
        // The warning arrives before the response to the commit.
        self.has_unreplicated_commit.swap(false, Ordering::SeqCst)
    }
}

impl Deref for PooledConnection {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

/// Opens the pool's connections.
pub(super) struct ConnectionManager {
    pub(super) hosts: Hosts,
    pub(super) timeout: Duration,
}

impl managed::Manager for ConnectionManager {
    type Type = PooledConnection;
    type Error = StoreError;

    async fn create(&self) -> Result<PooledConnection, StoreError> {
        let (client, driver, primary) = self.hosts.connect(self.timeout).await?;
        let has_unreplicated_commit = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(receive_messages(driver, Arc::clone(&has_unreplicated_commit)));
        let client = ClientWrapper::new(client, task);
        let settings = settings_sql(self.hosts.options(), self.timeout);
        let outcome = timeout(self.timeout, client.batch_execute(&settings)).await;
        outcome.map_err(|_| {
            StoreError::Unavailable(format!("no response within {:?}", self.timeout))
        })??;
        Ok(PooledConnection { client, primary, has_unreplicated_commit })
    }

    async fn recycle(
        &self,
        connection: &mut PooledConnection,
        _: &Metrics,
    ) -> RecycleResult<StoreError> {
        if connection.is_closed() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if !self.hosts.is_current(connection.primary) {
            return Err(RecycleError::message("the connection belongs to an earlier primary"));
        }
        Ok(())
    }
}

/// Receives the server's messages until the connection is closed. If it was lost, logs the reason.
async fn receive_messages(mut driver: ConnectionDriver, has_unreplicated_commit: Arc<AtomicBool>) {
    let mut messages = stream::poll_fn(move |context| driver.poll_message(context));
    while let Some(message) = messages.next().await {
        match message {
            Ok(AsyncMessage::Notice(notice)) if is_unreplicated_commit(&notice) => {
                has_unreplicated_commit.store(true, Ordering::SeqCst);
            }
            Ok(_) => {}
            Err(error) => {
                log_throttled!(
                    warn,
                    "connection to PostgreSQL lost",
                    error = describe_error(&error)
                );
                return;
            }
        }
    }
}

/// Returns the statements that set the server's timeouts, unless options in the URL set them.
/// Server timeouts are slightly shorter than the client's, in case a cancel request does not
/// arrive. Set with SQL, because poolers reject them as startup parameters.
///
/// Warnings are enabled, because one of them says that a commit was not replicated.
fn settings_sql(options: &str, client_timeout: Duration) -> String {
    let timeout_ms = |percent| (client_timeout * percent / 100).as_millis().max(1);
    let timeouts = [
        ("statement_timeout", timeout_ms(90)),
        ("lock_timeout", timeout_ms(80)),
        ("idle_in_transaction_session_timeout", timeout_ms(90)),
    ];
    let options = options.replace('-', "_");
    let timeouts = timeouts
        .iter()
        .filter(|(name, _)| !options.contains(name))
        .map(|(name, value)| format!("set {name} = {value}; "));
    timeouts.chain(["set client_min_messages = warning".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_timeouts_are_shorter_than_the_client_timeout_unless_the_url_sets_them() {
        let timeout = Duration::from_secs(1);
        assert_eq!(
            settings_sql("", timeout),
            "set statement_timeout = 900; set lock_timeout = 800; \
             set idle_in_transaction_session_timeout = 900; set client_min_messages = warning"
        );
        assert_eq!(
            settings_sql("-c statement_timeout=5 --lock-timeout=5", timeout),
            "set idle_in_transaction_session_timeout = 900; set client_min_messages = warning"
        );
    }
}
