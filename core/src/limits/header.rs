//! What the headers of an answer say of the limits.
//!
//! `X-RateLimit-*` have place for one limit and tell of the closest. `RateLimit` and
//! `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) name them all.

use std::fmt::Write;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Verdict;

impl Verdict {
    /// The headers of an answer to a call that was judged at `now`, names in lower case.
    ///
    /// There are none when no limit applied, and `Retry-After` only when the call is refused.
    #[must_use]
    pub fn headers(&self, now: Timestamp) -> Vec<(&'static str, String)> {
        let Some(closest) = self.closest() else { return Vec::new() };
        let mut headers = vec![
            ("x-ratelimit-limit", closest.limit.requests().to_string()),
            ("x-ratelimit-remaining", closest.remaining.to_string()),
            ("x-ratelimit-reset", timestamp(closest.reset)),
            ("ratelimit", self.standings_field(now)),
            ("ratelimit-policy", self.policy_field()),
        ];
        if let Some(wait) = self.wait(now) {
            headers.push(("retry-after", whole_seconds(wait).to_string()));
        }
        headers
    }

    /// `"account";r=299;t=300, "ip";r=12;t=41`
    fn standings_field(&self, now: Timestamp) -> String {
        self.list(|field, standing| {
            let left = standing.reset.duration_since(now).try_into().unwrap_or_default();
            write!(field, ";r={};t={}", standing.remaining, whole_seconds(left))
        })
    }

    /// `"account";q=300;w=300, "ip";q=300;w=300`
    fn policy_field(&self) -> String {
        self.list(|field, standing| {
            let limit = &standing.limit;
            write!(field, ";q={};w={}", limit.requests(), limit.window_seconds())
        })
    }

    fn list(
        &self,
        parameters: impl Fn(&mut String, &super::Standing) -> std::fmt::Result,
    ) -> String {
        let mut field = String::with_capacity(32 * self.standings().len());
        for standing in self.standings() {
            let comma = if field.is_empty() { "" } else { ", " };
            // Writing to a String does not fail, and a limit's name needs no escapes.
            let _ = write!(field, "{comma}\"{}\"", standing.limit.name());
            let _ = parameters(&mut field, standing);
        }
        field
    }
}

/// Whole seconds, rounded up and never 0: who waits that long is not too early.
fn whole_seconds(wait: Duration) -> u64 {
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
        let expected = [
            ("x-ratelimit-limit", "300"),
            ("x-ratelimit-remaining", "12"),
            ("x-ratelimit-reset", "2026-08-01T13:50:41.000Z"),
            ("ratelimit", r#""account";r=299;t=300, "ip";r=12;t=41"#),
            ("ratelimit-policy", r#""account";q=300;w=300, "ip";q=300;w=300"#),
        ];
        assert_eq!(verdict.headers(at(NOW)), expected.map(|(name, value)| (name, value.into())));
    }

    #[test]
    fn a_refused_call_is_told_when_to_come_back() {
        for (reset, seconds) in [
            ("2026-08-01T13:50:00.25Z", "1"),
            ("2026-08-01T13:50:00.250000001Z", "1"),
            ("2026-08-01T13:50:01.25Z", "1"),
            ("2026-08-01T13:50:01.251Z", "2"),
            ("2026-08-01T13:55:00.25Z", "300"),
            ("2026-08-01T13:00:00Z", "1"),
        ] {
            let refused = standing("ip", 0, reset, false);
            let other = standing("account", 0, "2026-08-01T14:55:00Z", true);
            let headers = Verdict(vec![other, refused]).headers(at(NOW));
            assert_eq!(headers.last(), Some(&("retry-after", seconds.into())), "{reset}");
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
        assert_eq!(Verdict::default().headers(at(NOW)), []);
    }
}
