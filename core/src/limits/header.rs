//! What the headers of an answer say of the limits.
//!
//! `X-RateLimit-*` have place for one limit and tell of the closest. `RateLimit` and
//! `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) name them all.

use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::{Standing, Verdict};

/// The values of the headers, one after another in one text: whatever an answer has to tell takes
/// one piece of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// All values, in ASCII.
    pub text: Vec<u8>,
    /// `X-RateLimit-Limit`
    pub limit: Range<usize>,
    /// `X-RateLimit-Remaining`
    pub remaining: Range<usize>,
    /// `X-RateLimit-Reset`
    pub reset: Range<usize>,
    /// `RateLimit`: `"account";r=299;t=300, "ip";r=12;t=41`
    pub standings: Range<usize>,
    /// `RateLimit-Policy`: `"account";q=300;w=300, "ip";q=300;w=300`
    pub policy: Range<usize>,
}

impl Verdict {
    /// What the answer to a call says that was judged at `now`; nothing when no limit applied.
    #[must_use]
    pub fn fields(&self, now: Timestamp) -> Option<Fields> {
        let closest = self.closest()?;
        let mut text = Vec::with_capacity(64 + 64 * self.standings().len());
        let mut write = |value: &dyn Fn(&mut Vec<u8>)| {
            let start = text.len();
            value(&mut text);
            start..text.len()
        };
        let limit = write(&|text| number(text, closest.limit.requests().into()));
        let remaining = write(&|text| number(text, closest.remaining.into()));
        let reset = write(&|text| timestamp(text, closest.reset));
        let standings = write(&|text| self.list(text, |text, standing| standing.write(text, now)));
        let policy = write(&|text| {
            self.list(text, |text, standing| {
                text.extend_from_slice(standing.limit.0.policy.as_bytes());
            });
        });
        Some(Fields { text, limit, remaining, reset, standings, policy })
    }

    fn list(&self, text: &mut Vec<u8>, item: impl Fn(&mut Vec<u8>, &Standing)) {
        for (place, standing) in self.standings().iter().enumerate() {
            if place > 0 {
                text.extend_from_slice(b", ");
            }
            item(text, standing);
        }
    }
}

impl Standing {
    /// `"account";r=299;t=300`. A limit's name needs no escapes.
    fn write(&self, text: &mut Vec<u8>, now: Timestamp) {
        let left = self.reset.duration_since(now).try_into().unwrap_or_default();
        text.extend_from_slice(self.limit.0.standing.as_bytes());
        number(text, self.remaining.into());
        text.extend_from_slice(b";t=");
        number(text, whole_seconds(left));
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

/// ISO 8601 in UTC with three digits of a second, rounded up.
fn timestamp(text: &mut Vec<u8>, reset: Timestamp) {
    let up = i64::from(reset.subsec_nanosecond() % 1_000_000 > 0);
    let up = Timestamp::from_millisecond(reset.as_millisecond() + up).unwrap_or(reset);
    let at = Offset::UTC.to_datetime(up);
    let mut written = *b"YYYY-MM-DDTHH:MM:SS.mmmZ";
    digits(&mut written[..4], at.year());
    digits(&mut written[5..7], at.month().into());
    digits(&mut written[8..10], at.day().into());
    digits(&mut written[11..13], at.hour().into());
    digits(&mut written[14..16], at.minute().into());
    digits(&mut written[17..19], at.second().into());
    digits(&mut written[20..23], at.millisecond());
    text.extend_from_slice(&written);
}

/// As many digits of a number as there is place for.
fn digits(place: &mut [u8], number: i16) {
    let mut number = usize::from(number.unsigned_abs());
    for digit in place.iter_mut().rev() {
        *digit = b"0123456789"[number % 10];
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::super::Limit;
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
        let verdict = Verdict(smallvec![
            standing("account", 299, "2026-08-01T13:55:00.25Z", true),
            standing("ip", 12, "2026-08-01T13:50:41Z", true),
        ]);
        let Fields { text, limit, remaining, reset, standings, policy } =
            verdict.fields(at(NOW)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text[limit], *"300");
        assert_eq!(text[remaining], *"12");
        assert_eq!(text[reset], *"2026-08-01T13:50:41.000Z");
        assert_eq!(text[standings], *r#""account";r=299;t=300, "ip";r=12;t=41"#);
        assert_eq!(text[policy], *r#""account";q=300;w=300, "ip";q=300;w=300"#);
    }

    proptest! {
        #[test]
        fn a_number_is_written_as_anybody_would(value in any::<u64>(), shift in 0_u32..64) {
            let mut text = Vec::new();
            number(&mut text, value >> shift);
            prop_assert_eq!(text, (value >> shift).to_string().into_bytes());
        }
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
            let wait = Verdict(smallvec![other, refused]).wait(at(NOW)).unwrap();
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
            let mut text = Vec::new();
            timestamp(&mut text, at(reset));
            assert_eq!(text, written.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn a_reset_of_any_year_is_written_as_jiff_writes_it(milli in 0..253_402_207_200_000_i64) {
            let reset = Timestamp::from_millisecond(milli).unwrap();
            let mut text = Vec::new();
            timestamp(&mut text, reset);
            prop_assert_eq!(text, format!("{reset:.3}").into_bytes());
        }
    }

    #[test]
    fn without_limits_there_is_nothing_to_tell() {
        assert_eq!(Verdict::default().fields(at(NOW)), None);
    }
}
