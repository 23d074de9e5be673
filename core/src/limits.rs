//! Rate limits: fixed windows per key, and the decision about a request that several limits count.
//!
//! This module stores no counts. An engine stores one [`Window`] for each [`Bucket`], passes the
//! stored windows to [`decide`] and stores the updated ones, so all engines decide alike.
//!
//! **Clock changes.** A window is stored by its end. [`decide`] clamps an end that is more than one
//! window length in the future. After a clock is set back, counts remain, and no key is rejected
//! for longer than one window. A clock that jumps forward ends the current windows, so a key gains
//! at most one window per jump.
//!
//! **Changed limits.** Counts remain. A new number of requests applies to the next request, and so
//! does a shorter window, by the same clamping. A longer window applies after the current one.

pub mod abuse;
pub mod check_options;
pub mod cidr;
pub mod forwarded;
pub mod header;
pub mod key;
pub mod original_request;
pub mod route;
pub mod setting;
pub mod table;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use smallvec::SmallVec;
use thiserror::Error;

pub use self::key::{LimitKey, Network, TokenOwner};

/// Unix time in microseconds, the precision with which engines store the end of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixMicros(pub i64);

impl UnixMicros {
    /// Adds a duration. Saturates at the maximum.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros().try_into().unwrap_or(i64::MAX)))
    }

    /// Returns the duration until `end`; zero if `end` has passed.
    pub fn until(self, end: Self) -> Duration {
        Duration::from_micros(end.0.saturating_sub(self.0).try_into().unwrap_or(0))
    }
}

impl From<Timestamp> for UnixMicros {
    fn from(time: Timestamp) -> Self {
        Self(time.as_microsecond())
    }
}

/// Times outside the range of `Timestamp` are clamped.
impl From<UnixMicros> for Timestamp {
    fn from(time: UnixMicros) -> Self {
        let nearest = if time.0 < 0 { Self::MIN } else { Self::MAX };
        Self::from_microsecond(time.0).unwrap_or(nearest)
    }
}

/// A named maximum of requests per window.
///
/// Counts are stored under the name, so they remain when the numbers change.
#[derive(Debug, PartialEq, Eq)]
pub struct Limit {
    name: String,
    requests: u32,
    window: Duration,
    /// The limit for the site around a network that this limit counts.
    site: Option<Arc<Limit>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The name does not fit into a header or a metric label.
    #[error("{0:?} is not a valid limit name: use 1 to 48 of a-z, 0-9, `_` and `-`")]
    Name(String),
    /// The window is too short, too long, or not in whole seconds.
    #[error("a window must be whole seconds, from 1 second to 8784 hours (366 days)")]
    Window,
}

impl Limit {
    /// The longest window: a leap year, so that time arithmetic stays far from overflow.
    const MAX_WINDOW: Duration = Duration::from_hours(366 * 24);

    /// Creates a limit. With 0 `requests`, every request is rejected.
    pub fn new(name: &str, requests: u32, window: Duration) -> Result<Self, LimitError> {
        let is_valid_byte =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > 48 || !name.bytes().all(is_valid_byte) {
            return Err(LimitError::Name(name.chars().take(64).collect()));
        }
        let is_valid_window = (Duration::from_secs(1)..=Self::MAX_WINDOW).contains(&window);
        if !is_valid_window || window.subsec_nanos() > 0 {
            return Err(LimitError::Window);
        }
        Ok(Self { name: name.into(), requests, window, site: None })
    }

    /// Returns a copy that also limits the site around a network, to `multiple` times the
    /// requests; without that limit if `multiple` is 0.
    pub fn with_site_multiple(&self, multiple: u32) -> Self {
        let requests = self.requests.saturating_mul(multiple);
        let window = self.window;
        let name = format!("{}-48", self.name);
        let site = (multiple > 0).then(|| Self { name, requests, window, site: None }.into());
        Self { name: self.name.clone(), requests: self.requests, window, site }
    }

    /// Returns the limit for the site around a network, if there is one.
    pub fn site(&self) -> Option<&Arc<Self>> {
        self.site.as_ref()
    }

    /// Returns the name in settings, headers and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of requests that one window admits.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    pub fn window(&self) -> Duration {
        self.window
    }

    /// Returns the window that a request at `now` falls into, given the stored one.
    fn window_at(&self, stored_window: Window, now: UnixMicros) -> Window {
        let latest_end = now.plus(self.window());
        if stored_window.count > 0 && now < stored_window.end {
            Window { end: stored_window.end.min(latest_end), ..stored_window }
        } else {
            Window { count: 0, end: latest_end }
        }
    }
}

/// Formats the limit as `300 in 5m`.
/// The count of one bucket and the end of its window.
///
/// A window starts with the first request that is counted and lasts for the limit's window length.
/// The default is the state of a key that was never counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of requests admitted so far. An engine may drop a window with 0.
    pub count: u32,
    /// The end of the window. A request at this time falls into the next window.
    pub end: UnixMicros,
}

/// A limit that applies to a request, and the key it is counted under.
#[derive(Debug, Clone)]
pub struct Bucket<'a> {
    pub limit: &'a Arc<Limit>,
    pub key: LimitKey,
}

impl Bucket<'_> {
    /// Returns this bucket and, for an IPv6 network, that of the site around it.
    fn with_site(self) -> impl Iterator<Item = Self> {
        let site = self.limit.site.as_ref().and_then(|limit| {
            let key = self.key.site()?;
            Some(Bucket { limit, key })
        });
        iter::once(self).chain(site)
    }
}

