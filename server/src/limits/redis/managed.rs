//! The connection to Redis while it serves, and the task that gets a new one when it does not.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{ConnectionInfo, RedisError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::Options;
use super::connection::Connection;

/// Calls in a row that may be too slow before the connection is given up.
const SLOW_CALLS: u32 = 3;
/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(1);
/// How long a connection serves before it counts as good.
const STEADY: Duration = Duration::from_secs(10);
/// How long the task rests between two tries, at first and at last.
const RESTS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A connection that is looked after.
#[derive(Debug)]
pub(super) struct ManagedConnection {
    info: ConnectionInfo,
    prefix: Arc<str>,
    patience: Duration,
    /// The connection, with its number: a late failure of an older one is no news.
    link: RwLock<Option<(Connection, u64)>>,
    number: AtomicU64,
    slow: AtomicU32,
    lost: Notify,
}

impl ManagedConnection {
    pub(super) fn new(info: ConnectionInfo, options: &Options) -> Self {
        Self {
            info,
            prefix: options.prefix.as_str().into(),
            patience: options.timeout,
            link: RwLock::new(None),
            number: AtomicU64::new(0),
            slow: AtomicU32::new(0),
            lost: Notify::new(),
        }
    }

    /// The connection, while it serves.
    pub(super) fn link(&self) -> Option<(Connection, u64)> {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A call was answered in time.
    pub(super) fn answered(&self) {
        // Most of the time there is nothing to write, and writing is what callers would fight over.
        if self.slow.load(Ordering::Relaxed) != 0 {
            self.slow.store(0, Ordering::Relaxed);
        }
    }

    /// A call was not answered in time.
    pub(super) fn too_slow(&self, number: u64) {
        if self.slow.fetch_add(1, Ordering::Relaxed) + 1 >= SLOW_CALLS {
            self.give_up(number, &format!("no answer within {:?}", self.patience));
        }
    }

    /// A call was answered with an error, or the connection broke.
    pub(super) fn failed(&self, number: u64, error: &RedisError) {
        self.give_up(number, &error.to_string());
    }

    fn give_up(&self, number: u64, why: &str) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.as_ref().is_some_and(|(_, own)| *own == number) {
            *link = None;
            drop(link);
            let redis = self.info.addr();
            tracing::warn!(%redis, why, "Redis does not count; counting in this process");
            self.lost.notify_one();
        }
    }

    /// Tries to get a connection that counts.
    pub(super) async fn try_once(&self) -> Result<(), String> {
        let link = self.open().await?;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.slow.store(0, Ordering::Relaxed);
        *self.link.write().unwrap_or_else(PoisonError::into_inner) = Some((link, number));
        tracing::info!(redis = %self.info.addr(), "Redis counts");
        Ok(())
    }

    /// Opens a connection, and makes sure that calls on it are answered in time.
    async fn open(&self) -> Result<Connection, String> {
        let open = timeout(CONNECTING, Connection::open(&self.info, &self.prefix)).await;
        let mut link = open
            .map_err(|_| format!("no connection within {CONNECTING:?}"))?
            .map_err(|error| error.to_string())?;
        timeout(self.patience, link.try_out())
            .await
            .map_err(|_| format!("no answer within {:?}", self.patience))?
            .map_err(|error| error.to_string())?;
        Ok(link)
    }
}

/// Looks after the connection for as long as it is let.
pub(super) async fn tend(tended: Arc<ManagedConnection>) {
    let mut rest = RESTS.0;
    loop {
        let since = Instant::now();
        while tended.link().is_some() {
            tended.lost.notified().await;
        }
        // One that was soon lost again is not asked for at once: each loss has callers wait.
        let mut tried = if since.elapsed() > STEADY {
            rest = RESTS.0;
            tended.try_once().await
        } else {
            Err("it was lost again".to_owned())
        };
        while let Err(why) = tried {
            tracing::debug!(redis = %tended.info.addr(), why, "Redis does not count yet");
            sleep(rest).await;
            rest = RESTS.1.min(rest * 2);
            tried = tended.try_once().await;
        }
    }
}
