//! Rate-limit header values.
//!
//! `X-RateLimit-*` report the limit that is closest to being exceeded. `RateLimit` and
//! `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) list all limits.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

use super::{QuotaStatus, RateLimitDecision, UnixMicros};

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

impl RateLimitDecision {
    /// Returns the value of `RateLimit`: `"account";r=299;t=300, "ip";r=12;t=41`. Limit names need
    /// no escaping.
    pub fn rate_limit(&self) -> String {
        let parameters = |status: &QuotaStatus| {
            let seconds = whole_seconds(self.decided_at.until(status.reset));
            [(";r=", status.remaining.into()), (";t=", seconds)]
        };
        self.format_list(parameters)
    }

    /// Returns the value of `RateLimit-Policy`: `"account";q=300;w=300, "ip";q=300;w=300`.
    pub fn rate_limit_policy(&self) -> String {
        self.format_list(|QuotaStatus { limit, .. }| {
            [(";q=", limit.requests().into()), (";w=", limit.window().as_secs())]
        })
    }

    /// Lists the limits, each with its name and two parameters. Does not use `format!`, which would
    /// cost every request about 5% of its instructions.
    fn format_list(&self, parameters: impl Fn(&QuotaStatus) -> [(&'static str, u64); 2]) -> String {
        // Enough for two limits without a reallocation.
        let mut text = String::with_capacity(64);
        for status in self.statuses() {
            text.push_str(if text.is_empty() { "\"" } else { ", \"" });
            text.push_str(status.limit.name());
            text.push('"');
            for (parameter, value) in parameters(status) {
                text.push_str(parameter);
                text.push_str(itoa::Buffer::new().format(value));
            }
        }
        text
    }
}

impl QuotaStatus {
    /// Returns the value of `X-RateLimit-Reset`: ISO 8601 in UTC with milliseconds, rounded up.
    pub fn reset_time(&self) -> String {
        let milliseconds = self.reset.0.saturating_add(999).div_euclid(1000);
        let reset = Timestamp::from(UnixMicros(milliseconds.saturating_mul(1000)));
        let mut text = String::with_capacity("2026-08-01T13:50:41.000Z".len());
        // Printing to a string does not fail.
        let _ = PRINTER.print_timestamp(&reset, &mut text);
        text
    }
}

/// Returns a duration in whole seconds, as in `Retry-After`. Rounded up and never 0, so that a
/// client that waits this long does not retry too early.
pub fn whole_seconds(wait: Duration) -> u64 {
    let rounding = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(rounding).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Limit;
    use super::*;

    fn parse_time(text: &str) -> UnixMicros {
        text.parse::<Timestamp>().unwrap().into()
    }

    fn decision(statuses: [QuotaStatus; 2]) -> RateLimitDecision {
        RateLimitDecision { decided_at: parse_time(NOW), statuses: statuses.into() }
    }

    fn quota_status(name: &str, remaining: u32, reset: &str, is_admitted: bool) -> QuotaStatus {
        let limit = Limit::new(name, 300, Duration::from_mins(5)).unwrap().into();
        QuotaStatus { limit, remaining, reset: parse_time(reset), is_admitted }
    }

    fn admitted_statuses() -> [QuotaStatus; 2] {
        let account = quota_status("account", 299, "2026-08-01T13:55:00.25Z", true);
        [account, quota_status("ip", 12, "2026-08-01T13:50:41Z", true)]
    }

    const NOW: &str = "2026-08-01T13:50:00.25Z";

    #[test]
    fn an_admitted_request_reports_the_closest_limit_and_all_limits() {
        let decision = decision(admitted_statuses());
        let closest = decision.closest_status().unwrap();
        assert_eq!((closest.limit.requests(), closest.remaining), (300, 12));
        assert_eq!(closest.reset_time(), "2026-08-01T13:50:41.000Z");
        assert_eq!(decision.rate_limit(), r#""account";r=299;t=300, "ip";r=12;t=41"#);
        let policy = r#""account";q=300;w=300, "ip";q=300;w=300"#;
        assert_eq!(decision.rate_limit_policy(), policy);
    }

    #[test]
    fn merged_decisions_are_reported_together() {
        let [account, ip] = admitted_statuses();
        let single_decision = |status: &QuotaStatus| RateLimitDecision {
            decided_at: parse_time(NOW),
            statuses: [status.clone()].into_iter().collect(),
        };
        let merged_decision = single_decision(&account).merge(single_decision(&ip));
        assert_eq!(merged_decision.rate_limit(), r#""account";r=299;t=300, "ip";r=12;t=41"#);
        let expected = r#""ip";r=12;t=41"#;
        assert_eq!(single_decision(&ip).merge(RateLimitDecision::default()).rate_limit(), expected);
        assert_eq!(RateLimitDecision::default().merge(single_decision(&ip)).rate_limit(), expected);
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        for (reset, seconds) in [
            ("2026-08-01T13:50:00.25Z", 1),
            ("2026-08-01T13:50:00.250000001Z", 1),
            ("2026-08-01T13:50:00.250001Z", 1),
            ("2026-08-01T13:50:01.25Z", 1),
            ("2026-08-01T13:50:01.251Z", 2),
            ("2026-08-01T13:55:00.25Z", 300),
            ("2026-08-01T13:00:00Z", 1),
        ] {
            let rejected_status = quota_status("ip", 0, reset, false);
            let admitted_status = quota_status("account", 0, "2026-08-01T14:55:00Z", true);
            let wait = decision([admitted_status, rejected_status]).retry_after().unwrap();
            assert_eq!(whole_seconds(wait), seconds, "{reset}");
        }
    }

    #[test]
    fn a_reset_is_iso_8601_in_utc_and_rounded_up() {
        for (reset, expected) in [
            ("2026-08-01T13:55:00Z", "2026-08-01T13:55:00.000Z"),
            ("2026-08-01T13:55:00.459Z", "2026-08-01T13:55:00.459Z"),
            ("2026-08-01T13:55:00.459402Z", "2026-08-01T13:55:00.460Z"),
            ("2026-12-31T23:59:59.9999Z", "2027-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(quota_status("ip", 0, reset, true).reset_time(), expected);
        }
    }

    proptest! {
        #[test]
        fn a_reset_in_any_year_has_24_characters(millisecond in 0..253_402_207_200_000_i64) {
            let reset = Timestamp::from_millisecond(millisecond).unwrap();
            let status = QuotaStatus { reset: reset.into(), ..quota_status("ip", 0, NOW, true) };
            let text = status.reset_time();
            prop_assert_eq!((text.len(), text.parse().ok()), (24, Some(reset)));
        }
    }

    #[test]
    fn a_decision_without_limits_has_no_closest_limit() {
        assert_eq!(RateLimitDecision::default().closest_status(), None);
    }
}
