//! Errors in an account file, each with its line. An error in a value names the field and the
//! expected value.

use thiserror::Error;

use crate::account::password_hash::PasswordHashError;
use crate::account::{FieldError, NameError};
use crate::json::JsonError;
use crate::rules::RuleError;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {error}")]
pub struct LineError {
    /// The line number; the first is 1.
    pub line: u64,
    pub error: ImportError,
}

/// The reason a line is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// The line is not accepted as JSON, or a field is missing or has the wrong type.
    #[error("{}", describe_json_error(.0))]
    Json(#[from] JsonError),
    /// The line is JSON, but not an object.
    #[error("must be a JSON object like {{\"name\":\"alice\",\"email\":\"alice@example.org\"}}")]
    NotAnObject,
    #[error(
        "unknown field {0:?}; known fields: name, email, password_hash, role, disabled, \
         created_at and push_rules"
    )]
    UnknownField(String),
    /// The name is not valid.
    #[error("name {0}")]
    Name(#[from] NameError),
    /// The e-mail address is not valid.
    #[error("email {0}")]
    Email(FieldError),
    /// The password hash is not accepted.
    #[error("password_hash {0}")]
    PasswordHash(#[from] PasswordHashError),
    #[error("role must be \"user\" or \"admin\"")]
    Role,
    /// The creation time is malformed, before 1970 or in the future.
    #[error("created_at must be a time between 1970 and now, like \"2024-01-31T12:00:00Z\"")]
    CreatedAt,
    /// The push rules would be rejected by the API.
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error(
        "name is the sender_localpart of the application service {0:?}, and belfry serve creates \
         its account; delete the line"
    )]
    ServiceSender(String),
    /// An earlier line has the same name or e-mail address.
    #[error("{field} is the same as on line {first_line}; delete or change one of them")]
    Duplicate { field: &'static str, first_line: u64 },
}

/// Describes a JSON error without the parser's line number, which is always 1.
fn describe_json_error(error: &JsonError) -> String {
    let without_line = |message: &str| message.replace("line 1 column", "column");
    match error {
        JsonError::NotUtf8 { valid_up_to } => format!("not UTF-8 at byte {}", valid_up_to + 1),
        JsonError::Syntax(message) => format!("not JSON: {}", without_line(message)),
        JsonError::Unrepresentable(_) => without_line(&error.to_string()),
        JsonError::DuplicateKey { column, .. } => {
            format!("duplicate key at column {column}")
        }
        error => error.to_string(),
    }
}
