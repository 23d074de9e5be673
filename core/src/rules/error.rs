//! Errors in requests that change, import or evaluate push rules.

use thiserror::Error;

use super::{IdError, MAX_ID_BYTES, RuleKind, UnknownScope};
use crate::json::JsonError;
use crate::matrix::MatrixErrorCode;

/// The reason a rule, a request body or a change is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A field, named by its path, has a value that its `requirement` excludes.
    #[error("{field} must {requirement}")]
    InvalidValue { field: String, requirement: &'static str },
    #[error("until must be from 0 to 9007199254740991 (Unix time in milliseconds)")]
    ExpiryRange,
    #[error(
        "until must be in the future: it is {until}, and the server's clock is at {now} \
         (Unix time in milliseconds)"
    )]
    PastExpiry { until: i64, now: i64 },
    #[error(
        "until can be given with enabled for built-in rules only; for your own rule {0:?}, put \
         the rule with until"
    )]
    ExpiryOfUserRule(String),
    #[error(transparent)]
    Id(#[from] IdError),
    #[error("there is no {kind} rule {id:?} to place the rule next to")]
    UnknownNeighbour { kind: RuleKind, id: String },
    #[error("{0:?} is a built-in rule; a rule can be placed next to your own rules only")]
    BuiltinNeighbour(String),
    #[error("a rule cannot be placed next to itself")]
    OwnNeighbour,
    #[error("before and after may be given once each")]
    RepeatedNeighbour,
    #[error("an account may have at most {0} rules; delete some")]
    TooManyRules(usize),
    #[error("a rule may have at most {0} conditions")]
    TooManyConditions(usize),
    #[error(
        "the rules of an account must not be larger than {0} bytes; delete some, or shorten them"
    )]
    TooManyBytes(usize),
    #[error("the {kind} rule {id:?} has been changed in the meantime")]
    ChangedMeanwhile { kind: RuleKind, id: String },
    /// The rule is larger than the body of a request that creates one rule may be.
    #[error("a rule must not be larger than {0} bytes")]
    RuleTooLarge(usize),
    #[error("another rule of this kind has the same rule_id; delete one of them")]
    DuplicateRule,
    #[error(transparent)]
    Scope(#[from] UnknownScope),
    /// Rejected, because the rest of the body may have a different meaning without the field.
    #[error("unknown field `{path}`; known fields: {known_fields}")]
    UnknownField { path: String, known_fields: &'static str },
    #[error("{path}: {error}")]
    AtPath { path: String, error: Box<Self> },
    #[error("there is no {kind} rule {id:?}")]
    NoSuchRule { kind: RuleKind, id: String },
    #[error("{0:?} is a built-in rule and cannot be deleted; disable it instead")]
    BuiltinDeletion(String),
}

/// Truncates a name sent by a client, for use in an error message.
pub(super) fn truncate_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_ID_BYTES)]
}

impl RuleError {
    pub(crate) fn invalid_value(field: impl Into<String>, requirement: &'static str) -> Self {
        Self::InvalidValue { field: field.into(), requirement }
    }

    pub(super) fn unknown_field(path: &str, known_fields: &'static str) -> Self {
        Self::UnknownField { path: truncate_name(path).to_owned(), known_fields }
    }

    /// Adds the path of the part of the body that caused the error. An empty path, for the whole
    /// body, leaves the error unchanged.
    pub(crate) fn at_path(self, path: &str) -> Self {
        if path.is_empty() {
            return self;
        }
        Self::AtPath { path: path.to_owned(), error: Box::new(self) }
    }

    pub fn code(&self) -> MatrixErrorCode {
        match self {
            Self::Json(error) => error.into(),
            Self::AtPath { error, .. } => error.code(),
            Self::UnknownField { .. } => MatrixErrorCode::BadJson,
            Self::ExpiryRange
            | Self::PastExpiry { .. }
            | Self::ExpiryOfUserRule(_)
            | Self::Id(_)
            | Self::Scope(_)
            | Self::InvalidValue { .. }
            | Self::DuplicateRule
            | Self::TooManyConditions(_) => MatrixErrorCode::InvalidParam,
            Self::UnknownNeighbour { .. }
            | Self::BuiltinNeighbour(_)
            | Self::OwnNeighbour
            | Self::RepeatedNeighbour
            | Self::ChangedMeanwhile { .. } => MatrixErrorCode::Unknown,
            Self::NoSuchRule { .. } | Self::BuiltinDeletion(_) => MatrixErrorCode::NotFound,
            Self::TooManyRules(_) | Self::TooManyBytes(_) | Self::RuleTooLarge(_) => {
                MatrixErrorCode::TooLarge
            }
        }
    }
}
