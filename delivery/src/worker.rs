//! Takes deliveries from the queue and sends them.
//!
//! Every origin has its own lane, so a dead or slow server delays no messages to others. A node
//! works on many lanes concurrently. [`Lane`] decides how many messages of a lane are in flight, and
//! which receivers and lanes pause after a failure.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::push::answer::{DeliveryOutcome, Verdict, is_denied_for_long};
use belfry_core::push::lane::{Answer, Lane};
use belfry_core::push::lane_slots::LaneSlots;
use belfry_runtime::{log_throttled, random};
use belfry_store::{
    AttemptRecord, ClaimedDelivery, DueLane, Receiver, ReceiverResult, Store, StoreError,
};
use futures_util::FutureExt;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::metrics::DeliveryMetrics;
use crate::sender::{Attempt, Sender};

/// Number of messages in flight that the lanes of a node share, to limit its memory.
const SHARED_IN_FLIGHT: usize = 1024;
/// Maximum number of due lanes of a kind that are considered for a free slot.
const MAX_DUE_LANES: usize = 1000;
/// Minimum time between two searches for due lanes.
const MIN_SEARCH_INTERVAL: Duration = Duration::from_millis(20);
/// Interval at which a node looks for messages that other nodes accepted, and for retries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a lane with further messages frees its slot for the lanes that wait for one.
const MAX_RUN_DURATION: Duration = Duration::from_secs(10);
/// Pause of a receiver whose message could not be sent because too many others are in flight.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// Number of failures of a lane or receiver, after about two minutes, from which its server is in the
/// log.
const LOGGED_FAILURES: i64 = 8;
/// Maximum time from the claim of a delivery to the start of its attempt, so that the attempt ends
/// before the lease.
const MAX_CLAIM_DURATION: Duration = Duration::from_secs(15);

/// Sends the messages in the queue.
pub struct Worker {
    store: Store,
    sender: Sender,
    active: Mutex<ActiveLanes>,
    in_flight: AtomicUsize,
    /// True if lanes wait for a slot.
    has_waiting_lanes: AtomicBool,
    wake: Notify,
    stop: CancellationToken,
    stopped: CancellationToken,
    pub metrics: DeliveryMetrics,
}

#[derive(Default)]
struct ActiveLanes {
    /// Wakes the lanes in work.
    wakes: HashMap<String, Arc<Notify>>,
    /// The origins for which messages were accepted since their lanes last looked for some.
    accepted: HashSet<String>,
}

struct LaneRun<'a> {
    worker: &'a Arc<Worker>,
    origin: &'a str,
    lane: Lane,
    wake: Arc<Notify>,
    /// Number of messages in flight to receivers that are not proven.
    unproven_in_flight: usize,
    /// True if the last claim found proven receivers.
    has_proven: bool,
    /// The number of pauses before this run.
    earlier_failures: i64,
    /// Attempts whose results are not stored yet.
    unstored: Vec<FinishedAttempt>,
}

struct FinishedAttempt {
    delivery: ClaimedDelivery,
    verdict: Verdict,
    record: AttemptRecord,
}

impl Worker {
    pub fn new(store: Store, sender: Sender) -> Self {
        Self {
            store,
            sender,
            active: Mutex::default(),
            in_flight: AtomicUsize::default(),
            has_waiting_lanes: AtomicBool::default(),
            wake: Notify::default(),
            stop: CancellationToken::default(),
            stopped: CancellationToken::default(),
            metrics: DeliveryMetrics::default(),
        }
    }

