//! Counters that all processes share, in Redis or Valkey, by the server's time.
//!
//! One script call judges all limits of a call. What it answers is also kept in this process, which
//! serves twice: a key that is known to be over is refused here until its window ends, and when the
//! server does not answer, counting goes on here from what was last known.
//!
//! **When the server fails.** A call waits for [`Options::timeout`] at most and is then counted here.
//! A lost connection, a refusal, or three calls in a row that were too slow end the use of the
//! connection: from then on everything is counted here at once, while a task tries to get a
//! connection that counts in time. Nobody is refused because the server is away, and nobody is
//! unlimited: each process admits at most the limit by itself. What was counted here is not carried
//! back, but a key that went over here stays over here until its window ends.
//!
//! **What the server must do.** It must not evict keys at random: an evicted key starts afresh. A
//! server that is full and evicts nothing refuses to write, which is the case above.

mod connection;
mod managed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode, Limit, Micros, RateLimitDecision, Window, decide};
use futures_util::future::{BoxFuture, FutureExt};
use jiff::Timestamp;
use redis::{ErrorKind, IntoConnectionInfo, RedisResult};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use self::connection::WindowState;
use self::managed::ManagedConnection;
use super::memory::Memory;
use super::{Counters, Place, State};

/// How Redis is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the names of our keys begin with, in braces: services that share a server differ in it.
    pub prefix: String,
    /// How long a call waits for an answer before it is counted here.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { prefix: "belfry".into(), timeout: Duration::from_millis(25) }
    }
}

/// The shared counters.
#[derive(Debug)]
pub struct Redis {
    tended: Arc<ManagedConnection>,
    task: AbortHandle,
    local: Memory,
    patience: Duration,
    alone: AtomicU64,
    known: AtomicU64,
}

impl Redis {
    /// Uses the server at `url`, and `local` for what is counted here.
    ///
    /// A server that cannot be reached is no error: it is tried for as long as this lives.
    ///
    /// # Errors
    ///
    /// When the URL cannot be read, or the prefix makes no hash tag.
    pub async fn connect(url: &str, options: Options, local: Memory) -> RedisResult<Self> {
        let info = url.into_connection_info()?;
        if options.prefix.is_empty() || options.prefix.contains(['{', '}']) {
            let why = "the prefix of the keys must not be empty, nor have a brace in it";
            return Err((ErrorKind::InvalidClientConfig, why).into());
        }
        let tended = Arc::new(ManagedConnection::new(info, &options));
        if let Err(why) = tended.try_once().await {
            tracing::warn!(why, "Redis does not count; counting in this process");
        }
        let task = tokio::spawn(managed::tend(Arc::clone(&tended))).abort_handle();
        let (alone, known) = Default::default();
        Ok(Self { tended, task, local, patience: options.timeout, alone, known })
    }

    async fn judge(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
        now: Timestamp,
    ) -> RateLimitDecision {
        if mode != CountMode::Charge
            && let Some(refused) = self.local.refusal(buckets, now)
        {
            self.known.fetch_add(1, Ordering::Relaxed);
            return refused;
        }
        let asked = Instant::now();
        let Some(told) = self.ask(mode, buckets).await else {
            self.alone.fetch_add(1, Ordering::Relaxed);
            return self.local.judge(mode, buckets, now);
        };
        // What is left is told by the server's clock, and begins when the answer is here.
        let now = Micros::from(now).plus(asked.elapsed());
        let decision = decide(mode, &mut windows(buckets, &told, now), now);
        self.local.remember(buckets, &decision, now);
        decision
    }

    /// What the server kept before this call, if it answers in time.
    async fn ask(&self, mode: CountMode, buckets: &[Bucket<'_>]) -> Option<Vec<WindowState>> {
        let (mut link, number) = self.tended.link()?;
        match timeout(self.patience, link.count(mode, buckets)).await {
            Ok(Ok(told)) => {
                self.tended.answered();
                Some(told)
            }
            Ok(Err(error)) => {
                self.tended.failed(number, &error);
                None
            }
            Err(_) => {
                self.tended.too_slow(number);
                None
            }
        }
    }
}

fn windows<'a>(
    buckets: &[Bucket<'a>],
    told: &[WindowState],
    now: Micros,
) -> Vec<(&'a Arc<Limit>, Window)> {
    let window = |&(count, left): &WindowState| Window { count, end: now.plus(left) };
    buckets.iter().zip(told).map(|(bucket, told)| (bucket.limit, window(told))).collect()
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Counters for Redis {
    fn count<'a>(
        &'a self,
        mode: CountMode,
        buckets: &'a [Bucket<'a>],
        now: Timestamp,
    ) -> BoxFuture<'a, RateLimitDecision> {
        self.judge(mode, buckets, now).boxed()
    }

    fn sweep(&self, now: Timestamp) {
        self.local.sweep(now);
    }

    fn state(&self) -> State {
        State {
            place: if self.tended.link().is_some() { Place::Redis } else { Place::Alone },
            alone: self.alone.load(Ordering::Relaxed),
            known: self.known.load(Ordering::Relaxed),
            ..self.local.state()
        }
    }
}
