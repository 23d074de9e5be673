//! `[limits]`: how often is too often.

use std::time::Duration;

use belfry_core::limits::abuse::AbuseLimits;
use belfry_core::limits::table::LimitTable;
use serde::Deserialize;

use super::values::LimitMode;
use crate::limits::memory::Memory;
use crate::limits::redis::Options;

/// `[limits]`. The mode, the rows and `own` are read again at a SIGHUP.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Whether a call over a limit is refused.
    pub mode: LimitMode,
    /// The limits of calls: `media = false` removes one, `media = { requests = 60 }` changes it,
    /// and one of another name is added.
    pub rows: LimitTable,
    /// The limits on sign-in attempts, wrong client secrets and app registrations.
    pub own: AbuseLimits,
    /// How many keys this process holds at most; each costs some 50 bytes.
    pub max_keys: usize,
    /// What the names of our keys in Redis begin with; services that share one differ in it.
    pub redis_prefix: String,
    /// How long a call waits for Redis before this process counts it alone.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub redis_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let Options { prefix, timeout } = Options::default();
        Self {
            mode: LimitMode::default(),
            rows: LimitTable::default(),
            own: AbuseLimits::default(),
            max_keys: Memory::KEYS,
            redis_prefix: prefix,
            redis_timeout: timeout,
        }
    }
}
