//! Error codes of the Matrix client-server API.

use crate::json::JsonError;

/// Error code of a rejected Matrix request body or push rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixErrorCode {
    /// `M_NOT_JSON`
    NotJson,
    /// `M_BAD_JSON`
    BadJson,
    /// `M_MISSING_PARAM`
    MissingParam,
    /// `M_INVALID_PARAM`
    InvalidParam,
    /// `M_UNKNOWN`
    Unknown,
    /// `M_NOT_FOUND`
    NotFound,
    /// `M_TOO_LARGE`
    TooLarge,
}

impl From<&JsonError> for MatrixErrorCode {
    fn from(error: &JsonError) -> Self {
        match error {
            JsonError::MissingField(_) => Self::MissingParam,
            error if error.is_not_json() => Self::NotJson,
            _ => Self::BadJson,
        }
    }
}
