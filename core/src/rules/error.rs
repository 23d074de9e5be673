//! Errors of requests that change push rules.

use thiserror::Error;

use super::{IdError, RuleKind};
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
    /// A rule to be moved is no longer next to the rule that it should pass.
    #[error("the order of the rules has changed")]
    OrderChanged,
    /// A rule is no longer the one that was shown.
    #[error("the {kind} rule {id:?} has been changed in the meantime")]
    ChangedMeanwhile {
        /// The kind of the rule.
        kind: RuleKind,
        /// The id of the rule.
        id: String,
    },
    /// A rule to be created exists already.
    #[error("there is a {kind} rule {id:?} already")]
    RuleExists {
        /// The kind of the rule.
        kind: RuleKind,
        /// The id of the rule.
        id: String,
    },
    /// A change of a built-in rule contains a field other than `actions`.
    #[error("only the actions of a built-in rule can be changed, not {0}")]
    BuiltinField(String),
    /// The rule does not exist.
    #[error("there is no {kind} rule {id:?}")]
    NoSuchRule {
        /// The kind of the requested rule.
        kind: RuleKind,
        /// The id of the requested rule.
        id: String,
    },
}

impl RuleError {
    /// The error code of the response.
    pub fn code(&self) -> MatrixErrorCode {
        match self {
            Self::Json(error) => error.into(),
            Self::UnknownAction(_)
            | Self::MemberCount(_)
            | Self::Number(_)
            | Self::ExpiryRange
            | Self::PastExpiry { .. }
            | Self::ExpiryOfUserRule(_)
            | Self::Id(_)
            | Self::BuiltinField(_)
            | Self::TooManyConditions(_) => MatrixErrorCode::InvalidParam,
            Self::UnknownNeighbour { .. }
            | Self::BuiltinNeighbour(_)
            | Self::OwnNeighbour
            | Self::RepeatedNeighbour
            | Self::OrderChanged
            | Self::ChangedMeanwhile { .. }
            | Self::RuleExists { .. } => MatrixErrorCode::Unknown,
            Self::NoSuchRule { .. } => MatrixErrorCode::NotFound,
            Self::TooManyRules(_) | Self::TooManyBytes(_) => MatrixErrorCode::TooLarge,
        }
    }
}
