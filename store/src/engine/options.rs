//! The section `[store]` of `belfry.toml`.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::engine::migrations::SchemaPolicy;

/// Store options: the section `[store]` of `belfry.toml`.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Maximum size of the cache, in bytes. The rule index may use an eighth of that in addition.
    #[default(512 * 1024 * 1024)]
    pub cache_bytes: usize,
    /// Size of the PostgreSQL connection pool.
    #[default(const { NonZeroUsize::new(16).unwrap() })]
    pub connections: NonZeroUsize,
    /// Timeout of a PostgreSQL query. SQLite queries have none.
    #[default(Duration::from_secs(5))]
    #[serde(skip)]
    pub timeout: Duration,
    /// Maximum time that `belfry serve` waits for PostgreSQL at startup.
    #[default(Duration::from_mins(1))]
    #[serde(skip)]
    pub start_timeout: Duration,
    #[serde(skip)]
    pub schema: SchemaPolicy,
    /// The store's access to the database.
    #[serde(skip)]
    pub access: Access,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    ReadWrite,
    /// It may only read; writes fail. The files need not be writable, opening does not wait for a
    /// process that has locked them, and notifications are not used.
    Read,
}
