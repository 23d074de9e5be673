//! What a path of the push rules names. It is read from its encoded form, segment by segment, so
//! that an escaped slash never becomes a separator.

use thiserror::Error;

use super::id::{self, IdError};
use super::{RuleKind, RuleScope, UnknownKind, UnknownScope};
use crate::percent::{self, PercentError};

/// What stands behind `/pushrules/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePath {
    /// All rulesets: nothing.
    All,
    /// The rulesets of all devices: `device/`.
    Devices,
    /// One ruleset: `global/`, `device/<profile_tag>/`.
    Ruleset(RuleScope),
    /// The rules of one kind: `global/override/`.
    Kind(RuleScope, RuleKind),
    /// One rule: `global/override/cake`.
    Rule(RuleRef),
    /// Whether a rule is asked: `global/override/cake/enabled`.
    Enabled(RuleRef),
    /// What a rule does: `global/override/cake/actions`.
    Actions(RuleRef),
}

/// A rule, built-in ones included, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRef {
    /// The scope.
    pub scope: RuleScope,
    /// The kind.
    pub kind: RuleKind,
    /// The id. It may be one that no user can give.
    pub id: String,
}

/// Why a path names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// The first segment is no scope.
    #[error(transparent)]
    Scope(UnknownScope),
    /// The segment behind the scope is no kind.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// A scope or a kind, without the slash that shows its rules.
    #[error("there is nothing at this path; you probably wanted a slash at its end")]
    NoSlash,
    /// Something else than `enabled` or `actions` behind a rule.
    #[error("a rule has nothing behind it but /enabled and /actions")]
    Attribute,
    /// A rule id or a profile tag that nobody can have.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A segment that cannot be decoded.
    #[error(transparent)]
    Percent(#[from] PercentError),
}

impl PathError {
    /// Whether the path has the form of none that is served, rather than a bad value in it.
    #[must_use]
    pub fn is_unrecognized(self) -> bool {
        match self {
            Self::Scope(_) | Self::Kind(_) | Self::NoSlash | Self::Attribute => true,
            Self::Id(_) | Self::Percent(_) => false,
        }
    }
}

impl From<UnknownScope> for PathError {
    fn from(unknown: UnknownScope) -> Self {
        match unknown {
            UnknownScope::Word => Self::Scope(unknown),
            UnknownScope::Tag(error) => Self::Id(error),
        }
    }
}

impl RulePath {
    /// Reads what stands behind `/pushrules/`, as it was sent.
    ///
    /// # Errors
    /// When it names nothing.
    pub fn read(behind: &str) -> Result<Self, PathError> {
        if behind.is_empty() {
            return Ok(Self::All);
        }
        let segments: Vec<&str> = behind.split('/').collect();
        let (scope, rest) = match segments.as_slice() {
            ["device"] => return Err(PathError::NoSlash),
            ["device", ""] => return Ok(Self::Devices),
            ["device", tag, rest @ ..] => {
                (RuleScope::Device(percent::decode_segment(tag)?.parse()?), rest)
            }
            // `device%2Fphone` too: it is how a client writes a scope that encodes every parameter.
            [scope, rest @ ..] => (percent::decode_segment(scope)?.parse()?, rest),
            [] => return Ok(Self::All),
        };
        match rest {
            [] => Err(PathError::NoSlash),
            [""] => Ok(Self::Ruleset(scope)),
            [kind, rest @ ..] => {
                let kind = percent::decode_segment(kind)?.parse()?;
                match rest {
                    [] => Err(PathError::NoSlash),
                    [""] => Ok(Self::Kind(scope, kind)),
                    [id] => RuleRef::read(scope, kind, id).map(Self::Rule),
                    [id, "enabled"] => RuleRef::read(scope, kind, id).map(Self::Enabled),
                    [id, "actions"] => RuleRef::read(scope, kind, id).map(Self::Actions),
                    _ => Err(PathError::Attribute),
                }
            }
        }
    }
}

impl RuleRef {
    fn read(scope: RuleScope, kind: RuleKind, id: &str) -> Result<Self, PathError> {
        let id = percent::decode_segment(id)?.into_owned();
        id::check(&id)?;
        Ok(Self { scope, kind, id })
    }
}

#[cfg(test)]
mod tests;
