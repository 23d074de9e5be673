//! Times in the arguments of `belfry audit`: a timestamp, a day, or a duration before now.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};

/// Parses a time, a day (its midnight in UTC), or a duration before now.
pub(super) fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = match text {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        _ => text.parse::<Date>().ok(),
    };
    if let Some(day) = day {
        let midnight = day.to_zoned(TimeZone::UTC);
        return midnight.map(|time| time.timestamp()).map_err(|error| error.to_string());
    }
    // `2h ago` is parsed as a negative span.
    let span = text.parse::<Span>().ok().map(Span::abs);
    let ago = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    ago.and_then(|ago| now.checked_sub(ago).ok()).ok_or_else(|| {
        format!(
            "{text:?} is not a time: write today, yesterday, 2h, 3d, 2030-01-31 or \
             2030-01-31T12:00:00Z"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_timestamp_a_day_or_a_duration_before_now() {
        let now: Timestamp = "2030-01-31T12:00:00Z".parse().unwrap();
        for (text, time) in [
            ("2030-01-30T10:00:00Z", "2030-01-30T10:00:00Z"),
            ("2030-01-30T10:00:00+02:00", "2030-01-30T08:00:00Z"),
            ("2030-01-30", "2030-01-30T00:00:00Z"),
            ("today", "2030-01-31T00:00:00Z"),
            ("yesterday", "2030-01-30T00:00:00Z"),
            ("90m", "2030-01-31T10:30:00Z"),
            ("2h", "2030-01-31T10:00:00Z"),
            ("2h ago", "2030-01-31T10:00:00Z"),
            ("2d", "2030-01-29T12:00:00Z"),
        ] {
            assert_eq!(parse_time(text, now).unwrap().to_string(), time, "{text}");
        }
        for text in ["", "tomorrow", "12", "2030-13-01"] {
            assert!(parse_time(text, now).unwrap_err().contains("is not a time"), "{text}");
        }
    }
}
