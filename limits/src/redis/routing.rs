//! Runs the script on the node that owns a slot, and follows the redirects of a cluster.
//!
//! An error response means that nothing was counted, so a redirected run is repeated. A run without
//! a response is not, because it may have been counted.

use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::CountMode;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::connection::{tcp_host, with_address};
use super::node::{LiveConnection, RedisNode};
use super::script::{RunResult, ScriptMode, ScriptRun};
use super::slots::parse_redirect;
use super::topology::Servers;

/// Maximum wait for a late response to a reservation, so that the reservation can be released.
pub(super) const LATE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of redirects that are followed without a delay. More of them suggest that slots are
/// being moved.
const QUICK_REDIRECTS: u32 = 3;
/// The delay before each additional redirect.
const REDIRECT_DELAY: Duration = Duration::from_millis(5);

/// The reason a run has no result.
enum RunFailure {
    /// No Redis node owns the slot, or its node is not connected, timed out, responded with an error
    /// or still redirected at the deadline. After a timeout, the run may have been counted.
    Unavailable,
    /// Some keys of the slot have been moved to another node, and others have not.
    SlotMigrating,
}

impl Servers {
    /// Runs the script for counters in one slot. Returns `None` if its Redis node is unavailable or
    /// the deadline has passed.
    ///
    /// A reservation waits for a late response even after the deadline.
    pub(super) async fn run(
        self: &Arc<Self>,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Option<RunResult> {
        match self.run_all_counters(slot, run, deadline).await {
            Ok(result) => Some(result),
            Err(RunFailure::Unavailable) => None,
            Err(RunFailure::SlotMigrating) => {
                // In a task, so that a disconnecting client does not interrupt it.
                let servers = Arc::clone(self);
                let run = run.clone();
                let is_reservation = run.mode == ScriptMode::Reserve;
                let one_by_one =
                    async move { servers.run_each_counter(slot, &run, deadline).await };
                let task = tokio::spawn(one_by_one);
                if is_reservation {
                    return task.await.ok().flatten();
                }
                timeout_at(deadline + REDIRECT_DELAY, task).await.ok()?.ok().flatten()
            }
        }
    }

    /// Runs the script for all counters together, and follows redirects.
    async fn run_all_counters(
        &self,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Result<RunResult, RunFailure> {
        let slot_owner = || self.topology().node(slot).cloned().ok_or(RunFailure::Unavailable);
        let mut node = slot_owner()?;
        let mut send_asking = false;
        for redirects in 0.. {
            if redirects >= QUICK_REDIRECTS {
                if Instant::now() >= deadline {
                    break;
                }
                sleep(REDIRECT_DELAY).await;
            }
            let live_connection =
                node.get_or_wait_for_first(deadline).await.ok_or(RunFailure::Unavailable)?;
            let error =
                match self.run_on_node(&node, &live_connection, run, send_asking, deadline).await {
                    Ok(result) => return Ok(result),
                    Err(error) => error.ok_or(RunFailure::Unavailable)?,
                };
            let redirect = error.redirect_node().and_then(|(address, _)| {
                with_address(&node.info, &parse_redirect(address, tcp_host(&node.info))?)
            });
            match error.kind() {
                ErrorKind::Server(ServerErrorKind::Moved) => {
                    self.refresh.notify_one();
                    send_asking = false;
                    node = match redirect {
                        Some(target) => self.node_at(target, None),
                        None => slot_owner()?,
                    };
                }
                ErrorKind::Server(ServerErrorKind::Ask) => {
                    send_asking = redirect.is_some();
                    node = match redirect {
                        Some(target) => self.node_at(target, None),
                        None => slot_owner()?,
                    };
                }
                ErrorKind::Server(ServerErrorKind::TryAgain) if run.counters.len() > 1 => {
                    return Err(RunFailure::SlotMigrating);
                }
                ErrorKind::Server(ServerErrorKind::TryAgain) => {
                    send_asking = false;
                    node = slot_owner()?;
                }
                _ => {
                    self.metrics.errors.inc();
                    node.discard(&live_connection, &error.to_string());
                    return Err(RunFailure::Unavailable);
                }
            }
        }
        self.metrics.errors.inc();
        Err(RunFailure::Unavailable)
    }

    /// Runs the script once on a Redis node. The error is `None` after a timeout. A reservation then
    /// waits for a late response, which is returned if it is a success.
    async fn run_on_node(
        &self,
        node: &RedisNode,
        live_connection: &Arc<LiveConnection>,
        run: &ScriptRun,
        send_asking: bool,
        deadline: Instant,
    ) -> Result<RunResult, Option<RedisError>> {
        let mut connection = live_connection.connection.clone();
        let start = Instant::now();
        let mut response = std::pin::pin!(connection.run(run, send_asking));
        let Ok(result) = timeout_at(deadline, &mut response).await else {
            self.metrics.timeouts.inc();
            node.record_timeout(live_connection);
            if run.mode != ScriptMode::Reserve {
                return Err(None);
            }
            let late_result = timeout(LATE_RESPONSE_TIMEOUT, response).await;
            return late_result.ok().and_then(Result::ok).ok_or(None);
        };
        live_connection.record_success();
        if result.is_ok() {
            self.metrics.durations.observe_duration(start.elapsed());
        }
        result.map_err(Some)
    }

    /// Runs the script for one counter after the other while the slot is being moved to another
    /// node, because a run for several keys needs all of them on one node. If a counter rejects a
    /// check or reservation, or fails, the request is released from the earlier counters.
    async fn run_each_counter(
        self: &Arc<Self>,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Option<RunResult> {
        let is_all_or_nothing =
            matches!(run.mode, ScriptMode::Count(CountMode::Check) | ScriptMode::Reserve);
        let mut releases = Vec::new();
        let mut states = Vec::new();
        let mut server_time_ms = 0;
        let mut is_admitted = true;
        for index in 0..run.counters.len() {
            let mode = match (is_all_or_nothing, is_admitted) {
                (true, true) => ScriptMode::Reserve,
                // The request is rejected already.
                (true, false) => ScriptMode::Count(CountMode::Peek),
                (false, _) => run.mode,
            };
            let single_run = run.with_counter(index, mode);
            let Ok(result) = self.run_all_counters(slot, &single_run, deadline).await else {
                self.release_all(slot, &releases).await;
                return None;
            };
            if is_all_or_nothing && is_admitted {
                is_admitted = single_run.is_admitted(&result);
                if is_admitted {
                    releases.push(single_run.to_release(&result));
                    server_time_ms = result.server_time_ms;
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
        Some(RunResult { states, server_time_ms })
    }

    async fn release_all(self: &Arc<Self>, slot: u16, releases: &[ScriptRun]) {
        for release in releases {
            let deadline = Instant::now() + self.settings.timeout;
            let _result = self.run_all_counters(slot, release, deadline).await;
        }
    }
}
