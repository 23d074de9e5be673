//! Runs the script on the node that owns a slot, and follows the redirects of a cluster.
//!
//! An error response means that nothing was counted, so a redirected run is repeated. A run without
//! a response is not, because it may have been counted.

use std::sync::Arc;
use std::time::Duration;

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
const REDIRECT_DELAY: Duration = Duration::from_millis(5);

impl Servers {
    /// Runs the script for counters in one slot, and follows redirects. Returns `None` if no Redis
    /// node owns the slot, or its node is not connected, timed out, responded with an error or still
    /// redirected at the deadline. After a timeout, the run may have been counted.
    ///
    /// A reservation waits for a late response even after the deadline.
    pub(super) async fn run(
        &self,
        slot: u16,
        run: &ScriptRun,
        deadline: Instant,
    ) -> Option<RunResult> {
        let slot_owner = || self.topology().node(slot).cloned();
        let mut node = slot_owner()?;
        let mut send_asking = false;
        for redirects in 0.. {
            if redirects >= QUICK_REDIRECTS {
                if Instant::now() >= deadline {
                    break;
                }
                sleep(REDIRECT_DELAY).await;
            }
            let live_connection = node.get_or_wait_for_first(deadline).await?;
            let error =
                match self.run_on_node(&node, &live_connection, run, send_asking, deadline).await {
                    Ok(result) => return Some(result),
                    Err(error) => error?,
                };
            let redirect = error.redirect_node().and_then(|(address, _)| {
                with_address(&node.info, &parse_redirect(address, tcp_host(&node.info))?)
            });
            send_asking = false;
            match error.kind() {
                ErrorKind::Server(ServerErrorKind::Moved) => self.refresh.notify_one(),
                ErrorKind::Server(ServerErrorKind::Ask) => send_asking = redirect.is_some(),
                // The slot is being moved, and its keys are on both nodes. There is no redirect.
                ErrorKind::Server(ServerErrorKind::TryAgain) => {}
                _ => {
                    self.metrics.errors.inc();
                    node.discard(&live_connection, &error.to_string());
                    return None;
                }
            }
            node = match redirect {
                Some(target) => self.node_at(target, None),
                None => slot_owner()?,
            };
        }
        self.metrics.errors.inc();
        None
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
}
