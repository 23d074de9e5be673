//! Limits: how many requests a key has in a window, how it stands, and which limit is closest.
//!
//! Nothing here counts. An engine keeps one [`Window`] for each claim, hands what it kept to
//! [`judge`], and keeps what it gets back; so every engine decides alike.
//!
//! **The clock.** A window is known by its end, and its end is never more than one length away:
//! [`judge`] pulls in an end that is further off. A clock that is set back therefore keeps the
//! counts (no free reset) and locks nobody out for longer than one window. A clock that jumps
//! forward looks like idle time: it ends the windows that are running, so that a key gains at most
//! one window for each jump, and when the clock is set right again the first rule holds.
//!
//! **A changed limit.** What was counted stays. More or fewer requests hold from the next call; a
//! shorter window holds at once, by the same pulling in; a longer one from the next window on.

pub mod abuse;
pub mod cidr;
pub mod forwarded;
pub mod header;
pub mod key;
mod micros;
pub mod original_request;
pub mod route;
pub mod setting;
pub mod table;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use smallvec::SmallVec;
use thiserror::Error;

pub use self::key::{LimitKey, Network};
pub use self::micros::Micros;

/// So many requests in a window, under a name.
///
/// The name is what counts are kept under: a limit that changes its numbers keeps its counts.
#[derive(Debug, Clone, Copy)]
pub struct Limit(&'static Terms);

/// What a limit says. It is kept for as long as the process lives: every call names its limits,
/// and to count who still holds one, all cores would have to change the same number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Terms {
    name: Box<str>,
    requests: u32,
    requests_text: Box<str>,
    window: u32,
    /// As `RateLimit` and `RateLimit-Policy` begin and have it, written once because every answer
    /// repeats it: `"account";r=` and `"account";q=300;w=300`.
    status: Box<str>,
    policy: Box<str>,
    /// The name as a number, for who needs to tell limits apart fast.
    number: u64,
}

/// Every limit that there has been, so that settings that are read again and again take no more
/// memory than those that are read once.
static LIMITS: Mutex<BTreeSet<&'static Terms>> = Mutex::new(BTreeSet::new());

impl Terms {
    fn kept(self) -> &'static Self {
        let mut limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = limits.get(&self) {
            return kept;
        }
        let kept: &'static Self = Box::leak(Box::new(self));
        limits.insert(kept);
        kept
    }
}

/// There is one of each, so that it need not be read to be compared.
impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Limit {}

/// Why a limit cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The name would not fit a header or a metric's label.
    #[error("{0:?} is no name for a limit: use 1 to 48 of a-z, 0-9, `_` and `-`")]
    Name(String),
    /// The window is too short, too long, or has a fraction.
    #[error("a window has whole seconds, from 1 second to 8784 hours (366 days)")]
    Window,
}

impl Limit {
    /// The longest window: a leap year, so that no sum of times comes near the end of the calendar.
    const LONGEST: u32 = 366 * 24 * 60 * 60;

    /// Names a limit. With 0 `requests`, nothing is admitted.
    ///
    /// # Errors
    ///
    /// When the name or the window cannot be written in a header.
    pub fn new(name: &str, requests: u32, window: Duration) -> Result<Self, LimitError> {
        let sound = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > 48 || !name.bytes().all(sound) {
            return Err(LimitError::Name(name.chars().take(64).collect()));
        }
        match u32::try_from(window.as_secs()) {
            Ok(seconds @ 1..=Self::LONGEST) if window.subsec_nanos() == 0 => {
                let status = format!("\"{name}\";r=").into();
                let policy = format!("\"{name}\";q={requests};w={seconds}").into();
                let number = BuildHasherDefault::<DefaultHasher>::new().hash_one(name);
                let terms = Terms {
                    name: name.into(),
                    requests,
                    requests_text: requests.to_string().into(),
                    window: seconds,
                    status,
                    policy,
                    number,
                };
                Ok(Self(terms.kept()))
            }
            _ => Err(LimitError::Window),
        }
    }

    /// What the limit is called in settings, headers and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The name as a number: the same for the same name, and as good as always another for another.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.number
    }

    /// How many requests one window admits.
    #[must_use]
    pub fn requests(self) -> u32 {
        self.0.requests
    }

    /// How long a window lasts, in whole seconds.
    #[must_use]
    pub fn window_seconds(self) -> u32 {
        self.0.window
    }

    /// The window that a call at `now` falls into, with what was counted in it before.
    fn window_at(self, kept: Window, now: Micros) -> Window {
        let latest = now.plus(Duration::from_secs(self.0.window.into()));
        if kept.count > 0 && now < kept.end {
            Window { end: kept.end.min(latest), ..kept }
        } else {
            Window { count: 0, end: latest }
        }
    }
}

