//! `[limits]`: rate limits.

use std::path::PathBuf;
use std::time::Duration;

use belfry_core::limits::abuse::AbuseLimits;
use belfry_core::limits::table::LimitTable;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::values::RateLimitMode;

/// Each IPv6 /48 gets this multiple of the per-address limits and of the maximum number of
/// connections per address.
pub const IPV6_48_MULTIPLE: u32 = 8;

/// `[limits]`. `mode`, `rows` and `abuse` are reloaded on SIGHUP.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Treatment of requests over a limit.
    pub mode: RateLimitMode,
    /// The limits on requests: `media = false` removes one, `media = { requests = 60 }` changes it,
    /// and a new name adds one.
    pub rows: LimitTable,
    /// The abuse limits, such as those on sign-in attempts and wrong client secrets.
    pub abuse: AbuseLimits,
    /// Maximum time that a request waits for Redis before it is counted in this process.
    #[default(Duration::from_millis(25))]
    #[serde(with = "belfry_runtime::duration")]
    pub redis_timeout: Duration,
    /// A PEM file with the certificate authorities of a `rediss://…` server; those of the operating
    /// system when unset.
    pub redis_root_certificate: Option<PathBuf>,
}
