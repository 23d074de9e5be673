//! Error codes of the Matrix client-server API.

use crate::json::JsonError;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// Error code of a rejected Matrix request body or push rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MatrixErrorCode {
        NotJson = "M_NOT_JSON",
        BadJson = "M_BAD_JSON",
        MissingParam = "M_MISSING_PARAM",
        InvalidParam = "M_INVALID_PARAM",
        Unknown = "M_UNKNOWN",
        NotFound = "M_NOT_FOUND",
        TooLarge = "M_TOO_LARGE",
    }
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