/// `300 in 5m`
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = SignedDuration::from_secs(self.window_seconds().into());
        write!(f, "{} in {window:#}", self.requests())
    }
}

/// What an engine keeps of one claim: how many requests were admitted, and until when they count.
///
/// A window starts with the first request that is counted and lasts the limit's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// How many requests were admitted in it. A window without any is none, and need not be kept.
    pub count: u32,
    /// When it ends; the request at this instant falls into the next one.
    pub end: Micros,
}

impl Window {
    /// What is known of a key that was never counted.
    pub const NONE: Self = Self { count: 0, end: Micros::MIN };
}

/// One limit that applies to a call, and whose budget the call draws on.
#[derive(Debug, Clone)]
pub struct Bucket<'a> {
    /// The limit.
    pub limit: Limit,
    /// Whose requests are counted together.
    pub key: LimitKey<'a>,
}

/// What a call draws on. Most draw on two limits, which take no memory of their own.
pub type Buckets<'a> = SmallVec<[Bucket<'a>; 2]>;

/// What a judgement costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMode {
    /// One request of every limit if all of them have room, otherwise nothing.
    Check,
    /// Nothing: how would a call fare?
    Peek,
    /// One request of every limit that has room, whatever the others say. For what is counted only
    /// after it happened, as a wrong secret.
    Charge,
}

/// How a key stands with one limit once the call has been judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStatus {
    /// The limit.
    pub limit: Limit,
    /// How many more requests it has room for.
    pub remaining: u32,
    /// When the window ends. Where none is running: when one would end that starts now.
    pub reset: Micros,
    /// Whether this limit had room for the call.
    pub admitted: bool,
}

impl QuotaStatus {
    /// Whether four fifths of the limit or more are used: what an operator wants to know before
    /// somebody is refused.
    #[must_use]
    pub fn is_near(&self) -> bool {
        let requests = u64::from(self.limit.requests());
        (requests - u64::from(self.remaining).min(requests)) * 5 >= requests * 4
    }
}

/// How a call stands with all limits that apply to it, in the order of its claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateLimitDecision {
    /// When the call was judged.
    at: Micros,
    statuses: SmallVec<[QuotaStatus; 2]>,
}

/// Judges a call by all its limits together, each with the window that was kept for its key.
///
/// The windows are left as they are to be kept, also when the call is refused, because an end may
/// have been pulled in.
pub fn judge(mode: CountMode, kept: &mut [(Limit, Window)], now: Micros) -> RateLimitDecision {
    let mut all = true;
    for (limit, window) in &mut *kept {
        *window = limit.window_at(*window, now);
        all &= window.count < limit.requests();
    }
    let mut decision = RateLimitDecision { at: now, statuses: SmallVec::new() };
    for (limit, window) in kept {
        let admitted = window.count < limit.requests();
        let counted = match mode {
            CountMode::Check => all,
            CountMode::Peek => false,
            CountMode::Charge => admitted,
        };
        window.count += u32::from(counted);
        let remaining = limit.requests().saturating_sub(window.count);
        decision.statuses.push(QuotaStatus {
            limit: *limit,
            remaining,
            reset: window.end,
            admitted,
        });
    }
    decision
}

impl RateLimitDecision {
    /// Whether every limit had room for the call.
    #[must_use]
    pub fn admitted(&self) -> bool {
        self.statuses.iter().all(|status| status.admitted)
    }

    /// How the call stands with each limit, in the order of the claims.
    #[must_use]
    pub fn statuses(&self) -> &[QuotaStatus] {
        &self.statuses
    }

    /// The standing that is reported where there is place for one: a limit that refused the call,
    /// or else the one closest to being exceeded. Ties go to the latest reset.
    #[must_use]
    pub fn closest(&self) -> Option<&QuotaStatus> {
        self.statuses.iter().min_by_key(|s| (s.admitted, s.remaining, Reverse(s.reset)))
    }

    /// This verdict and one on other limits of the same call, as one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        // One without limits has no time either.
        self.at = self.at.max(other.at);
        self.statuses.extend(other.statuses);
        self
    }

    /// How long a refused caller has to wait until no limit that refused it stands in the way.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        if self.admitted() {
            return None;
        }
        self.closest().map(|refused| self.at.until(refused.reset))
    }
}
