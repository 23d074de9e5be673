//! Runs the script on the node that owns a slot, and follows the redirects of a cluster.
//!
//! An error response means that nothing was counted, so a redirected run is repeated. A run without
//! a response is not, because it may have been counted.

use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::CountMode;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::connection::{host, with_address};
use super::node::{LiveConnection, Node};
use super::script::{RunResult, ScriptMode, ScriptRun};
use super::slots::parse_redirect;
use super::topology::Servers;

/// Maximum wait for a late response to a reservation, to release the requests that it reserved.
pub(super) const LATE_RESPONSE: Duration = Duration::from_secs(5);
/// The number of redirects that are followed without a delay. The cluster is changing if there are
/// more.
const QUICK_REDIRECTS: u32 = 3;
/// The delay before each further redirect.
const REDIRECT_DELAY: Duration = Duration::from_millis(5);

/// The reason why a run has no result.
enum Failure {
    /// No node owns the slot, or its node is not connected, timed out, responded with an error or
    /// redirected too often. After a timeout, the run may have been counted.
    Unavailable,
    /// Some keys of the slot have been moved to another node, and others have not.
    Divided,
}

impl Servers {
    /// Runs the script for counters in one slot. Returns `None` if its node is unavailable.
    ///
    /// A reservation waits for a late response even after the deadline.
    pub(super) async fn run(
        self: &Arc<Self>,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Option<RunResult> {
        match self.run_all(slot, run, deadline).await {
            Ok(result) => Some(result),
            Err(Failure::Unavailable) => None,
            Err(Failure::Divided) => {
                // In a task, so that a disconnecting client does not interrupt it.
                let (servers, run) = (Arc::clone(self), run.clone());
                let is_reservation = run.mode == ScriptMode::Reserve;
                let one_by_one = async move { servers.run_one_by_one(slot, &run, deadline).await };
                let task = tokio::spawn(one_by_one);
                if is_reservation {
                    return task.await.ok().flatten();
                }
                timeout_at(deadline + REDIRECT_DELAY, task).await.ok()?.ok().flatten()
            }
        }
    }

    /// Runs the script for all counters together, and follows redirects.
    async fn run_all(
        &self,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Result<RunResult, Failure> {
        let owner = || self.topology().node(slot).cloned().ok_or(Failure::Unavailable);
        let mut node = owner()?;
        let mut is_asking = false;
        for redirects in 0.. {
            if redirects >= QUICK_REDIRECTS {
                if Instant::now() >= deadline {
                    break;
                }
                sleep(REDIRECT_DELAY).await;
            }
            let live = node.get_first(deadline).await.ok_or(Failure::Unavailable)?;
            let error = match self.run_on(&node, &live, run, is_asking, deadline).await {
                Ok(result) => return Ok(result),
                Err(error) => error.ok_or(Failure::Unavailable)?,
            };
            let redirect = error.redirect_node().and_then(|(address, _)| {
                with_address(&node.info, &parse_redirect(address, host(&node.info))?)
            });
            match error.kind() {
                ErrorKind::Server(ServerErrorKind::Moved) => {
                    self.refresh.notify_one();
                    is_asking = false;
                    node = match redirect {
                        Some(target) => self.node_at(target, None),
                        None => owner()?,
                    };
                }
                ErrorKind::Server(ServerErrorKind::Ask) => {
                    is_asking = redirect.is_some();
                    node = match redirect {
                        Some(target) => self.node_at(target, None),
                        None => owner()?,
                    };
                }
                ErrorKind::Server(ServerErrorKind::TryAgain) if run.counters.len() > 1 => {
                    return Err(Failure::Divided);
                }
                ErrorKind::Server(ServerErrorKind::TryAgain) => {
                    is_asking = false;
                    node = owner()?;
                }
                _ => {
                    self.metrics.errors.inc();
                    node.discard(&live, &error.to_string());
                    return Err(Failure::Unavailable);
                }
            }
        }
        self.metrics.errors.inc();
        Err(Failure::Unavailable)
    }

    /// Runs the script once on a node. The error is `None` if it timed out. A reservation waits for
    /// a late response first.
    async fn run_on(
        &self,
        node: &Node,
        live: &Arc<LiveConnection>,
        run: &ScriptRun,
        is_asking: bool,
        deadline: Instant,
    ) -> Result<RunResult, Option<RedisError>> {
        let mut connection = live.connection.clone();
        let start = Instant::now();
        let mut response = std::pin::pin!(connection.run(run, is_asking));
        let Ok(result) = timeout_at(deadline, &mut response).await else {
            self.metrics.timeouts.inc();
            node.record_timeout(live);
            if run.mode != ScriptMode::Reserve {
                return Err(None);
            }
            let late = timeout(LATE_RESPONSE, response).await;
            return late.ok().and_then(Result::ok).ok_or(None);
        };
        live.record_success();
        if result.is_ok() {
            self.metrics.durations.observe_duration(start.elapsed());
        }
        result.map_err(Some)
    }

    /// Runs the script for one counter after the other while the slot is being moved to another
    /// node, because a run for several keys needs all of them on one node. If a counter rejects the
    /// request or fails, the request is released from the earlier ones.
    async fn run_one_by_one(
        self: &Arc<Self>,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Option<RunResult> {
        let is_check =
            matches!(run.mode, ScriptMode::Count(CountMode::Check) | ScriptMode::Reserve);
        let mut releases = Vec::new();
        let mut states = Vec::new();
        let (mut time, mut is_admitted) = (0, true);
        for index in 0..run.counters.len() {
            let mode = match (is_check, is_admitted) {
                (true, true) => ScriptMode::Reserve,
                // The request is rejected already.
                (true, false) => ScriptMode::Count(CountMode::Peek),
                (false, _) => run.mode,
            };
            let single = run.single(index, mode);
            let Ok(result) = self.run_all(slot, &single, deadline).await else {
                self.release_all(slot, &releases).await;
                return None;
            };
            if is_check && is_admitted {
                is_admitted = single.is_admitted(&result);
                if is_admitted {
                    releases.push(single.release(&result));
                    time = result.time;
                } else {
                    self.release_all(slot, &releases).await;
                    releases.clear();
                }
            }
            states.extend(result.states);
        }
        if run.mode != ScriptMode::Reserve && Instant::now() > deadline {
            // The request has been counted locally by now.
            self.release_all(slot, &releases).await;
            return None;
        }
        Some(RunResult { states, time })
    }

    async fn release_all(self: &Arc<Self>, slot: u16, releases: &[ScriptRun]) {
        for release in releases {
            let deadline = Instant::now() + self.settings.timeout;
            let _result = self.run_all(slot, release, deadline).await;
        }
    }
}
