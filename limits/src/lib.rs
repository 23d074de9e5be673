//! Rate-limit counters, in process memory and in Redis.

mod engine;
pub mod memory;
pub mod metrics;
pub mod redis;

pub use self::engine::{Engine, EngineState, EngineStatus};
