//! Sentences about invalid fields of an account.

use belfry_core::account::sign_up::InvalidField;

use super::Layout;

/// Returns a sentence about an invalid field. The API has different messages: those of Mastodon.
pub(super) fn describe_field_error(layout: &Layout<'_>, error: InvalidField) -> String {
    let key = format!("field-{}-{}", error.field, <&str>::from(error.error));
    match error.error.count() {
        Some(count) => layout.language.text_with(&key, "count", count),
        None => layout.text(&key).into_owned(),
    }
}
