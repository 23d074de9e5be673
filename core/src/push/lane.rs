//! The scheduling of a lane: the deliveries to one origin, such as a push service, which all its
//! users share.
//!
//! An answer is held against the smallest thing that explains it. The receiver pauses for every
//! failure. The lane pauses only if no connection is possible, or if receivers of several accounts
//! fail without a success in between. The number of messages in flight grows while the origin
//! answers in time, and shrinks if it slows down or rejects messages.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::answer::{Verdict, pause_after_failures};

/// Maximum number of messages in flight.
const MAX_WINDOW: f64 = 1024.0;
/// The same over HTTP/1.1, where each needs a connection.
const MAX_WINDOW_HTTP1: f64 = 128.0;
/// The same for an origin that has not accepted a message yet.
const MAX_WINDOW_UNPROVEN: f64 = 8.0;
/// The window after the first message that an origin accepts in time: more than an account has
/// receivers, so that those of one account cannot occupy it.
const PROVEN_WINDOW: f64 = 32.0;
/// The window that a slow or overloaded origin keeps.
const MIN_WINDOW: f64 = 4.0;
/// Duration of an answer from which an origin is slow.
const SLOW_ANSWER: Duration = Duration::from_secs(1);
/// An answer is also slow if it takes twice as long as the fastest one, and this much longer.
const SLOWDOWN: Duration = Duration::from_millis(200);
/// Number of accounts whose receivers fail, without a success in between, after which the lane
/// pauses.
const FAILING_ACCOUNTS: usize = 3;
/// The same if all of them got the status 429.
const THROTTLED_ACCOUNTS: usize = 2;
/// Time after a success in which the status 429 means that too many messages are in flight.
const OVERLOAD: SignedDuration = SignedDuration::from_secs(10);
/// Maximum pause of a lane that `Retry-After` extends. Afterwards, one message tests the origin.
const MAX_LANE_RETRY_AFTER: Duration = Duration::from_mins(10);

/// The stored state of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneRecord {
    /// Number of pauses since the last success.
    pub failures: i64,
    pub max_in_flight: i64,
    /// True if messages were delivered when the lane was last active.
    pub is_proven: bool,
    /// Time of the last delivered message.
    pub succeeded_at: Option<Timestamp>,
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    pub account_id: i64,
    /// True if the receiver's previous attempt delivered its message.
    pub receiver_is_proven: bool,
    /// Number of the receiver's failures before this attempt.
    pub receiver_failures: i64,
    pub started_at: Timestamp,
    pub duration: Duration,
    /// The pause that the server requests.
    pub retry_after: Option<Duration>,
    pub is_http1: bool,
    /// Number of the lane's messages in flight, this one included.
    pub in_flight: usize,
    /// A random number, so that pauses do not end simultaneously.
    pub jitter: u64,
}

/// A lane that a node works on.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    record: LaneRecord,
    /// The end of the pause with which this work ends.
    paused_until: Option<Timestamp>,
    /// The accounts whose receivers have failed since the last success, and whether with the status
    /// 429.
    failing_accounts: Vec<(i64, bool)>,
    /// The longest pause that the server has requested since the last success.
    retry_after: Duration,
    /// Maximum number of messages in flight.
    window: f64,
    /// The window to which a slow or overloaded origin was reduced. Above it, the window grows
    /// slowly.
    known_limit: f64,
    /// Time of the last reduction.
    reduced_at: Timestamp,
    fastest_answer: Duration,
    has_success: bool,
    has_failure: bool,
}

impl Lane {
    pub fn new(record: LaneRecord) -> Self {
        let min = if record.succeeded_at.is_some() { MIN_WINDOW } else { 1.0 };
        let window = i32::try_from(record.max_in_flight).unwrap_or(i32::MAX);
        Self {
            record,
            paused_until: None,
            failing_accounts: Vec::new(),
            retry_after: Duration::ZERO,
            window: f64::from(window).clamp(min, MAX_WINDOW),
            known_limit: MAX_WINDOW,
            reduced_at: Timestamp::MIN,
            fastest_answer: Duration::MAX,
            has_success: false,
            has_failure: false,
        }
    }

    /// Returns the state to be stored when the work ends.
    pub fn record(&self) -> LaneRecord {
        LaneRecord {
            max_in_flight: i64::try_from(floor(self.window)).unwrap_or(1),
            is_proven: self.has_success || (self.record.is_proven && !self.has_failure),
            ..self.record
        }
    }

    /// Returns the end of the lane's pause, during which no message is sent.
    pub fn paused_until(&self) -> Option<Timestamp> {
        self.paused_until
    }

    /// Returns how many messages may be in flight. After a pause, a single one tests the origin.
    pub fn max_in_flight(&self) -> usize {
        match (self.record.failures, self.record.succeeded_at) {
            (1.., _) => 1,
            (_, None) => floor(self.window.min(MAX_WINDOW_UNPROVEN)),
            (_, Some(_)) => floor(self.window),
        }
    }

