//! Why a change of the rules is refused, and the class of failure that a client is told.

use thiserror::Error;

use super::{IdError, RuleKind};
use crate::json::JsonError;

/// Why a body, a rule or a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    /// The body is not read as JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A field, or the body itself, has the wrong JSON type.
    #[error("{field} must be {wanted}")]
    WrongType {
        /// Which one: `actions`, `conditions[2].key`.
        field: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A required field is not there.
    #[error("{0} is missing")]
    MissingField(String),
    /// An action is a string of no meaning.
    #[error("{0} must be notify, dont_notify, coalesce, set_tweak, or an object with set_tweak")]
    UnknownAction(String),
    /// The `is` of a `room_member_count` is no count expression.
    #[error("{0} must be a number, with ==, <, >, <= or >= before it if need be")]
    MemberCount(String),
    /// A number to compare with is not an integer that every JSON reader holds exactly.
    #[error("{0} must be an integer from -9007199254740991 to 9007199254740991")]
    Number(String),
    /// The id is none that a user can give.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The rule named by `before` or `after` is not among the user's rules of that scope and kind.
    #[error("there is no {kind} rule {id:?} to place the rule next to")]
    UnknownNeighbour {
        /// The kind in which it was sought.
        kind: RuleKind,
        /// What `before` or `after` said.
        id: String,
    },
    /// `before` or `after` names a built-in rule.
    #[error("{0:?} is a built-in rule; a rule can be placed next to your own rules only")]
    BuiltinNeighbour(String),
    /// `before` or `after` names the rule that is put.
    #[error("a rule cannot be placed next to itself")]
    OwnNeighbour,
    /// `before` or `after` is given twice.
    #[error("before and after may be given once each")]
    RepeatedNeighbour,
    /// The account would have more rules than it may.
    #[error("an account may have at most {0} rules; delete some")]
    TooManyRules(usize),
    /// The account's rules would be larger than they may.
    #[error("the rules of an account may take at most {0} bytes; delete some, or shorten them")]
    TooManyBytes(usize),
    /// The rule is not there.
    #[error("there is no {kind} rule {id:?}")]
    NoSuchRule {
        /// The kind in which it was sought.
        kind: RuleKind,
        /// The id that was sought.
        id: String,
    },
}

/// The classes of refusals, one for each error code of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
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

impl RuleError {
    /// The class that decides which error code a client is told.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Json(error) if error.is_not_json() => Class::NotJson,
            Self::Json(_) | Self::WrongType { .. } => Class::BadJson,
            Self::MissingField(_) => Class::MissingParam,
            Self::UnknownAction(_) | Self::MemberCount(_) | Self::Number(_) | Self::Id(_) => {
                Class::InvalidParam
            }
            Self::UnknownNeighbour { .. }
            | Self::BuiltinNeighbour(_)
            | Self::OwnNeighbour
            | Self::RepeatedNeighbour => Class::Unknown,
            Self::NoSuchRule { .. } => Class::NotFound,
            Self::TooManyRules(_) | Self::TooManyBytes(_) => Class::TooLarge,
        }
    }
}
