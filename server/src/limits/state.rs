//! The state of an engine, for health checks and metrics.

/// The state of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineState {
    /// Where requests are counted at the moment.
    pub status: EngineStatus,
    /// The number of keys in the memory of this process.
    pub keys: usize,
    /// The number of keys that were evicted before their window ended, for lack of space.
    pub evicted: u64,
    /// The number of decisions made locally because Redis was unavailable.
    pub local_decisions: u64,
}

/// Where requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineStatus {
    /// In this process, as configured.
    Memory,
    /// In Redis, together with all other nodes.
    Redis,
    /// In this process, because Redis is unavailable.
    RedisUnavailable,
}
