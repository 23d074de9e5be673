//! Takes deliveries from the queue and sends them.
//!
//! Every origin has its own lane, so a dead or slow server delays no messages to others. A node
//! works on many lanes concurrently. A lane begins with a single message; when its server has
//! responded, more are in flight. When its server fails or is slow, the lane is paused.

mod slots;

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::push::answer::{Verdict, is_denied_for_long, lane_pause};
use belfry_runtime::clock::Clock;
use belfry_runtime::{log_throttled, random};
use belfry_store::{
    AttemptRecord, ClaimedDelivery, DeliveryOutcome, DeliveryResult, Store, StoreError,
};
use futures_util::FutureExt;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::slots::{Conduct, LaneSlots};
use crate::metrics::DeliveryMetrics;
use crate::outbound::MAX_IDLE_CONNECTIONS;
use crate::sender::{Attempt, Sender};

/// Maximum number of a lane's messages in flight. With HTTP/1.1 each needs a connection; all of
/// these are kept open for later messages.
pub const MAX_IN_FLIGHT: usize = MAX_IDLE_CONNECTIONS;
/// Number of messages in flight that the lanes of a node share, to limit its memory. It is exceeded
/// while lanes that began with a larger share finish their messages.
const SHARED_IN_FLIGHT: usize = 1024;
/// Maximum number of due lanes that are considered for a free slot. Dead servers are due for the
/// longest time, and must not hide the fast ones.
const MAX_DUE_LANES: i64 = 50_000;
/// Minimum time between two searches for due lanes, which read every origin in the queue.
const MIN_SEARCH_INTERVAL: Duration = Duration::from_millis(20);
/// Interval at which a node looks for messages that other nodes accepted, and for retries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a lane with further messages frees its slot for the lanes that wait for one.
const MAX_RUN_DURATION: Duration = Duration::from_secs(10);
/// Duration from which an attempt counts as a failure of its server, even if it was accepted: slow
/// servers would otherwise occupy all slots.
const SLOW_ATTEMPT: Duration = Duration::from_secs(5);
/// Number of error responses in a run without an accepted message after which the lane is paused,
/// because the errors probably concern all messages to the server.
const MAX_ERRORS_WITHOUT_SUCCESS: u32 = 16;
/// The pause after these errors. It does not grow: they may be those of a few receivers.
const ERROR_PAUSE: Duration = Duration::from_secs(10);
/// Number of failures of a lane, after about two minutes, from which its server is in the log.
const LOGGED_FAILURES: i64 = 8;
/// Maximum time from the claim of a delivery to the start of its attempt, so that the attempt ends
/// before the lease.
const MAX_CLAIM_DURATION: Duration = Duration::from_secs(15);

/// Sends the messages in the queue.
pub struct Worker {
    store: Store,
    sender: Sender,
    clock: Arc<dyn Clock>,
    active_lanes: AtomicUsize,
    wake: Notify,
    stop: CancellationToken,
    stopped: CancellationToken,
    pub metrics: DeliveryMetrics,
}

struct LaneRun<'a> {
    worker: &'a Arc<Worker>,
    origin: &'a str,
    /// The number of the lane's failures before this run; 0 after a success in this run.
    failures: i64,
    /// True if the server failed or was slow in this run.
    has_failure: bool,
    /// The end of the pause of the lane, if it must pause.
    paused_until: Option<Timestamp>,
    /// True if the server has responded to a message in this run, other than by a failure.
    has_response: bool,
    /// True if the server has accepted a message in this run.
    has_success: bool,
    /// Number of error responses in this run that concern single messages.
    error_count: u32,
    response_count: u32,
    /// The total time until these responses.
    response_time: Duration,
    /// Attempts whose results are not stored yet.
    unstored: Vec<FinishedAttempt>,
}

struct FinishedAttempt {
    delivery: ClaimedDelivery,
    verdict: Verdict,
    record: AttemptRecord,
}

impl Worker {
    pub fn new(store: Store, sender: Sender, clock: Arc<dyn Clock>) -> Self {
        let (active_lanes, wake, stop, stopped, metrics) = Default::default();
        Self { store, sender, clock, active_lanes, wake, stop, stopped, metrics }
    }

