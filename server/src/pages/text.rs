//! User-supplied text, as the pages show it.

use std::borrow::Cow;

use belfry_core::text::escape_invisible;

use crate::language::isolate;

/// The maximum number of characters shown of a name, because an account may have megabytes of
/// rules.
const MAX_NAME_CHARS: usize = 200;

/// Returns a word, an id or another name as pages show it: truncated, with invisible characters
/// escaped, and isolated.
pub(super) fn format_name(name: &str) -> String {
    let shown_name = match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    isolate(&escape_invisible(&shown_name))
}