    /// Makes the worker look for messages to these origins now.
    pub fn wake<'a>(&self, origins: impl IntoIterator<Item = &'a str>) {
        let mut active = self.active();
        for origin in origins {
            if active.accepted.insert(origin.to_owned())
                && let Some(wake) = active.wakes.get(origin)
            {
                wake.notify_one();
            }
        }
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
            if let Err(error) = self.start_lanes(&mut slots, &mut lanes).await {
                log_failure(&error);
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = sleep(MIN_SEARCH_INTERVAL) => {}
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                Some(Ok(origin)) = lanes.join_next() => self.release(&mut slots, &origin),
                () = self.wake.notified() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
            while let Some(Ok(origin)) = lanes.try_join_next() {
                self.release(&mut slots, &origin);
            }
        }
        while lanes.join_next().await.is_some() {}
        self.stopped.cancel();
        pending::<()>().await;
    }

    fn release(&self, slots: &mut LaneSlots, origin: &str) {
        slots.release(origin);
        self.active().wakes.remove(origin);
    }

    /// Starts the lanes that are due, and those for which messages were just accepted: a lane that
    /// another transaction has just left is not due in the database.
    async fn start_lanes(
        self: &Arc<Self>,
        slots: &mut LaneSlots,
        lanes: &mut JoinSet<String>,
    ) -> Result<(), StoreError> {
        if slots.is_full() {
            self.has_waiting_lanes.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let now = self.now();
        let mut due_lanes = self.store.due_lanes(true, MAX_DUE_LANES, now).await?;
        due_lanes.extend(self.store.due_lanes(false, MAX_DUE_LANES, now).await?);
        let accepted: Vec<String> =
            self.active().accepted.iter().take(MAX_DUE_LANES).cloned().collect();
        for origin in accepted {
            if due_lanes.iter().all(|lane| lane.origin != origin) {
                due_lanes.extend(self.store.lane(&origin).await?);
            }
        }
        let mut has_waiting_lanes = false;
        for DueLane { origin, account_id, record } in due_lanes {
            if !slots.take(&origin, account_id, record.is_proven) {
                has_waiting_lanes |= !self.active().wakes.contains_key(&origin);
                continue;
            }
            let wake = Arc::new(Notify::new());
            self.active().wakes.insert(origin.clone(), Arc::clone(&wake));
            let worker = Arc::clone(self);
            lanes.spawn(async move {
                let run = worker.run_lane(&origin, Lane::new(record), wake);
                if AssertUnwindSafe(run).catch_unwind().await.is_err() {
                    tracing::error!(origin, "lane failed, retrying");
                }
                origin
            });
        }
        self.has_waiting_lanes.store(has_waiting_lanes, Ordering::Relaxed);
        Ok(())
    }

    /// Sends the due messages of a lane, and stores its state.
    async fn run_lane(self: &Arc<Self>, origin: &str, lane: Lane, wake: Arc<Notify>) {
        let earlier_failures = lane.record().failures;
        let mut run = LaneRun {
            worker: self,
            origin,
            lane,
            wake,
            unproven_in_flight: 0,
            has_proven: false,
            earlier_failures,
            unstored: Vec::new(),
        };
        run.send_due_messages().await;
        let record = run.lane.record();
        if let Err(error) = self.store.rest_lane(origin, &record, self.now()).await {
            wait_after_failure(&error).await;
        }
        // A lookup cannot be cancelled, so it occupies the slot of its lane until it ends.
        if let Some(host) = Url::parse(origin).ok().as_ref().and_then(Url::host_str) {
            self.sender.client.lookup_ended(host).await;
        }
    }

    /// Deletes a receiver that its push service or gateway no longer accepts.
    async fn remove_receiver(&self, attempt: &FinishedAttempt) -> Result<(), StoreError> {
        let now = self.now();
        let event = NewAuditEvent {
            detail: attempt.record.error.as_ref().map(ToString::to_string),
            ..NewAuditEvent::for_server(now, AuditKind::ReceiverRemove)
        };
        let receiver = &attempt.delivery.receiver;
        self.store.delete_receiver(&event.into(), receiver.account_id, receiver.id).await?;
        self.metrics.removed_receivers.inc();
        Ok(())
    }

    /// Returns how many more messages a lane may send, of which `in_flight` are in flight. Lanes
    /// leave half of the free places to each other, but each may have one message in flight.
    fn free_places(&self, lane: &Lane, in_flight: usize) -> usize {
        let free = SHARED_IN_FLIGHT.saturating_sub(self.in_flight.load(Ordering::Relaxed));
        let share = (free / 2).max(usize::from(in_flight == 0));
        lane.max_in_flight().saturating_sub(in_flight).min(share)
    }

    fn now(&self) -> Timestamp {
        self.sender.clock.now()
    }

    fn active(&self) -> MutexGuard<'_, ActiveLanes> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LaneRun<'_> {
    /// Sends due messages until none is due, the lane pauses, or other lanes should have the slot.
    async fn send_due_messages(&mut self) {
        let worker = self.worker;
        let start = Instant::now();
        // Separate tasks, so that neither a slow database nor its failure interrupts them.
        let mut attempts = JoinSet::new();
        let mut may_claim = true;
        let mut is_woken = true;
        loop {
            let must_yield = start.elapsed() >= MAX_RUN_DURATION
                && worker.has_waiting_lanes.load(Ordering::Relaxed);
            may_claim &=
                self.lane.paused_until().is_none() && !must_yield && !worker.stop.is_cancelled();
            let mut may_have_more = false;
            if may_claim && self.unstored.is_empty() && (is_woken || self.has_place(attempts.len()))
            {
                is_woken = false;
                let limit = worker.free_places(&self.lane, attempts.len());
                match self.claim(limit).await {
                    Ok(deliveries) => {
                        may_have_more = deliveries.len() == limit;
                        self.has_proven = deliveries.iter().any(|next| next.receiver.is_proven);
                        for delivery in deliveries {
                            self.unproven_in_flight += usize::from(!delivery.receiver.is_proven);
                            let worker = Arc::clone(worker);
                            let is_proven = self.lane.record().succeeded_at.is_some();
                            worker.in_flight.fetch_add(1, Ordering::Relaxed);
                            attempts.spawn(async move {
                                let result = worker.sender.send(delivery, is_proven).await;
                                worker.in_flight.fetch_sub(1, Ordering::Relaxed);
                                result
                            });
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
            let in_flight = attempts.len();
            tokio::select! {
                Some(Ok((delivery, attempt))) = attempts.join_next() => {
                    self.add(delivery, attempt, in_flight);
                }
                () = self.wake.notified() => is_woken = true,
                // While a message is slow, other nodes may accept more.
                () = sleep(POLL_INTERVAL), if !may_have_more => is_woken = true,
                // A panic: the receiver can be claimed again when its lease ends.
                else => {}
            }
            // Stores all results that are ready in one batch.
            while let Some(Ok((delivery, attempt))) = attempts.try_join_next() {
                self.add(delivery, attempt, in_flight);
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

    /// Returns whether enough places are free to claim several deliveries together. Receivers that do
    /// not respond do not count where proven ones have places of their own.
    fn has_place(&self, in_flight: usize) -> bool {
        let max = self.lane.max_in_flight();
        let reserved = max - self.lane.max_unproven_in_flight();
        in_flight <= max / 2
            || (self.has_proven && in_flight - self.unproven_in_flight <= reserved / 2)
    }

    /// Claims at most `limit` deliveries. Releases them if the database took so long that the lease
    /// could end too early.
    async fn claim(&self, limit: usize) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let worker = self.worker;
        worker.active().accepted.remove(self.origin);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let claim = random::hex_id();
        let start = Instant::now();
        let max_unproven =
            self.lane.max_unproven_in_flight().saturating_sub(self.unproven_in_flight);
        let deliveries = worker
            .store
            .claim_deliveries(self.origin, &claim, limit, max_unproven.min(limit), worker.now())
            .await?;
        if start.elapsed() > MAX_CLAIM_DURATION {
            worker.store.release_claim(&claim, worker.now()).await?;
            return Ok(Vec::new());
        }
        Ok(deliveries)
    }

    /// Derives the result of an attempt, and whether its receiver or the lane pauses.
    fn add(&mut self, delivery: ClaimedDelivery, attempt: Attempt, in_flight: usize) {
        let metrics = &self.worker.metrics;
        let now = self.worker.now();
        let receiver = &delivery.receiver;
        self.unproven_in_flight -= usize::from(!receiver.is_proven);
        let verdict = attempt.verdict;
        let answer = Answer {
            verdict,
            account_id: receiver.account_id,
            receiver_is_proven: receiver.is_proven,
            receiver_failures: receiver.failures,
            started_at: now.checked_sub(attempt.duration).unwrap_or(Timestamp::MIN),
            duration: attempt.duration,
            retry_after: attempt.retry_after,
            is_http1: attempt.is_http1,
            in_flight,
            jitter: u64::from_be_bytes(random::bytes()),
        };
        let pause = self.lane.add(&answer, now);
        let (counter, outcome) = match verdict {
            Verdict::Delivered => (&metrics.delivered, Some(DeliveryOutcome::Delivered)),
            Verdict::ReceiverGone => (&metrics.receiver_gone, Some(DeliveryOutcome::Removed)),
            Verdict::Rejected | Verdict::Dropped => {
                (&metrics.dropped, Some(DeliveryOutcome::Dropped))
            }
            Verdict::Denied => (&metrics.denied, None),
            Verdict::Throttled
            | Verdict::Retry
            | Verdict::NoResponse
            | Verdict::OriginUnavailable
            | Verdict::Refused => (&metrics.retried, None),
        };
        counter.inc();
        if verdict == Verdict::Delivered {
            let duration = now.duration_since(delivery.created_at);
            metrics.durations.observe_duration(duration.try_into().unwrap_or_default());
        }
        let receiver = match (verdict, pause) {
            (Verdict::Delivered, _) => ReceiverResult::Success,
            (_, Some(pause)) => ReceiverResult::Failure {
                paused_until: round_up(now, pause),
                is_denial: verdict == Verdict::Denied,
            },
            (Verdict::Refused, None) => {
                ReceiverResult::Unknown { due_at: round_up(now, REFUSED_PAUSE) }
            }
            (_, None) => ReceiverResult::Unknown { due_at: now },
        };
        let record = AttemptRecord {
            key: delivery.key.clone(),
            outcome,
            receiver,
            status: attempt.status,
            error: attempt.error,
        };
        self.unstored.push(FinishedAttempt { delivery, verdict, record });
    }

    /// Stores the pause of the lane and the results of finished attempts, and deletes receivers
    /// that are gone. After an error, everything is stored again; what was stored before is then
    /// unchanged.
    async fn store_results(&mut self) -> Result<(), StoreError> {
        if self.unstored.is_empty() {
            return Ok(());
        }
        let store = &self.worker.store;
        let now = self.worker.now();
        let origin = self.origin;
        let records = self.unstored.iter().map(|attempt| &attempt.record);
        let failures = self.lane.record().failures;
        if let Some(until) = self.lane.paused_until() {
            // Before the results, after which other nodes can claim the receivers.
            let until = round_up(until, Duration::ZERO);
            store.pause_lane(origin, until, failures).await?;
            if failures == LOGGED_FAILURES && failures > self.earlier_failures {
                let mut errors = records.clone().filter_map(|record| record.error.as_ref());
                let error = errors.next_back().map(ToString::to_string);
                log_throttled!(warn, "push service does not respond, pausing", origin, %until, error);
            }
        } else if failures == 0 && self.earlier_failures >= LOGGED_FAILURES {
            log_throttled!(info, "push service responds again", origin);
        }
        self.earlier_failures = failures;
        store.record_attempts(records, now).await?;
        for attempt in &self.unstored {
            if self.is_gone(attempt, now) {
                self.worker.remove_receiver(attempt).await?;
            }
            let Receiver { account_id, id, failures, .. } = attempt.delivery.receiver;
            if matches!(attempt.verdict, Verdict::Retry | Verdict::NoResponse)
                && failures + 1 == LOGGED_FAILURES
            {
                let error = attempt.record.error.as_ref().map(ToString::to_string);
                log_throttled!(
                    warn,
                    "push service fails for a receiver",
                    origin,
                    account_id,
                    id,
                    error
                );
            }
        }
        self.unstored.clear();
        Ok(())
    }

    /// Returns whether a receiver must be deleted: it no longer exists, or has been denied for long
    /// while its push service accepted messages for others.
    fn is_gone(&self, attempt: &FinishedAttempt, now: Timestamp) -> bool {
        let receiver = &attempt.delivery.receiver;
        match (attempt.verdict, receiver.denied_since) {
            (Verdict::ReceiverGone, _) => true,
            (Verdict::Denied, Some(since)) => {
                is_denied_for_long(receiver.denied_count + 1, since, now)
                    && self.lane.record().succeeded_at > Some(since)
            }
            _ => false,
        }
    }
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
