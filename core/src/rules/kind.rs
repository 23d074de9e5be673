//! The five kinds of push rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The kind of a rule, in evaluation order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Arbitrary conditions, with the highest priority.
    Override,
    /// Matches a glob against the message text.
    Content,
    /// Matches all events in a room. The rule id is the room id.
    Room,
    /// Matches all events from a sender. The rule id is the user id.
    Sender,
    /// Arbitrary conditions, with the lowest priority.
    Underride,
}

/// The error for a string that does not name a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("kind must be override, content, room, sender or underride")]
pub struct UnknownKind;

impl RuleKind {
    /// All kinds, in evaluation order.
    pub const ALL: [Self; 5] =
        [Self::Override, Self::Content, Self::Room, Self::Sender, Self::Underride];

    /// Returns the name of the kind in paths and rulesets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Content => "content",
            Self::Room => "room",
            Self::Sender => "sender",
            Self::Underride => "underride",
        }
    }
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RuleKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(UnknownKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_parsed_from_its_name() {
        for kind in RuleKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::json!(kind), kind.as_str());
        }
        for unknown_name in ["", "Override", "override ", "postcontent"] {
            assert_eq!(unknown_name.parse::<RuleKind>(), Err(UnknownKind), "{unknown_name:?}");
        }
    }

    #[test]
    fn kinds_are_ordered_as_they_are_evaluated() {
        let names = RuleKind::ALL.map(RuleKind::as_str);
        assert_eq!(names, ["override", "content", "room", "sender", "underride"]);
        assert!(RuleKind::ALL.is_sorted());
    }
}
