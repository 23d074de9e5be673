//! Descriptions of the last use of a session or token.

use jiff::Timestamp;

use super::Layout;

const HOUR_SECONDS: i64 = 3600;
const DAY_SECONDS: i64 = 24 * HOUR_SECONDS;

/// Returns a sentence about the last use, which is known to the hour. The sentence is relative to
/// now, because a date would need the user's time zone.
pub(super) fn describe_last_use(
    layout: &Layout<'_>,
    last_used_at: Option<Timestamp>,
    now: Timestamp,
) -> String {
    let Some(last_used_at) = last_used_at else { return layout.text("used-never").into_owned() };
    let seconds = now.as_second() - last_used_at.as_second();
    let (key, count) = match seconds {
        ..HOUR_SECONDS => return layout.text("used-recently").into_owned(),
        HOUR_SECONDS..DAY_SECONDS => ("used-hours", seconds / HOUR_SECONDS),
        _ => ("used-days", seconds / DAY_SECONDS),
    };
    layout.language.text_with(key, "count", usize::try_from(count).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sample_layout;

    #[test]
    fn the_last_use_is_described_in_hours_and_days() {
        let timestamp = |second| Timestamp::from_second(second).unwrap();
        let now = 1_800_000_000;
        for (seconds, expected) in [
            (-5, "Used in the last hour"),
            (0, "Used in the last hour"),
            (HOUR_SECONDS - 1, "Used in the last hour"),
            (HOUR_SECONDS, "Last used an hour ago"),
            (5 * HOUR_SECONDS + 1, "Last used 5 hours ago"),
            (DAY_SECONDS - 1, "Last used 23 hours ago"),
            (DAY_SECONDS, "Last used a day ago"),
            (90 * DAY_SECONDS, "Last used 90 days ago"),
        ] {
            let sentence =
                describe_last_use(&sample_layout(), Some(timestamp(now - seconds)), timestamp(now));
            assert_eq!(sentence, expected, "{seconds}");
        }
        assert_eq!(describe_last_use(&sample_layout(), None, timestamp(now)), "Not used yet");
    }
}
