//! The names that users give: of rules, and of the profile tags of devices.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How long a rule id or a profile tag may be.
pub const MAX_ID_BYTES: usize = 255;

/// Why a text is no rule id or no profile tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdError {
    /// It has no character.
    #[error("a name must not be empty")]
    Empty,
    /// It is longer than [`MAX_ID_BYTES`].
    #[error("a name has at most {MAX_ID_BYTES} bytes; this one has {0}")]
    TooLong(usize),
    /// It has a character that would cut a path, or that a database cannot hold.
    #[error("a name must not contain {0:?}")]
    Character(char),
    /// It begins with a dot.
    #[error("names that begin with a dot are reserved for built-in rules")]
    Reserved,
}

/// Checks what holds for rule ids and profile tags alike. Of the control characters only NUL is
/// refused: keywords are used as ids, and a keyword may well hold a tab.
pub(super) fn check(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    text.chars()
        .find(|c| matches!(c, '/' | '\\' | '\0'))
        .map_or(Ok(()), |c| Err(IdError::Character(c)))
}

/// The id of a rule that a user makes. The ids of built-in rules begin with a dot, so one look at
/// an id tells the two apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleId(String);

impl RuleId {
    /// The id as it stands in a path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an id can only be that of a built-in rule.
    #[must_use]
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
        check(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<RuleId> for String {
    fn from(id: RuleId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_any_text_that_is_one_segment_of_a_path() {
        for good in ["a", "a.b", "!r:x.org", "@u:x", "#spam:example.com", "тест", "a b", "a\tb"]
        {
            assert_eq!(good.parse::<RuleId>().unwrap().as_str(), good);
        }
        for (bad, error) in [
            ("", IdError::Empty),
            (".a", IdError::Reserved),
            (".", IdError::Reserved),
            ("a/b", IdError::Character('/')),
            ("a\\b", IdError::Character('\\')),
            ("a\0b", IdError::Character('\0')),
        ] {
            assert_eq!(bad.parse::<RuleId>(), Err(error), "{bad:?}");
        }
    }

    #[test]
    fn an_id_has_at_most_255_bytes() {
        assert!("a".repeat(255).parse::<RuleId>().is_ok());
        assert!("é".repeat(127).parse::<RuleId>().is_ok());
        assert_eq!("a".repeat(256).parse::<RuleId>(), Err(IdError::TooLong(256)));
        assert_eq!("é".repeat(128).parse::<RuleId>(), Err(IdError::TooLong(256)));
    }
}
