//! The push rules API: reading and writing rules, and evaluating events against them.

pub(super) mod evaluate;
pub(super) mod explain;
mod member_evaluation;
pub(super) mod notifications;
pub(super) mod notify;
pub(super) mod path;
pub(super) mod read;
pub(super) mod read_elsewhere;
pub(super) mod replace;
pub(super) mod write;
