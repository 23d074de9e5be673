//! A database behind PgBouncer.

use test_engines::shared::report_skipped;
use test_engines::{EngineError, PgBouncer};

use super::TestDatabase;

/// A database that can be reached through PgBouncer and directly.
pub struct PooledDatabase {
    /// Connects directly, bypassing PgBouncer.
    pub direct: TestDatabase,
    /// URL that connects through PgBouncer.
    pub url: String,
    _pooler: PgBouncer,
}

impl PooledDatabase {
    /// Creates a database and starts PgBouncer with a pool mode. Returns `None` if PostgreSQL tests
    /// are disabled, or PgBouncer is not installed.
    pub async fn start(pool_mode: &str) -> Option<Self> {
        let direct = TestDatabase::postgres().await?;
        let mut url = url::Url::parse(direct.url().unwrap()).unwrap();
        let pooler = match PgBouncer::start(url.port().unwrap(), pool_mode) {
            Err(EngineError::Missing(_)) => {
                report_skipped("PgBouncer", "run `cargo xtask test`, which installs it");
                return None;
            }
            outcome => outcome.unwrap(),
        };
        url.set_port(Some(pooler.port)).unwrap();
        Some(Self { direct, url: url.into(), _pooler: pooler })
    }
}
