//! Errors of the fields of the notifications page.

use strum::IntoStaticStr;
use thiserror::Error;

/// Maximum length of a keyword. It leaves room for a number in the id of its rule.
pub const MAX_WORD_BYTES: usize = 240;

/// Why a form is rejected. The names are keys of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "the error texts describe them")]
pub enum PreferenceError {
    #[error("The form is not one of this page")]
    UnknownChange,
    #[error("The keyword is blank")]
    WordBlank,
    #[error("The keyword is longer than {MAX_WORD_BYTES} bytes")]
    WordTooLong,
    #[error("The id is blank")]
    IdBlank,
    #[error("The id is too long")]
    IdTooLong,
    #[error("A room alias is not a room id")]
    RoomAlias,
    #[error("The user id has no server")]
    PersonWithoutServer,
    #[error("The id is neither a user id nor a room id")]
    IdInvalid,
}
