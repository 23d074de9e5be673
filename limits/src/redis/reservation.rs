//! Counting a request in several slots of a cluster, with one run of the script per slot.
//!
//! A request is reserved in all its slots concurrently. If one of them rejects it, it is released
//! in the others, in the windows in which it was reserved. So no slot admits more than its limits,
//! and a rejected request consumes nothing. Until a request is released, it may cause the rejection
//! of another one.

use std::sync::Arc;

use smallvec::SmallVec;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use super::routing::LATE_RESPONSE_TIMEOUT;
use super::script::{RunResult, ScriptMode, ScriptRun};
use super::topology::{BucketGroup, Servers};

/// A request that is reserved in several slots. Dropping the reservation without confirming it
/// releases the request, for example when the client disconnects.
#[derive(Debug)]
pub(crate) struct Reservation {
    servers: Arc<Servers>,
    runs: Vec<SlotRun>,
}

/// A run of the script for one slot, in a task, which continues when the client disconnects.
#[derive(Debug)]
struct SlotRun {
    slot: u16,
    script: ScriptRun,
    response: RunResponse,
}

#[derive(Debug)]
enum RunResponse {
    Pending(JoinHandle<Option<RunResult>>),
    Received(Option<RunResult>),
}

impl SlotRun {
    fn start(
        servers: &Arc<Servers>,
        group: BucketGroup,
        mode: ScriptMode,
        deadline: Instant,
    ) -> Self {
        let script = ScriptRun { mode, counters: group.counters };
        let servers = Arc::clone(servers);
        let run = script.clone();
        let slot = group.slot;
        let task = tokio::spawn(async move { servers.run(slot, &run, deadline).await });
        Self { slot, script, response: RunResponse::Pending(task) }
    }

    /// Waits for the response until the deadline.
    async fn wait(&mut self, deadline: Instant) -> Option<&RunResult> {
        if let RunResponse::Pending(task) = &mut self.response
            && let Ok(result) = timeout_at(deadline, task).await
        {
            self.response = RunResponse::Received(result.ok().flatten());
        }
        match &self.response {
            RunResponse::Received(result) => result.as_ref(),
            RunResponse::Pending(_) => None,
        }
    }

    /// Waits for the response if it is still pending, and releases the request if the run has
    /// reserved it.
    async fn release(mut self, servers: Arc<Servers>) {
        let late_deadline = Instant::now() + LATE_RESPONSE_TIMEOUT * 2;
        let script = self.script.clone();
        let Some(result) = self.wait(late_deadline).await else { return };
        if script.is_admitted(result) {
            let release = script.to_release(result);
            let deadline = Instant::now() + servers.settings.timeout;
            servers.run(self.slot, &release, deadline).await;
        }
    }
}

/// Counts groups of buckets concurrently. Returns the result of each, which is `None` if the node
/// of its slot is unavailable or timed out. With [`ScriptMode::Reserve`], also returns the
/// reservation.
pub(super) async fn count_in_slots(
    servers: &Arc<Servers>,
    groups: SmallVec<[BucketGroup; 2]>,
    mode: ScriptMode,
) -> (Vec<Option<RunResult>>, Option<Reservation>) {
    let deadline = Instant::now() + servers.settings.timeout;
    let start_run = |group| SlotRun::start(servers, group, mode, deadline);
    let runs = groups.into_iter().map(start_run).collect();
    let mut reservation = Reservation { servers: Arc::clone(servers), runs };
    let mut results = Vec::with_capacity(reservation.runs.len());
    for run in &mut reservation.runs {
        results.push(run.wait(deadline).await.cloned());
    }
    if mode == ScriptMode::Reserve {
        return (results, Some(reservation));
    }
    reservation.confirm();
    (results, None)
}

impl Reservation {
    /// Leaves the request counted.
    pub(crate) fn confirm(mut self) {
        self.runs.clear();
    }

    /// Releases the request. Waits at most as long as for any response; after that, the release
    /// continues in the background.
    pub(crate) async fn release(mut self) {
        let max_wait = self.servers.settings.timeout;
        if let Some(task) = self.start_release() {
            let _done_or_elapsed = timeout(max_wait, task).await;
        }
    }

    fn start_release(&mut self) -> Option<JoinHandle<()>> {
        let runs = std::mem::take(&mut self.runs);
        if runs.is_empty() {
            return None;
        }
        let servers = &self.servers;
        let mut releases: JoinSet<()> = JoinSet::new();
        for run in runs {
            releases.spawn(run.release(Arc::clone(servers)));
        }
        Some(tokio::spawn(async move {
            releases.join_all().await;
        }))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // There is no runtime while the process is exiting.
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(self.start_release());
        }
    }
}