    /// Makes the worker look for messages now.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Stops claiming messages, and waits until those in flight have a result.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.stopped.cancelled().await;
    }

    /// Sends messages until the worker is stopped. Never returns, because its supervisor would
    /// restart it.
    pub async fn run(self: Arc<Self>) {
        let mut lanes = JoinSet::new();
        let mut slots = LaneSlots::default();
        while !self.stop.is_cancelled() {
            if !slots.is_full() {
                self.start_lanes(&mut slots, &mut lanes).await;
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = sleep(MIN_SEARCH_INTERVAL) => {}
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                Some(Ok((origin, conduct))) = lanes.join_next() => {
                    slots.release(&origin, conduct);
                }
                () = self.wake.notified() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
            while let Some(Ok((origin, conduct))) = lanes.try_join_next() {
                slots.release(&origin, conduct);
            }
        }
        while lanes.join_next().await.is_some() {}
        self.stopped.cancel();
        pending::<()>().await;
    }

    /// Starts lanes that have due messages, the longest due first.
    async fn start_lanes(
        self: &Arc<Self>,
        slots: &mut LaneSlots,
        lanes: &mut JoinSet<(String, Conduct)>,
    ) {
        let origins = match self.store.due_origins(self.clock.now(), MAX_DUE_LANES).await {
            Ok(origins) => origins,
            Err(error) => return log_failure(&error),
        };
        for origin in origins {
            if slots.take(&origin) {
                let worker = Arc::clone(self);
                lanes.spawn(async move {
                    let run = AssertUnwindSafe(worker.run_lane(&origin)).catch_unwind();
                    let conduct = run.await.unwrap_or_else(|_| {
                        tracing::error!(origin, "lane failed, retrying");
                        Conduct::Unknown
                    });
                    (origin, conduct)
                });
            }
        }
        self.active_lanes.store(slots.active_count(), Ordering::Relaxed);
    }

    /// Sends the due messages of a lane.
    async fn run_lane(self: &Arc<Self>, origin: &str) -> Conduct {
        let failures = match self.store.lane(origin).await {
            Ok(lane) => lane.map_or(0, |lane| lane.failures),
            Err(error) => {
                wait_after_failure(&error).await;
                return Conduct::Unknown;
            }
        };
        let mut run = LaneRun {
            worker: self,
            origin,
            failures,
            has_failure: false,
            paused_until: None,
            has_response: false,
            has_success: false,
            error_count: 0,
            response_count: 0,
            response_time: Duration::ZERO,
            unstored: Vec::new(),
        };
        run.send_due_messages().await;
        run.conduct()
    }

    /// Claims due deliveries. Releases them if the database took so long that the lease could end
    /// too early.
    async fn claim(&self, origin: &str, limit: usize) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let claim = random::hex_id();
        let start = Instant::now();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = self.clock.now();
        let deliveries = self.store.claim_deliveries(origin, &claim, limit, now).await?;
        if start.elapsed() > MAX_CLAIM_DURATION {
            self.store.release_claim(&claim).await?;
            return Ok(Vec::new());
        }
        Ok(deliveries)
    }

    /// Deletes a receiver that its push service or gateway no longer accepts.
    async fn remove_receiver(&self, attempt: &FinishedAttempt) -> Result<(), StoreError> {
        let now = self.clock.now();
        let event = NewAuditEvent {
            detail: attempt.record.error.as_ref().map(ToString::to_string),
            ..NewAuditEvent::for_server(now, AuditKind::ReceiverRemove)
        };
        let receiver = &attempt.delivery.receiver;
        self.store.delete_receiver(&event.into(), receiver.account_id, receiver.id).await?;
        self.metrics.removed_receivers.inc();
        Ok(())
    }

    /// Returns the number of messages that each lane may have in flight.
    fn lane_share(&self) -> usize {
        let lanes = self.active_lanes.load(Ordering::Relaxed).max(1);
        (SHARED_IN_FLIGHT / lanes).clamp(1, MAX_IN_FLIGHT)
    }
}

