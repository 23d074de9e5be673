//! What the headers of an answer say of the limits.
//!
//! `X-RateLimit-*` have place for one limit and tell of the closest. `RateLimit` and
//! `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) name them all.

use std::fmt::Write;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Verdict;

/// The values of the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// `X-RateLimit-Limit`
    pub limit: u32,
    /// `X-RateLimit-Remaining`
    pub remaining: u32,
    /// `X-RateLimit-Reset`
    pub reset: String,
    /// `RateLimit`: `"account";r=299;t=300, "ip";r=12;t=41`
    pub standings: String,
    /// `RateLimit-Policy`: `"account";q=300;w=300, "ip";q=300;w=300`
    pub policy: String,
}

impl Verdict {
    /// What the answer to a call says that was judged at `now`; nothing when no limit applied.
    #[must_use]
    pub fn fields(&self, now: Timestamp) -> Option<Fields> {
        let closest = self.closest()?;
        let room = 32 * self.standings().len();
        let (mut standings, mut policy) =
            (String::with_capacity(room), String::with_capacity(room));
        for standing in self.standings() {
            let comma = if policy.is_empty() { "" } else { ", " };
            policy.push_str(comma);
            policy.push_str(&standing.limit.0.policy);
            let left = standing.reset.duration_since(now).try_into().unwrap_or_default();
            let (name, remaining, left) =
                (standing.limit.name(), standing.remaining, whole_seconds(left));
            // Writing to a String does not fail, and a limit's name needs no escapes.
            let _ = write!(standings, "{comma}\"{name}\";r={remaining};t={left}");
        }
        let reset = timestamp(closest.reset);
        let (limit, remaining) = (closest.limit.requests(), closest.remaining);
        Some(Fields { limit, remaining, reset, standings, policy })
    }
}

/// Whole seconds, rounded up and never 0, as for `Retry-After`: who waits that long is not too early.
#[must_use]
pub fn whole_seconds(wait: Duration) -> u64 {
    let up = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(up).max(1)
}

/// ISO 8601 in UTC with three digits of a second, rounded up.
fn timestamp(reset: Timestamp) -> String {
    let up = reset.checked_add(SignedDuration::from_nanos(999_999)).unwrap_or(reset);
    format!("{up:.3}")
}

#[cfg(test)]
mod tests {
    use super::super::{Limit, Standing};
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn standing(name: &str, remaining: u32, reset: &str, admitted: bool) -> Standing {
        let limit = Limit::new(name, 300, Duration::from_mins(5)).unwrap();
        Standing { limit, remaining, reset: at(reset), admitted }
    }

    const NOW: &str = "2026-08-01T13:50:00.25Z";

    #[test]
    fn an_admitted_call_is_told_of_the_closest_and_of_all() {
        let verdict = Verdict(vec![
            standing("account", 299, "2026-08-01T13:55:00.25Z", true),
            standing("ip", 12, "2026-08-01T13:50:41Z", true),
        ]);
        let expected = Fields {
            limit: 300,
            remaining: 12,
            reset: "2026-08-01T13:50:41.000Z".into(),
            standings: r#""account";r=299;t=300, "ip";r=12;t=41"#.into(),
            policy: r#""account";q=300;w=300, "ip";q=300;w=300"#.into(),
        };
        assert_eq!(verdict.fields(at(NOW)), Some(expected));
    }

    #[test]
    fn a_refused_call_is_told_when_to_come_back() {
        for (reset, seconds) in [
            ("2026-08-01T13:50:00.25Z", 1),
            ("2026-08-01T13:50:00.250000001Z", 1),
            ("2026-08-01T13:50:01.25Z", 1),
            ("2026-08-01T13:50:01.251Z", 2),
            ("2026-08-01T13:55:00.25Z", 300),
            ("2026-08-01T13:00:00Z", 1),
        ] {
            let refused = standing("ip", 0, reset, false);
            let other = standing("account", 0, "2026-08-01T14:55:00Z", true);
            let wait = Verdict(vec![other, refused]).wait(at(NOW)).unwrap();
            assert_eq!(whole_seconds(wait), seconds, "{reset}");
        }
    }

    #[test]
    fn a_reset_is_iso_8601_in_utc_and_never_too_early() {
        for (reset, written) in [
            ("2026-08-01T13:55:00Z", "2026-08-01T13:55:00.000Z"),
            ("2026-08-01T13:55:00.459Z", "2026-08-01T13:55:00.459Z"),
            ("2026-08-01T13:55:00.459402Z", "2026-08-01T13:55:00.460Z"),
            ("2026-12-31T23:59:59.9999Z", "2027-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(at(reset)), written);
        }
    }

    #[test]
    fn without_limits_there_is_nothing_to_tell() {
        assert_eq!(Verdict::default().fields(at(NOW)), None);
    }
}
