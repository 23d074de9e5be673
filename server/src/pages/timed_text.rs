//! A sentence with a time, which a script shows in the browser's time zone.

use jiff::Timestamp;

use super::Layout;
use crate::language::Argument;

/// A sentence with at most one time.
pub(super) struct TimedText {
    pub(super) before: String,
    pub(super) time: Option<TimeText>,
    pub(super) after: String,
}

pub(super) struct TimeText {
    pub(super) datetime: String,
    /// The name of the format in `static/local-times.js`.
    pub(super) format: &'static str,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TimeFormat {
    Full,
    /// Time, and the day unless it is today. Contains the current time.
    Short(Timestamp),
    Day,
}

/// Placeholder for the time while a message is formatted. No message contains it.
const PLACEHOLDER: &str = "\u{fffc}";

impl TimedText {
    pub(super) const TIME: Argument<'static> = Argument::Trusted(PLACEHOLDER);

    /// Creates a sentence without a time.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { before: text.into(), time: None, after: String::new() }
    }

    /// Creates the sentence for this message key, with the time in `$time`.
    pub(super) fn new(layout: &Layout<'_>, key: &str, time: Timestamp, format: TimeFormat) -> Self {
        Self::from_text(&layout.language.text_with(key, "time", Self::TIME), time, format)
    }

    /// Creates a sentence from text that was formatted with [`Self::TIME`].
    pub(super) fn from_text(text: &str, time: Timestamp, format: TimeFormat) -> Self {
        let (before, after) = text.split_once(PLACEHOLDER).unwrap_or((text, ""));
        let time = TimeText {
            datetime: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            format: format.name(),
            text: time.strftime(format.pattern(time)).to_string(),
        };
        Self { before: before.to_owned(), time: Some(time), after: after.to_owned() }
    }
}

impl TimeFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Short(_) => "short",
            Self::Day => "day",
        }
    }

    /// Returns the `strftime` pattern, for UTC: only a script knows the user's time zone.
    fn pattern(self, time: Timestamp) -> &'static str {
        let date = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
        match self {
            Self::Short(now) if date(time) == date(now) => "%H:%M UTC",
            Self::Full | Self::Short(_) => "%Y-%m-%d %H:%M UTC",
            Self::Day => "%Y-%m-%d",
        }
    }
}