impl LaneRun<'_> {
    /// Sends due messages until none is due, the lane pauses, or other lanes should have the slot.
    async fn send_due_messages(&mut self) {
        let start = Instant::now();
        // Separate tasks, so that neither a slow database nor its failure interrupts them.
        let mut attempts = JoinSet::new();
        let mut may_claim = true;
        loop {
            may_claim &= self.paused_until.is_none()
                && start.elapsed() < MAX_RUN_DURATION
                && !self.worker.stop.is_cancelled();
            let max_in_flight = if self.has_response { self.worker.lane_share() } else { 1 };
            let mut may_have_more = false;
            if may_claim && self.unstored.is_empty() && attempts.len() <= max_in_flight / 2 {
                let limit = max_in_flight - attempts.len();
                match self.worker.claim(self.origin, limit).await {
                    Ok(deliveries) => {
                        may_have_more = deliveries.len() == limit;
                        for delivery in deliveries {
                            let worker = Arc::clone(self.worker);
                            attempts.spawn(async move { worker.sender.send(delivery).await });
                        }
                    }
                    Err(error) => {
                        may_claim = false;
                        wait_after_failure(&error).await;
                    }
                }
            }
            if attempts.is_empty() && self.unstored.is_empty() {
                return;
            }
            tokio::select! {
                Some(Ok((delivery, attempt))) = attempts.join_next() => self.add(delivery, attempt),
                // While a message is slow, new ones may become due.
                () = sleep(POLL_INTERVAL), if !may_have_more => {}
                // A panic: the delivery can be claimed again when its lease ends.
                else => {}
            }
            // Stores all results that are ready in one batch.
            while let Some(Ok((delivery, attempt))) = attempts.try_join_next() {
                self.add(delivery, attempt);
            }
            if let Err(error) = self.store_results().await {
                wait_after_failure(&error).await;
                // A different node may send the messages now, and then the results have no effect.
                if start.elapsed() > MAX_RUN_DURATION + Store::LEASE {
                    self.unstored.clear();
                }
            }
        }
    }

    /// Derives the result of an attempt, and pauses the lane if its server failed or was slow.
    fn add(&mut self, delivery: ClaimedDelivery, attempt: Attempt) {
        let Worker { metrics, clock, .. } = &**self.worker;
        let now = clock.now();
        let verdict = attempt.verdict;
        let retry_after = attempt.retry_after;
        match verdict {
            Verdict::Delivered => {
                metrics.delivered.inc();
                metrics.durations.observe_duration(
                    now.duration_since(delivery.created_at).try_into().unwrap_or_default(),
                );
            }
            Verdict::ReceiverGone => metrics.receiver_gone.inc(),
            Verdict::Denied => metrics.denied.inc(),
            Verdict::Dropped => metrics.dropped.inc(),
            Verdict::Retry | Verdict::ServerUnavailable => metrics.retried.inc(),
        }
        let due_at = || {
            let pause = random_pause(delivery.attempts + 1).max(retry_after.unwrap_or_default());
            round_up(now, pause)
        };
        let result = match verdict {
            Verdict::Delivered => DeliveryResult::Finished(DeliveryOutcome::Delivered),
            Verdict::ReceiverGone => DeliveryResult::Finished(DeliveryOutcome::Removed),
            Verdict::Dropped => DeliveryResult::Finished(DeliveryOutcome::Dropped),
            Verdict::Retry => DeliveryResult::Retry(due_at()),
            Verdict::Denied => DeliveryResult::Denied(due_at()),
            // The message may be the only one that fails, and then the pauses of its lane are short.
            Verdict::ServerUnavailable => {
                DeliveryResult::Retry(self.pause_after_failure(retry_after, now).max(due_at()))
            }
        };
        if attempt.status.is_some() {
            self.response_count += 1;
            self.response_time += attempt.duration;
        }
        match verdict {
            _ if attempt.duration >= SLOW_ATTEMPT => drop(self.pause_after_failure(None, now)),
            Verdict::Delivered => (self.has_response, self.has_success) = (true, true),
            Verdict::ReceiverGone | Verdict::Denied | Verdict::Dropped => self.has_response = true,
            Verdict::Retry | Verdict::ServerUnavailable => {}
        }
        if matches!(verdict, Verdict::Denied | Verdict::Retry) && attempt.status.is_some() {
            self.error_count += 1;
            if self.error_count >= MAX_ERRORS_WITHOUT_SUCCESS && !self.has_success {
                self.pause(ERROR_PAUSE, now);
            }
        }
        let key = delivery.key.clone();
        let record = AttemptRecord { key, result, status: attempt.status, error: attempt.error };
        self.unstored.push(FinishedAttempt { delivery, verdict, record });
    }

    /// Pauses the lane because its server failed or was slow. Returns the end of the pause.
    fn pause_after_failure(&mut self, retry_after: Option<Duration>, now: Timestamp) -> Timestamp {
        self.has_failure = true;
        self.pause(random_pause(self.failures + 1).max(retry_after.unwrap_or_default()), now)
    }

    /// Pauses the lane, at least until the end of an earlier pause. Returns the end of the pause.
    fn pause(&mut self, pause: Duration, now: Timestamp) -> Timestamp {
        let until = round_up(now, pause).max(self.paused_until.unwrap_or(now));
        self.paused_until = Some(until);
        until
    }

    /// Returns how the server reacted in this run.
    fn conduct(&self) -> Conduct {
        let mean_time = self.response_time / self.response_count.max(1);
        match (self.paused_until, self.has_success) {
            (Some(_), _) => Conduct::Slow,
            (None, true) => Conduct::from_response_time(mean_time),
            (None, false) => Conduct::Unknown,
        }
    }

    /// Stores the pause of the lane, the results of finished attempts and the success of the lane,
    /// and deletes receivers that are gone. After an error, everything is stored again; what was
    /// stored before is then unchanged.
    async fn store_results(&mut self) -> Result<(), StoreError> {
        if self.unstored.is_empty() {
            return Ok(());
        }
        let Worker { store, clock, .. } = &**self.worker;
        let now = clock.now();
        let mut gone_receivers = Vec::new();
        for attempt in &self.unstored {
            if self.is_gone(attempt, now).await? {
                gone_receivers.push(attempt);
            }
        }
        let records: Vec<AttemptRecord> =
            self.unstored.iter().map(|attempt| attempt.record.clone()).collect();
        let origin = self.origin;
        if let Some(until) = self.paused_until {
            let failures = self.failures + i64::from(self.has_failure);
            // Before the results, after which other nodes can claim the deliveries.
            store.pause_lane(origin, until, failures).await?;
            if self.has_failure && failures == LOGGED_FAILURES {
                let mut errors = records.iter().filter_map(|record| record.error.as_ref());
                let error = errors.next_back().map(ToString::to_string);
                log_throttled!(warn, "push service does not respond, pausing", origin, %until, error);
            }
        }
        store.record_attempts(&records, now).await?;
        if self.paused_until.is_none() && self.has_success && self.failures > 0 {
            store.clear_lane(origin, now).await?;
            if self.failures >= LOGGED_FAILURES {
                log_throttled!(info, "push service responds again", origin);
            }
        }
        for attempt in gone_receivers {
            self.worker.remove_receiver(attempt).await?;
        }
        if self.has_success {
            self.failures = 0;
        }
        self.unstored.clear();
        Ok(())
    }

    /// Returns whether a receiver must be deleted: it no longer exists, or has been denied for long
    /// while its push service accepted messages for others.
    async fn is_gone(&self, attempt: &FinishedAttempt, now: Timestamp) -> Result<bool, StoreError> {
        let receiver = &attempt.delivery.receiver;
        match (attempt.verdict, receiver.denied_since) {
            (Verdict::ReceiverGone, _) => Ok(true),
            (Verdict::Denied, Some(since))
                if is_denied_for_long(receiver.denied_count + 1, since, now) =>
            {
                self.worker.store.has_success_since(self.origin, since).await
            }
            _ => Ok(false),
        }
    }
}

/// Returns the pause after this many failures in a row.
fn random_pause(failures: i64) -> Duration {
    lane_pause(u64::try_from(failures).unwrap_or_default(), u64::from_be_bytes(random::bytes()))
}

/// Returns the end of a pause, rounded up to whole seconds, as the database stores times.
fn round_up(now: Timestamp, pause: Duration) -> Timestamp {
    let milliseconds = now.as_millisecond() + i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_second((milliseconds + 999).div_euclid(1000)).unwrap_or(Timestamp::MAX)
}

/// Logs an error, and gives the database time to recover.
async fn wait_after_failure(error: &StoreError) {
    log_failure(error);
    sleep(POLL_INTERVAL).await;
}

fn log_failure(error: &StoreError) {
    log_throttled!(warn, "delivery interrupted, retrying", %error);
}
