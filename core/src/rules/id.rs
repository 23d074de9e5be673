//! Rule ids, profile tags, and the scopes that profile tags select.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

/// Maximum length of a rule id or a profile tag, in bytes.
pub const MAX_ID_BYTES: usize = 255;

/// The reason a rule id or a profile tag is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdError {
    #[error("a rule id or profile tag must not be empty")]
    Empty,
    #[error(
        "a rule id or profile tag must not be longer than {MAX_ID_BYTES} bytes; this one has {0}"
    )]
    TooLong(usize),
    /// The character is a path separator, or NUL, which PostgreSQL cannot store.
    #[error("a rule id or profile tag must not contain {0:?}")]
    ForbiddenCharacter(char),
    #[error("rule ids that begin with a dot are reserved for built-in rules")]
    Reserved,
}

/// Validates a rule id or a profile tag. Control characters other than NUL are allowed, because
/// clients use keywords as rule ids, and a keyword can contain a tab.
pub(super) fn validate(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    text.chars()
        .find(|c| matches!(c, '/' | '\\' | '\0'))
        .map_or(Ok(()), |c| Err(IdError::ForbiddenCharacter(c)))
}

/// The id of a user rule. It never begins with a dot, unlike the ids of built-in rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleId(String);

impl RuleId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if only a built-in rule can have `id`.
    pub fn is_reserved(id: &str) -> bool {
        id.starts_with('.')
    }
}

impl FromStr for RuleId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if Self::is_reserved(text) {
            return Err(IdError::Reserved);
        }
        validate(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl From<RuleId> for String {
    fn from(id: RuleId) -> Self {
        id.0
    }
}

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
        validate(text)?;
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
    fn an_id_is_any_text_without_separators_nul_or_a_leading_dot() {
        for valid_id in ["a", "a.b", "!r:x.org", "@u:x", "#spam:example.com", "тест", "a b", "a\tb"]
        {
            assert_eq!(valid_id.parse::<RuleId>().unwrap().as_str(), valid_id);
        }
        for (invalid_id, error) in [
            ("", IdError::Empty),
            (".a", IdError::Reserved),
            (".", IdError::Reserved),
            ("a/b", IdError::ForbiddenCharacter('/')),
            ("a\\b", IdError::ForbiddenCharacter('\\')),
            ("a\0b", IdError::ForbiddenCharacter('\0')),
        ] {
            assert_eq!(invalid_id.parse::<RuleId>(), Err(error), "{invalid_id:?}");
        }
    }

    #[test]
    fn an_id_has_at_most_255_bytes() {
        assert!("a".repeat(255).parse::<RuleId>().is_ok());
        assert!("é".repeat(127).parse::<RuleId>().is_ok());
        assert_eq!("a".repeat(256).parse::<RuleId>(), Err(IdError::TooLong(256)));
        assert_eq!("é".repeat(128).parse::<RuleId>(), Err(IdError::TooLong(256)));
    }

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
