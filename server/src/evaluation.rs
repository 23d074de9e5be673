//! The evaluation of push rules for many requests: its threads, and the compiled rules of users.

pub mod pool;
pub mod rule_index;
