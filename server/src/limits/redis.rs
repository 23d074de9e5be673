//! Counters that all nodes share, in Redis or Valkey, by the clock of that server.
//!
//! One run of a script decides about all limits of a request. The reported counts are also stored
//! in process memory, for two purposes: a key that is known to be exhausted is rejected locally
//! until its window ends, and when Redis is unavailable, counting continues from the last known
//! counts.
//!
//! **Outages.** A request waits for at most [`RedisOptions::timeout`] and is then counted locally.
//! A connection is discarded if it is broken, after an error response, or after three timeouts in a
//! row. From then on requests are counted locally at once, while a task reconnects. No request is
//! rejected because Redis is unavailable, and limits still apply: each node admits at most the
//! limit. Local counts are not written back, but a key that was exhausted locally remains so until
//! its window ends.
//!
//! **Server settings.** Redis must not evict keys at random, because an evicted key starts again
//! from 0. A full server that evicts nothing rejects writes, which counts as an outage.

mod connection;
mod reconnect;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode, RateLimitDecision, UnixMicros, Window, decide};
use jiff::Timestamp;
use redis::{ErrorKind, IntoConnectionInfo, RedisResult};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use self::connection::WindowState;
use self::reconnect::ManagedConnection;
use super::memory::MemoryCounters;
use super::{EngineState, EngineStatus};

/// The settings of the connection.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    /// The hash tag that all keys begin with. Services that share a server need different ones.
    pub prefix: String,
    /// How long a request waits for a response before it is counted locally.
    pub timeout: Duration,
}

/// The shared counters, with local counters as fallback.
#[derive(Debug)]
pub struct RedisCounters {
    connection: Arc<ManagedConnection>,
    reconnect_task: AbortHandle,
    pub(super) local: MemoryCounters,
    timeout: Duration,
    local_decisions: AtomicU64,
}

impl RedisCounters {
    /// Connects to the server at `url`. `local` counts while it is unavailable.
    ///
    /// An unreachable server is not an error: a task reconnects until this value is dropped.
    ///
    /// # Errors
    /// When the URL is invalid, or the prefix is not a valid hash tag.
    pub async fn connect(
        url: &str,
        options: RedisOptions,
        local: MemoryCounters,
    ) -> RedisResult<Self> {
        let info = url.into_connection_info()?;
        if options.prefix.is_empty() || options.prefix.contains(['{', '}']) {
            let reason = "limits.redis_prefix must not be empty or contain a brace";
            return Err((ErrorKind::InvalidClientConfig, reason).into());
        }
        let connection = Arc::new(ManagedConnection::new(info, &options));
        if let Err(reason) = connection.try_connect().await {
            tracing::warn!(reason, "Redis unavailable, using local counters");
        }
        let task = tokio::spawn(reconnect::reconnect_loop(Arc::clone(&connection)));
        Ok(Self {
            connection,
            reconnect_task: task.abort_handle(),
            local,
            timeout: options.timeout,
            local_decisions: AtomicU64::new(0),
        })
    }

    /// Decides about a request: by Redis, or locally if a limit is known to be exhausted or Redis
    /// is unavailable.
    pub async fn check(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        if mode != CountMode::Charge
            && let Some(rejection) = self.local.known_rejection(buckets, now)
        {
            return rejection;
        }
        let sent = Instant::now();
        let Some(states) = self.query(mode, buckets).await else {
            self.local_decisions.fetch_add(1, Ordering::Relaxed);
            return self.local.check(mode, buckets, now);
        };
        // Redis reports the time left, which is counted from the arrival of the response.
        let now = UnixMicros::from(now).plus(sent.elapsed());
        let window = |&(count, left): &WindowState| Window { count, end: now.plus(left) };
        let limits = buckets.iter().map(|bucket| bucket.limit);
        let mut windows: Vec<_> = limits.zip(states.iter().map(window)).collect();
        let decision = decide(mode, &mut windows, now);
        self.local.record(buckets, &decision, now);
        decision
    }

    /// Counts in Redis. Returns the windows before this request; `None` when Redis is unavailable.
    async fn query(&self, mode: CountMode, buckets: &[Bucket<'_>]) -> Option<Vec<WindowState>> {
        let (mut connection, generation) = self.connection.get()?;
        match timeout(self.timeout, connection.count(mode, buckets)).await {
            Ok(Ok(states)) => {
                self.connection.record_success();
                Some(states)
            }
            Ok(Err(error)) => {
                self.connection.discard(generation, &error.to_string());
                None
            }
            Err(_) => {
                self.connection.record_timeout(generation);
                None
            }
        }
    }

    /// The state of the shared and the local counters.
    #[must_use]
    pub fn state(&self) -> EngineState {
        EngineState {
            status: match self.connection.get() {
                Some(_) => EngineStatus::Redis,
                None => EngineStatus::RedisUnavailable,
            },
            local_decisions: self.local_decisions.load(Ordering::Relaxed),
            ..self.local.state()
        }
    }
}

impl Drop for RedisCounters {
    fn drop(&mut self) {
        self.reconnect_task.abort();
    }
}
