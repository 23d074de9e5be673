//! The five kinds of rules, in the order in which they are asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a rule is about; a rule of an earlier kind wins over one of a later kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Conditions of the user's choice, above everything else.
    Override,
    /// A pattern in the text of a message.
    Content,
    /// One room, named by the rule's id.
    Room,
    /// One sender, named by the rule's id.
    Sender,
    /// Conditions of the user's choice, below everything else.
    Underride,
}

/// A word that names no kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a kind is one of override, content, room, sender, underride")]
pub struct UnknownKind;

impl RuleKind {
    /// All kinds, in the order of evaluation.
    pub const ALL: [Self; 5] =
        [Self::Override, Self::Content, Self::Room, Self::Sender, Self::Underride];

    /// The kind as it stands in a path and as the key of a ruleset.
    #[must_use]
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
    fn a_kind_is_read_back_from_its_word() {
        for kind in RuleKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::json!(kind), kind.as_str());
        }
        for wrong in ["", "Override", "override ", "postcontent"] {
            assert_eq!(wrong.parse::<RuleKind>(), Err(UnknownKind), "{wrong:?}");
        }
    }

    #[test]
    fn the_order_of_kinds_is_the_order_of_evaluation() {
        let words = RuleKind::ALL.map(RuleKind::as_str);
        assert_eq!(words, ["override", "content", "room", "sender", "underride"]);
        assert!(RuleKind::ALL.is_sorted());
    }
}
