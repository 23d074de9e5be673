//! Paths of the push rules API. The encoded path is split into segments before decoding, so an
//! escaped slash is not a separator.

use serde::Serialize;
use thiserror::Error;

use super::RuleKind;
use super::id::{self, IdError, RuleScope, UnknownScope};
use crate::percent::{self, PercentError};

/// The resource named by the part of a path after `/pushrules/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePath {
    /// All rulesets: an empty path.
    All,
    /// The rulesets of all devices: `device/`.
    Devices,
    /// One ruleset: `global/`, `device/<profile_tag>/`.
    Ruleset(RuleScope),
    /// The rules of one kind: `global/override/`.
    Kind(RuleScope, RuleKind),
    /// One rule: `global/override/cake`.
    Rule(RuleRef),
    /// The `enabled` attribute of a rule: `global/override/cake/enabled`.
    Enabled(RuleRef),
    /// The `actions` attribute of a rule: `global/override/cake/actions`.
    Actions(RuleRef),
}

/// The scope, kind and id of a user rule or a built-in rule. The rule need not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// `global`, or a device.
    pub scope: RuleScope,
    /// The kind, which is also the name of the rule's list in the ruleset.
    pub kind: RuleKind,
    /// The id, possibly one that is reserved for built-in rules.
    #[serde(rename = "rule_id")]
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    #[error(transparent)]
    Scope(UnknownScope),
    #[error("kind must be override, content, room, sender or underride")]
    Kind,
    #[error("there is nothing at this path; add a slash at its end")]
    MissingSlash,
    #[error("only a rule can be written: {{scope}}/{{kind}}/{{rule_id}}")]
    NotARule,
    #[error("a rule has only the sub-resources /enabled and /actions")]
    UnknownAttribute,
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Percent(#[from] PercentError),
}

impl PathError {
    /// Returns true if the path has an unknown form, as opposed to an invalid value.
    pub fn is_unrecognized(self) -> bool {
        match self {
            Self::Scope(_)
            | Self::Kind
            | Self::MissingSlash
            | Self::NotARule
            | Self::UnknownAttribute => true,
            Self::Id(_) | Self::Percent(_) => false,
        }
    }
}

impl From<UnknownScope> for PathError {
    fn from(error: UnknownScope) -> Self {
        match error {
            UnknownScope::Malformed => Self::Scope(error),
            UnknownScope::Tag(error) => Self::Id(error),
        }
    }
}

impl RulePath {
    /// Parses the encoded part of a path after `/pushrules/`.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        if path.is_empty() {
            return Ok(Self::All);
        }
        let segments: Vec<&str> = path.split('/').collect();
        let (scope, rest) = match segments.as_slice() {
            ["device"] => return Err(PathError::MissingSlash),
            ["device", ""] => return Ok(Self::Devices),
            ["device", tag, rest @ ..] => {
                (RuleScope::Device(percent::decode_segment(tag)?.parse()?), rest)
            }
            // Some clients encode the scope as one parameter: `device%2Fphone`.
            [scope, rest @ ..] => (percent::decode_segment(scope)?.parse()?, rest),
            [] => return Ok(Self::All),
        };
        match rest {
            [] => Err(PathError::MissingSlash),
            [""] => Ok(Self::Ruleset(scope)),
            [kind, rest @ ..] => {
                let kind = percent::decode_segment(kind)?;
                let kind = RuleKind::from_name(&kind).ok_or(PathError::Kind)?;
                match rest {
                    [] => Err(PathError::MissingSlash),
                    [""] => Ok(Self::Kind(scope, kind)),
                    [id] => RuleRef::from_encoded_id(scope, kind, id).map(Self::Rule),
                    [id, "enabled"] => RuleRef::from_encoded_id(scope, kind, id).map(Self::Enabled),
                    [id, "actions"] => RuleRef::from_encoded_id(scope, kind, id).map(Self::Actions),
                    _ => Err(PathError::UnknownAttribute),
                }
            }
        }
    }
}

impl RuleRef {
    /// Returns the rule's path, which [`RulePath::parse`] accepts. It is ASCII without spaces.
    pub fn path(&self) -> String {
        let Self { scope, kind, id } = self;
        let id = percent::encode(id);
        match scope {
            RuleScope::Global => format!("global/{kind}/{id}"),
            RuleScope::Device(tag) => {
                format!("device/{}/{kind}/{id}", percent::encode(tag.as_str()))
            }
        }
    }

    /// Parses a path as returned by [`RuleRef::path`].
    pub fn from_path(path: &str) -> Result<Self, PathError> {
        match RulePath::parse(path)? {
            RulePath::Rule(rule) => Ok(rule),
            _ => Err(PathError::NotARule),
        }
    }

    fn from_encoded_id(
        scope: RuleScope,
        kind: RuleKind,
        encoded_id: &str,
    ) -> Result<Self, PathError> {
        Ok(Self::new(scope, kind, percent::decode_segment(encoded_id)?.into_owned())?)
    }

    /// Creates a reference after validating the id.
    pub(super) fn new(scope: RuleScope, kind: RuleKind, id: String) -> Result<Self, IdError> {
        id::validate(&id)?;
        Ok(Self { scope, kind, id })
    }
}

#[cfg(test)]
mod tests;
