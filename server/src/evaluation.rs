//! Push rule evaluation: its thread pool, the cache of users' compiled rules, and the deliveries of an
//! event.

pub mod event_delivery;
pub mod pool;
pub mod rule_index;
