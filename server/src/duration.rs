//! Durations in settings and arguments, such as `"30s"`, `"1h 30m"` or `"14d"`.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::{Deserialize, Deserializer, de};

/// Parses a positive duration.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    match parse(&text) {
        Some(length) if length > Duration::ZERO => Ok(length),
        _ => Err(de::Error::custom(format!(
            "must be a duration such as \"30s\" or \"5m\", not {text:?}"
        ))),
    }
}

/// Parses a duration, which may be 0. A day has 24 hours.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let day = SpanRelativeTo::days_are_24_hours();
    let length = text.parse::<Span>().and_then(|span| span.to_duration(day)).ok()?;
    Duration::try_from(length).ok()
}

/// Parses the duration of an optional setting.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    deserialize(deserializer).map(Some)
}
