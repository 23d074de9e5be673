//! When a session or token was last used, in words.

use jiff::Timestamp;

use super::Layout;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Returns a sentence about the last use, which is known to the hour. The sentence is relative to
/// now, because a date would need the user's time zone.
pub(super) fn describe_last_use(
    layout: &Layout<'_>,
    last_used_at: Option<Timestamp>,
    now: Timestamp,
) -> String {
    let Some(last) = last_used_at else { return layout.text("used-never").into_owned() };
    let seconds = now.as_second() - last.as_second();
    let (key, count) = match seconds {
        ..HOUR => return layout.text("used-recently").into_owned(),
        HOUR..DAY => ("used-hours", seconds / HOUR),
        _ => ("used-days", seconds / DAY),
    };
    layout.language.text_with(key, "count", usize::try_from(count).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sample_layout;

    #[test]
    fn the_last_use_is_described_in_hours_and_days() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = 1_800_000_000;
        for (seconds, text) in [
            (-5, "Used in the last hour"),
            (0, "Used in the last hour"),
            (HOUR - 1, "Used in the last hour"),
            (HOUR, "Last used an hour ago"),
            (5 * HOUR + 1, "Last used 5 hours ago"),
            (DAY - 1, "Last used 23 hours ago"),
            (DAY, "Last used a day ago"),
            (90 * DAY, "Last used 90 days ago"),
        ] {
            let sentence = describe_last_use(&sample_layout(), Some(at(now - seconds)), at(now));
            assert_eq!(sentence, text, "{seconds}");
        }
        assert_eq!(describe_last_use(&sample_layout(), None, at(now)), "Not used yet");
    }
}
