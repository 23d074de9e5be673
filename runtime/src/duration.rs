//! Durations in settings and arguments, such as `"30s"`, `"1h 30m"` or `"14d"`.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo, SpanRound, Unit};
use serde::{Deserialize, Deserializer, Serializer, de};

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match allow_zero::deserialize(deserializer)? {
        Duration::ZERO => Err(de::Error::custom(format!("{EXPECTED_FORMAT}, not 0"))),
        duration => Ok(duration),
    }
}

/// Formats a duration; parsing it returns the same value.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration))
}

const EXPECTED_FORMAT: &str = "must be a duration such as \"30s\" or \"5m\"";

/// Durations that may be 0, to switch something off.
pub mod allow_zero {
    use super::{Deserialize, Deserializer, Duration, EXPECTED_FORMAT, de, parse};

    pub use super::serialize;

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| de::Error::custom(format!("{EXPECTED_FORMAT}, not {text:?}")))
    }
}

pub mod optional {
    use super::{Deserializer, Duration, Serializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        super::deserialize(deserializer).map(Some)
    }

    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }
}

/// Maximum duration: a thousand years, so that arithmetic with times does not overflow.
const MAX_DURATION: Duration = Duration::from_hours(1000 * 366 * 24);

/// Parses a duration, which may be 0. A day has 24 hours. Returns `None` if the text is not a
/// duration, or if the duration is negative or longer than a thousand years.
pub fn parse(text: &str) -> Option<Duration> {
    let day_length = SpanRelativeTo::days_are_24_hours();
    let duration = text.parse::<Span>().and_then(|span| span.to_duration(day_length)).ok()?;
    Duration::try_from(duration).ok().filter(|duration| *duration <= MAX_DURATION)
}

/// Formats a duration in the units of [`parse`], the largest first: `1d 12h`.
pub fn format(duration: Duration) -> String {
    let rounding = SpanRound::new().largest(Unit::Day).days_are_24_hours();
    let span = Span::try_from(duration).and_then(|span| span.round(rounding));
    format!("{:#}", span.unwrap_or_default())
}

/// Formats a duration for messages, rounded down to whole seconds.
pub fn format_seconds(duration: Duration) -> String {
    format(Duration::from_secs(duration.as_secs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duration_is_formatted_in_large_units() {
        for (milliseconds, text) in
            [(0, "0s"), (25, "25ms"), (90_000, "1m 30s"), (300_000, "5m"), (2_592_000_000, "30d")]
        {
            assert_eq!(format(Duration::from_millis(milliseconds)), text);
        }
    }

    proptest! {
        #[test]
        fn a_formatted_duration_parses_back_unchanged(nanoseconds in 0..u64::MAX) {
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse(&format(duration)), Some(duration));
        }
    }
}
