//! Evaluation of an event for all members of a room.
//!
//! Each user's rules are compiled once, with an index key for each rule: a value or a word that an
//! event must have for the rule to match. A rule whose key the event lacks is skipped.

mod evaluate;
pub(super) mod key;
mod members;
mod result;
#[cfg(test)]
mod tests;
mod user_rules;

pub use members::Members;
pub use result::{MemberGroup, RoomEvaluation};
pub use user_rules::IndexedRules;
