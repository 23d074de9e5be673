//! Push rule evaluation: its thread pool, and the cache of users' compiled rules.

pub mod pool;
pub mod rule_index;