/// All buckets of a request. Most requests have two.
pub type Buckets<'a> = SmallVec<[Bucket<'a>; 2]>;

/// The buckets in which a decision counts the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMode {
    /// All buckets if each has a request left, otherwise none.
    Check,
    /// None: only reports how a request would be decided.
    Peek,
    /// Each bucket that has a request left, independently of the others. For events that are
    /// counted after they happened, such as a wrong secret.
    Charge,
    /// None: a request that was counted earlier is taken back in all buckets.
    Refund,
}

/// The state of one bucket after a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaStatus {
    pub limit: Arc<Limit>,
    /// Number of requests left in the window.
    pub remaining: u32,
    /// The end of the window; without a current window, the end of one that starts now.
    pub reset: UnixMicros,
    /// True if this bucket had a request left, or the decision was a refund.
    pub is_admitted: bool,
}

impl QuotaStatus {
    /// Returns whether at least 80% of the limit is used, which metrics report as an early
    /// warning.
    pub fn is_nearly_exhausted(&self) -> bool {
        let requests = u64::from(self.limit.requests());
        (requests - u64::from(self.remaining).min(requests)) * 5 >= requests * 4
    }
}

/// The decision about a request, with the state of all its buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateLimitDecision {
    decided_at: UnixMicros,
    statuses: SmallVec<[QuotaStatus; 2]>,
}

/// Decides whether all limits of a request admit it, each by its stored window, and counts the
/// request according to `mode`.
///
/// Updates the windows, which must be stored even if the request is rejected: an end may have been
/// clamped.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use belfry_core::limits::{CountMode, Limit, UnixMicros, Window, decide};
///
/// let limit = Arc::new(Limit::new("sign_in", 2, Duration::from_secs(60))?);
/// let mut windows = [(&limit, Window::default())];
/// let mut check = |second: i64| {
///     decide(CountMode::Check, &mut windows, UnixMicros(second * 1_000_000))
/// };
/// assert!(check(0).is_admitted());
/// assert!(check(10).is_admitted());
/// assert_eq!(check(20).retry_after(), Some(Duration::from_secs(40)));
/// assert!(check(60).is_admitted());
/// # Ok::<(), belfry_core::limits::LimitError>(())
/// ```
pub fn decide(
    mode: CountMode,
    windows: &mut [(&Arc<Limit>, Window)],
    now: UnixMicros,
) -> RateLimitDecision {
    let mut is_admitted_by_all = true;
    for (limit, window) in &mut *windows {
        *window = limit.window_at(*window, now);
        is_admitted_by_all &= window.count < limit.requests();
    }
    let mut decision = RateLimitDecision { decided_at: now, statuses: SmallVec::new() };
    for (limit, window) in windows {
        let is_admitted = window.count < limit.requests() || mode == CountMode::Refund;
        window.count = match mode {
            CountMode::Check => window.count + u32::from(is_admitted_by_all),
            CountMode::Peek => window.count,
            CountMode::Charge => window.count + u32::from(is_admitted),
            CountMode::Refund => window.count.saturating_sub(1),
        };
        let remaining = limit.requests().saturating_sub(window.count);
        let limit = Arc::clone(limit);
        decision.statuses.push(QuotaStatus { limit, remaining, reset: window.end, is_admitted });
    }
    decision
}

impl RateLimitDecision {
    /// Returns whether every bucket admitted the request.
    pub fn is_admitted(&self) -> bool {
        self.statuses.iter().all(|status| status.is_admitted)
    }

    /// Returns the state of each bucket, in the order of the buckets.
    pub fn statuses(&self) -> &[QuotaStatus] {
        &self.statuses
    }

    /// Returns the status for headers that report a single limit: one that rejected the request, or
    /// else the one with the fewest requests left. Among equals, the one with the latest reset.
    pub fn closest_status(&self) -> Option<&QuotaStatus> {
        self.statuses
            .iter()
            .min_by_key(|status| (status.is_admitted, status.remaining, Reverse(status.reset)))
    }

    /// Merges decisions about different limits of one request.
    pub fn merge(mut self, other: Self) -> Self {
        if self.statuses.is_empty() {
            return other;
        }
        // A decision without limits may be the default, whose time is 0.
        self.decided_at = self.decided_at.max(other.decided_at);
        self.statuses.extend(other.statuses);
        self
    }

    /// Merges decisions about different buckets of one request. Each decision comes with the
    /// indices of its buckets, which determine the order of the merged statuses.
    pub fn merge_by_index(decisions: [(&[usize], Self); 2]) -> Self {
        let mut merged = Self::default();
        let mut statuses = Vec::new();
        for (indices, decision) in decisions {
            merged.decided_at = merged.decided_at.max(decision.decided_at);
            statuses.extend(indices.iter().zip(decision.statuses));
        }
        statuses.sort_unstable_by_key(|&(index, _)| index);
        merged.statuses = statuses.into_iter().map(|(_, status)| status).collect();
        merged
    }

    /// Returns the time that a rejected client has to wait; `None` for an admitted request.
    pub fn retry_after(&self) -> Option<Duration> {
        if self.is_admitted() {
            return None;
        }
        self.closest_status().map(|status| self.decided_at.until(status.reset))
    }
}
