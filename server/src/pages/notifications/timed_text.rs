//! A sentence with a time, which the script of the page shows in the time zone of the browser.

use std::borrow::Cow;

use jiff::Timestamp;

use super::super::Layout;
use crate::language::Argument;

/// A sentence with at most one time.
pub(super) struct TimedText {
    pub(super) before: String,
    pub(super) time: Option<TimeText>,
    pub(super) after: String,
}

/// A time in UTC.
pub(super) struct TimeText {
    pub(super) datetime: String,
    pub(super) text: String,
}

/// Stands for the time while the message is formatted. No message contains it.
const PLACEHOLDER: &str = "\u{fffc}";

impl TimedText {
    /// A sentence without a time.
    pub(super) fn plain(text: Cow<'_, str>) -> Self {
        Self { before: text.into_owned(), time: None, after: String::new() }
    }

    /// The message of this key with the time in `$time`; without the date if it is today.
    pub(super) fn new(layout: &Layout<'_>, key: &str, time: Timestamp, now: Timestamp) -> Self {
        let placeholder = Argument::Trusted(PLACEHOLDER);
        let text = layout.language.text_with(key, "time", placeholder);
        let (before, after) = text.split_once(PLACEHOLDER).unwrap_or((&text, ""));
        let date = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
        let format = if date(time) == date(now) { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
        let time = TimeText {
            datetime: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            text: time.strftime(format).to_string(),
        };
        Self { before: before.to_owned(), time: Some(time), after: after.to_owned() }
    }
}
