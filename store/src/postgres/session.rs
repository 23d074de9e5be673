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

use super::describe_error;
use super::hosts::{Hosts, MessageReceiver, Primary};
use super::server_state::is_unreplicated_commit;
use crate::StoreError;

/// A pooled connection.
pub(super) struct PostgresSession {
    client: ClientWrapper,
    pub(super) primary: Primary,
    has_unreplicated_commit: Arc<AtomicBool>,
}

impl PostgresSession {
    /// Returns whether a commit since the last call has not been confirmed by the synchronous
    /// standby.
    pub(super) fn take_unreplicated_commit(&self) -> bool {
        // The warning arrives before the response to the commit.
        self.has_unreplicated_commit.swap(false, Ordering::SeqCst)
    }
}

impl Deref for PostgresSession {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

/// Opens the pool's connections.
pub(super) struct SessionManager {
    pub(super) hosts: Hosts,
    pub(super) timeout: Duration,
}

impl managed::Manager for SessionManager {
    type Type = PostgresSession;
    type Error = StoreError;

    async fn create(&self) -> Result<PostgresSession, StoreError> {
        let (client, receiver, primary) = self.hosts.connect(self.timeout).await?;
        let has_unreplicated_commit = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(receive_messages(receiver, Arc::clone(&has_unreplicated_commit)));
        let client = ClientWrapper::new(client, task);
        let settings = settings_sql(self.hosts.options(), self.timeout);
        let outcome = timeout(self.timeout, client.batch_execute(&settings)).await;
        outcome.map_err(|_| {
            StoreError::Unavailable(format!("no response within {:?}", self.timeout))
        })??;
        Ok(PostgresSession { client, primary, has_unreplicated_commit })
    }

    async fn recycle(
        &self,
        session: &mut PostgresSession,
        _: &Metrics,
    ) -> RecycleResult<StoreError> {
        if session.is_closed() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if !self.hosts.is_current(session.primary) {
            return Err(RecycleError::message("the server was abandoned"));
        }
        Ok(())
    }
}

/// Receives the server's messages until the connection is closed. If it was lost, logs the reason.
async fn receive_messages(mut receiver: MessageReceiver, has_unreplicated_commit: Arc<AtomicBool>) {
    let mut messages = stream::poll_fn(move |context| receiver.poll_message(context));
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

/// Returns the statements that set the server's timeouts to a little less than the client's, in
/// case no cancel request reaches the server. Options in the URL take precedence. The timeouts are
/// not connection parameters, because a pooler would reject those.
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