    /// Returns how many of them may be for receivers that are not proven. A quarter is reserved for
    /// the others, because a device that does not respond occupies its place until the timeout.
    pub fn max_unproven_in_flight(&self) -> usize {
        let max = self.max_in_flight();
        if self.record.succeeded_at.is_some() { max - max / 4 } else { max }
    }

    /// Records an answer that was received at `now`. Returns the receiver's pause, if the attempt
    /// failed; afterwards [`Lane::paused_until`] says whether the lane pauses.
    pub fn add(&mut self, answer: &Answer, now: Timestamp) -> Option<Duration> {
        // An origin that has just accepted messages is only overloaded if it rejects others.
        let is_throttled = answer.verdict == Verdict::Throttled;
        let since = if is_throttled { now.saturating_sub(OVERLOAD) } else { Ok(answer.started_at) };
        let since = since.unwrap_or(Timestamp::MIN);
        let is_explained = self.record.succeeded_at.is_some_and(|time| time >= since);
        match answer.verdict {
            Verdict::Delivered => self.add_success(answer, now),
            Verdict::ReceiverGone | Verdict::Rejected | Verdict::Dropped => {}
            Verdict::Refused => self.reduce(0.5, answer, now),
            Verdict::OriginUnavailable => {
                self.has_failure = true;
                if !is_explained {
                    self.pause(answer, now);
                }
            }
            Verdict::Denied | Verdict::Retry | Verdict::Throttled | Verdict::NoResponse => {
                self.has_failure = true;
                if matches!(answer.verdict, Verdict::Throttled | Verdict::NoResponse) {
                    self.reduce(0.5, answer, now);
                }
                if !is_explained && self.concerns_origin(answer) {
                    self.pause(answer, now);
                }
            }
        }
        answer.verdict.is_failure().then(|| {
            let failures = answer.receiver_failures.saturating_add(1);
            let retry_after = answer.retry_after.unwrap_or_default();
            pause_after_failures(failures, answer.jitter).max(retry_after)
        })
    }

    fn add_success(&mut self, answer: &Answer, now: Timestamp) {
        self.has_success = true;
        self.record.succeeded_at = Some(now);
        if self.paused_until.is_none() {
            self.record.failures = 0;
        }
        self.failing_accounts.clear();
        self.retry_after = Duration::ZERO;
        let slowdown = self.fastest_answer.saturating_mul(2).saturating_add(SLOWDOWN);
        self.fastest_answer = self.fastest_answer.min(answer.duration);
        if answer.duration > slowdown.min(SLOW_ANSWER) {
            self.window = self.window.max(MIN_WINDOW);
            self.reduce(0.75, answer, now);
            return;
        }
        if answer.in_flight * 2 >= self.max_in_flight() {
            let growth = if self.window < self.known_limit { 1.0 } else { 1.0 / self.window };
            let max = if answer.is_http1 { MAX_WINDOW_HTTP1 } else { MAX_WINDOW };
            self.window = (self.window + growth).min(max);
        }
        if self.known_limit >= MAX_WINDOW {
            self.window = self.window.max(PROVEN_WINDOW);
        }
    }

    /// Records that a receiver fails. Returns whether the origin is to blame. The failures of
    /// receivers that have failed before say nothing about an origin that accepts messages:
    /// otherwise, a few users could pause the lane of all others.
    fn concerns_origin(&mut self, answer: &Answer) -> bool {
        if !answer.receiver_is_proven && self.record.succeeded_at.is_some() {
            return false;
        }
        let is_throttled = answer.verdict == Verdict::Throttled;
        match self.failing_accounts.iter_mut().find(|(id, _)| *id == answer.account_id) {
            Some((_, was_throttled)) => *was_throttled |= is_throttled,
            None => self.failing_accounts.push((answer.account_id, is_throttled)),
        }
        self.retry_after = self.retry_after.max(answer.retry_after.unwrap_or_default());
        let throttled = self.failing_accounts.iter().filter(|(_, is_throttled)| *is_throttled);
        self.record.failures > 0
            || throttled.count() >= THROTTLED_ACCOUNTS
            || self.failing_accounts.len() >= FAILING_ACCOUNTS
    }

    /// Pauses the lane, unless another message of this work has done so.
    fn pause(&mut self, answer: &Answer, now: Timestamp) {
        if self.paused_until.is_some() {
            return;
        }
        self.record.failures = self.record.failures.saturating_add(1);
        let pause = pause_after_failures(self.record.failures, answer.jitter)
            .max(self.retry_after.min(MAX_LANE_RETRY_AFTER));
        self.paused_until = now.checked_add(pause).ok().or(Some(Timestamp::MAX));
        self.reduce(0.5, answer, now);
    }

    /// Reduces the window, once for the messages that were in flight together.
    fn reduce(&mut self, factor: f64, answer: &Answer, now: Timestamp) {
        if answer.started_at > self.reduced_at {
            self.window = (self.window * factor).max(MIN_WINDOW.min(self.window));
            self.known_limit = self.window;
            self.reduced_at = now;
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1024")]
fn floor(window: f64) -> usize {
    window as usize
}

#[cfg(test)]
mod tests;
