//! User-supplied text, as the pages show it.

use std::borrow::Cow;

/// Truncates text that has more than this many characters, and appends an ellipsis to it.
pub(super) fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
