//! Evaluation of an event for all members of a room.
//!
//! Each user's rules are compiled once, with an index key for each rule: a value or a word that an
//! event must have for the rule to match. A rule whose key the event lacks is skipped.

mod evaluate;
mod indexed_rules;
pub(super) mod key;
mod members;
mod result;
#[cfg(test)]
mod tests;

pub use indexed_rules::IndexedRules;
pub use members::Members;
pub use result::{MemberGroup, RoomEvaluation};
