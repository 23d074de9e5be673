//! Errors of requests that change push rules.

use thiserror::Error;

use super::{IdError, MAX_ID_BYTES, RuleKind, UnknownKind, UnknownScope};
use crate::json::JsonError;
use crate::matrix::MatrixErrorCode;

/// Reason why a rule, a body or a change is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    /// The body is not acceptable JSON, or lacks a field.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// An action is an unknown string. Contains the path of the action, like the next two variants.
    #[error("{0} must be notify, dont_notify, coalesce, set_tweak, or an object with set_tweak")]
    UnknownAction(String),
    /// The `is` of a `room_member_count` condition cannot be parsed.
    #[error("{0} must be a number, optionally preceded by ==, <, >, <= or >=")]
    MemberCount(String),
    /// A number to compare with is not an integer that all JSON parsers represent exactly.
    #[error("{0} must be an integer from -9007199254740991 to 9007199254740991")]
    Number(String),
    /// `until` is negative, or larger than integers that all JSON parsers represent exactly.
    #[error("until must be from 0 to 9007199254740991, in milliseconds since 1970")]
    ExpiryRange,
    /// `until` is not in the future.
    #[error(
        "until must be in the future: it is {until}, and the server's clock is at {now} \
         (milliseconds since 1970)"
    )]
    PastExpiry {
        /// The value of `until`.
        until: i64,
        /// The current time.
        now: i64,
    },
    /// A change of `enabled` of a user's rule has `until`.
    #[error(
        "until can be given with enabled for built-in rules only; for your own rule {0:?}, put \
         the rule with until"
    )]
    ExpiryOfUserRule(String),
    /// The rule id or profile tag is not valid.
    #[error(transparent)]
    Id(#[from] IdError),
    /// `before` or `after` names a rule that the user does not have in that scope and kind.
    #[error("there is no {kind} rule {id:?} to place the rule next to")]
    UnknownNeighbour {
        /// The kind of the new rule.
        kind: RuleKind,
        /// The value of `before` or `after`.
        id: String,
    },
    /// `before` or `after` names a built-in rule.
    #[error("{0:?} is a built-in rule; a rule can be placed next to your own rules only")]
    BuiltinNeighbour(String),
    /// `before` or `after` names the new rule itself.
    #[error("a rule cannot be placed next to itself")]
    OwnNeighbour,
    /// `before` or `after` is given more than once.
    #[error("before and after may be given once each")]
    RepeatedNeighbour,
    /// The account would exceed its number of rules.
    #[error("an account may have at most {0} rules; delete some")]
    TooManyRules(usize),
    /// A new rule has too many conditions.
    #[error("a rule may have at most {0} conditions")]
    TooManyConditions(usize),
    /// The stored rules of the account would exceed their size.
    #[error("the rules of an account may take at most {0} bytes; delete some, or shorten them")]
    TooManyBytes(usize),
    /// A rule differs from the one that was shown.
    #[error("the {kind} rule {id:?} has been changed in the meantime")]
    ChangedMeanwhile {
        /// The kind of the rule.
        kind: RuleKind,
        /// The id of the rule.
        id: String,
    },
    /// A rule among others is larger than the body of a request with one rule may be.
    #[error("a rule may have at most {0} bytes")]
    RuleTooLarge(usize),
    /// Two imported rules have the same id.
    #[error("another rule of this kind has the same rule_id; delete one of them")]
    DuplicateRule,
    /// A request has too many changes.
    #[error("a request may have at most {0} changes; send several requests")]
    TooManyChanges(usize),
    /// A field of a body does not name a scope.
    #[error(transparent)]
    Scope(#[from] UnknownScope),
    /// A field of a body does not name a kind.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// A field has a value that is not supported.
    #[error("{field} must be {expected}")]
    Value {
        /// The name of the field.
        field: &'static str,
        /// What is supported.
        expected: &'static str,
    },
    /// A field that does not exist. It is not ignored, because the rest may mean something else
    /// without it.
    #[error("unknown field {path}; write {expected}")]
    UnknownField {
        /// The path of the field.
        path: String,
        /// What is possible there.
        expected: &'static str,
    },
    /// A part of a body is not valid.
    #[error("{path}: {error}")]
    At {
        /// The path of the part.
        path: String,
        /// What is wrong with it.
        error: Box<Self>,
    },
    /// A change in a list of changes is not valid or cannot be applied.
    #[error("changes[{index}]: {error}")]
    InChange {
        /// The index of the change.
        index: usize,
        /// What is wrong with it.
        error: Box<Self>,
    },
    /// The rule does not exist.
    #[error("there is no {kind} rule {id:?}")]
    NoSuchRule {
        /// The kind of the requested rule.
        kind: RuleKind,
        /// The id of the requested rule.
        id: String,
    },
}

/// Truncates a name that a client has chosen, for an error.
pub(super) fn shorten(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_ID_BYTES)]
}

impl RuleError {
    /// The error of a field that does not exist.
    pub(super) fn unknown_field(path: &str, expected: &'static str) -> Self {
        Self::UnknownField { path: shorten(path).to_owned(), expected }
    }

    /// This error of the part of a body at a path, or of the whole body if the path is empty.
    pub(crate) fn at(self, path: &str) -> Self {
        if path.is_empty() {
            return self;
        }
        Self::At { path: path.to_owned(), error: Box::new(self) }
    }

    /// This error of the change at an index.
    pub(super) fn in_change(self, index: usize) -> Self {
        Self::InChange { index, error: Box::new(self) }
    }

    /// The index of the change that is rejected, if the request has a list of changes.
    pub fn change_index(&self) -> Option<usize> {
        if let Self::InChange { index, .. } = self { Some(*index) } else { None }
    }

    /// The error code of the response.
    pub fn code(&self) -> MatrixErrorCode {
        match self {
            Self::Json(error) => error.into(),
            Self::At { error, .. } | Self::InChange { error, .. } => error.code(),
            Self::UnknownField { .. } => MatrixErrorCode::BadJson,
            Self::UnknownAction(_)
            | Self::MemberCount(_)
            | Self::Number(_)
            | Self::ExpiryRange
            | Self::PastExpiry { .. }
            | Self::ExpiryOfUserRule(_)
            | Self::Id(_)
            | Self::Scope(_)
            | Self::Kind(_)
            | Self::Value { .. }
            | Self::DuplicateRule
            | Self::TooManyConditions(_) => MatrixErrorCode::InvalidParam,
            Self::UnknownNeighbour { .. }
            | Self::BuiltinNeighbour(_)
            | Self::OwnNeighbour
            | Self::RepeatedNeighbour
            | Self::ChangedMeanwhile { .. } => MatrixErrorCode::Unknown,
            Self::NoSuchRule { .. } => MatrixErrorCode::NotFound,
            Self::TooManyRules(_)
            | Self::TooManyBytes(_)
            | Self::TooManyChanges(_)
            | Self::RuleTooLarge(_) => MatrixErrorCode::TooLarge,
        }
    }
}
