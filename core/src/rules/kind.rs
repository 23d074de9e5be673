//! The five kinds of rules.

use serde::{Deserialize, Serialize};

use crate::wire_enum::wire_enum;

wire_enum! {
    /// The kind of a rule, in evaluation order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RuleKind {
        /// Arbitrary conditions, with the highest priority.
        Override = "override",
        /// Matches a glob against the message text.
        Content = "content",
        /// Matches all events in a room. The rule id is the room id.
        Room = "room",
        /// Matches all events from a sender. The rule id is the user id.
        Sender = "sender",
        /// Arbitrary conditions, with the lowest priority.
        Underride = "underride",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_ordered_as_they_are_evaluated() {
        let names = ["override", "content", "room", "sender", "underride"];
        assert_eq!(serde_json::json!(RuleKind::ALL), serde_json::json!(names));
        assert!(RuleKind::ALL.iter().map(|kind| kind.as_str()).eq(names));
        assert!(RuleKind::ALL.is_sorted());
    }
}
