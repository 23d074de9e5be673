//! User-supplied text, as the pages show it.

use std::borrow::Cow;

/// Returns the first characters of a string.
pub(super) fn truncate(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
