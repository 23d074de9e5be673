//! What the headers of an answer say of the limits.
//!
//! `X-RateLimit-*` have place for one limit and tell of the closest. `RateLimit` and
//! `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) name them all.

use std::time::Duration;

use jiff::tz::Offset;

use super::{Micros, QuotaStatus, RateLimitDecision};

impl RateLimitDecision {
    /// Writes `RateLimit`: `"account";r=299;t=300, "ip";r=12;t=41`. A limit's name needs no escapes.
    pub fn write_rate_limit(&self, text: &mut Vec<u8>) {
        self.list(text, |text, status| {
            text.extend_from_slice(status.limit.0.status.as_bytes());
            number(text, status.remaining.into());
            text.extend_from_slice(b";t=");
            number(text, whole_seconds(self.at.until(status.reset)));
        });
    }

    /// Writes `RateLimit-Policy`: `"account";q=300;w=300, "ip";q=300;w=300`
    pub fn write_rate_limit_policy(&self, text: &mut Vec<u8>) {
        self.list(text, |text, status| {
            text.extend_from_slice(status.limit.0.policy.as_bytes());
        });
    }

    fn list(&self, text: &mut Vec<u8>, item: impl Fn(&mut Vec<u8>, &QuotaStatus)) {
        for (place, status) in self.statuses().iter().enumerate() {
            if place > 0 {
                text.extend_from_slice(b", ");
            }
            item(text, status);
        }
    }
}

impl QuotaStatus {
    /// `X-RateLimit-Limit`
    #[must_use]
    pub fn x_limit(&self) -> &'static str {
        &self.limit.0.requests_text
    }

    /// Writes `X-RateLimit-Remaining`
    pub fn write_x_remaining(&self, text: &mut Vec<u8>) {
        number(text, self.remaining.into());
    }

    /// `X-RateLimit-Reset`: ISO 8601 in UTC with three digits of a second, rounded up.
    #[must_use]
    pub fn x_reset(&self) -> [u8; 24] {
        let up = self.reset.0.saturating_add(999).div_euclid(1000) * 1000;
        let at = Offset::UTC.to_datetime(Micros(up).into());
        let mut text = *b"YYYY-MM-DDTHH:MM:SS.mmmZ";
        text[..4].copy_from_slice(&digits::<4>(at.year()));
        text[5..7].copy_from_slice(&digits::<2>(at.month().into()));
        text[8..10].copy_from_slice(&digits::<2>(at.day().into()));
        text[11..13].copy_from_slice(&digits::<2>(at.hour().into()));
        text[14..16].copy_from_slice(&digits::<2>(at.minute().into()));
        text[17..19].copy_from_slice(&digits::<2>(at.second().into()));
        text[20..23].copy_from_slice(&digits::<3>(at.millisecond()));
        text
    }
}

/// Decimal digits, without the detour through `fmt`: these are on every answer.
fn number(text: &mut Vec<u8>, number: u64) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Whole seconds, rounded up and never 0, as for `Retry-After`: who waits that long is not too early.
#[must_use]
pub fn whole_seconds(wait: Duration) -> u64 {
    let up = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(up).max(1)
}

/// So many digits of a number.
fn digits<const N: usize>(number: i16) -> [u8; N] {
    let mut digits = [0; N];
    let mut number = usize::from(number.unsigned_abs());
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789"[number % 10];
        number /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::Limit;
    use super::*;

    fn at(text: &str) -> Micros {
        text.parse::<Timestamp>().unwrap().into()
    }

    fn decision(statuses: [QuotaStatus; 2]) -> RateLimitDecision {
        RateLimitDecision { at: at(NOW), statuses: statuses.into() }
    }

    fn status(name: &str, remaining: u32, reset: &str, admitted: bool) -> QuotaStatus {
        let limit = Limit::new(name, 300, Duration::from_mins(5)).unwrap();
        QuotaStatus { limit, remaining, reset: at(reset), admitted }
    }

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        write(&mut text);
        String::from_utf8(text).unwrap()
    }

    const NOW: &str = "2026-08-01T13:50:00.25Z";

    #[test]
    fn an_admitted_call_is_told_of_the_closest_and_of_all() {
        let decision = decision([
            status("account", 299, "2026-08-01T13:55:00.25Z", true),
            status("ip", 12, "2026-08-01T13:50:41Z", true),
        ]);
        let closest = decision.closest().unwrap();
        assert_eq!(closest.x_limit(), "300");
        assert_eq!(written(|text| closest.write_x_remaining(text)), "12");
        assert_eq!(closest.x_reset(), *b"2026-08-01T13:50:41.000Z");
        let all = written(|text| decision.write_rate_limit(text));
        assert_eq!(all, r#""account";r=299;t=300, "ip";r=12;t=41"#);
        let policy = written(|text| decision.write_rate_limit_policy(text));
        assert_eq!(policy, r#""account";q=300;w=300, "ip";q=300;w=300"#);
    }

    proptest! {
        #[test]
        fn a_number_is_written_as_anybody_would(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            prop_assert_eq!(written(|text| number(text, value)), value.to_string());
        }
    }

    #[test]
    fn what_is_judged_apart_is_told_together() {
        let [account, ip] = [
            status("account", 299, "2026-08-01T13:55:00.25Z", true),
            status("ip", 12, "2026-08-01T13:50:41Z", true),
        ];
        let of =
            |status| RateLimitDecision { at: at(NOW), statuses: [status].into_iter().collect() };
        let told = |decision: RateLimitDecision| written(|text| decision.write_rate_limit(text));
        let both = told(of(account).and(of(ip)));
        assert_eq!(both, r#""account";r=299;t=300, "ip";r=12;t=41"#);
        let one = r#""ip";r=12;t=41"#;
        assert_eq!(told(of(ip).and(RateLimitDecision::default())), one);
        assert_eq!(told(RateLimitDecision::default().and(of(ip))), one);
    }

    #[test]
    fn a_refused_call_is_told_when_to_come_back() {
        for (reset, seconds) in [
            ("2026-08-01T13:50:00.25Z", 1),
            ("2026-08-01T13:50:00.250000001Z", 1),
            ("2026-08-01T13:50:00.250001Z", 1),
            ("2026-08-01T13:50:01.25Z", 1),
            ("2026-08-01T13:50:01.251Z", 2),
            ("2026-08-01T13:55:00.25Z", 300),
            ("2026-08-01T13:00:00Z", 1),
        ] {
            let refused = status("ip", 0, reset, false);
            let other = status("account", 0, "2026-08-01T14:55:00Z", true);
            let wait = decision([other, refused]).wait().unwrap();
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
            assert_eq!(status("ip", 0, reset, true).x_reset(), written.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn a_reset_of_any_year_is_written_as_jiff_writes_it(milli in 0..253_402_207_200_000_i64) {
            let reset = Timestamp::from_millisecond(milli).unwrap();
            let status = QuotaStatus { reset: reset.into(), ..status("ip", 0, NOW, true) };
            prop_assert_eq!(status.x_reset().to_vec(), format!("{reset:.3}").into_bytes());
        }
    }

    #[test]
    fn without_limits_there_is_nothing_to_tell() {
        assert_eq!(RateLimitDecision::default().closest(), None);
    }
}
