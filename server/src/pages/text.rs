//! Texts of users, as the pages show them.

use std::borrow::Cow;

/// The first characters of a text.
pub(super) fn truncate(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
