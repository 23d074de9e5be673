//! The scope of a ruleset: all devices, or the devices with one profile tag.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::id::{self, IdError};

/// The name of a device profile: devices with the same tag share a ruleset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileTag(String);

impl ProfileTag {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProfileTag {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        id::validate(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// The devices that a ruleset applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleScope {
    /// All devices of the user. Only this scope has built-in rules.
    Global,
    Device(ProfileTag),
}

/// The error for a string that does not name a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UnknownScope {
    /// The string has neither of the two forms.
    #[error("scope must be global or device/<profile_tag>")]
    Malformed,
    /// The profile tag is not valid.
    #[error("the profile tag: {0}")]
    Tag(#[from] IdError),
}

impl RuleScope {
    /// Returns whether rules of this scope are evaluated for a device with `profile_tag`.
    pub(super) fn applies_to(&self, profile_tag: Option<&str>) -> bool {
        match self {
            Self::Global => true,
            Self::Device(tag) => Some(tag.as_str()) == profile_tag,
        }
    }
}

impl fmt::Display for RuleScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Device(tag) => write!(f, "device/{}", tag.as_str()),
        }
    }
}

impl Serialize for RuleScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for RuleScope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        if text == "global" {
            return Ok(Self::Global);
        }
        let tag = text.strip_prefix("device/").ok_or(UnknownScope::Malformed)?;
        Ok(Self::Device(tag.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_parsed_from_its_text() {
        for text in ["global", "device/phone", "device/.dot", "device/тег"] {
            assert_eq!(text.parse::<RuleScope>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_scopes_are_rejected() {
        for (text, error) in [
            ("", UnknownScope::Malformed),
            ("Global", UnknownScope::Malformed),
            ("device", UnknownScope::Malformed),
            ("global/x", UnknownScope::Malformed),
            ("device/", UnknownScope::Tag(IdError::Empty)),
            ("device/a/b", UnknownScope::Tag(IdError::ForbiddenCharacter('/'))),
            ("device/a\0", UnknownScope::Tag(IdError::ForbiddenCharacter('\0'))),
        ] {
            assert_eq!(text.parse::<RuleScope>(), Err(error), "{text:?}");
        }
    }
}
