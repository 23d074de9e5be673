//! Texts of users and times, as the pages show them.

use std::borrow::Cow;

use jiff::Timestamp;

/// The first characters of a text.
pub(super) fn truncate(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A time in UTC, to the minute. The server does not know the time zone of the user.
pub(super) fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
