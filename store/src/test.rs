//! Test support: a new database for each test, on either engine, and PostgreSQL with TLS, behind
//! PgBouncer or behind a proxy with faults.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod audit;
mod observed;
mod pooled;
mod proxy;
mod tls;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;
use tempfile::TempDir;
use test_engines::shared::postgres_url;

pub use self::audit::{any_events, recorded_events};
pub use self::observed::RecordedStatement;
pub use self::pooled::PooledDatabase;
pub use self::proxy::{Faults, PostgresProxy};
pub use self::tls::{CertificateAuthority, TlsPostgres};
use crate::engine::database::Database;
use crate::engine::options::Options;
use crate::engine::sql;
use crate::error::StoreError;
use crate::metrics::StoreMetrics;
use crate::push::deliveries::wake_lanes_statement;
use crate::rules::{RulesetsForUpdate, SaveOutcome, SerializedDocument};
use crate::store::{Change, Store};

/// The database of one test. A SQLite directory is removed on drop; a PostgreSQL database exists
/// until the server of the test run stops.
pub struct TestDatabase {
    /// The location, for [`Store::open`].
    pub database: Database,
    _dir: Option<TempDir>,
}

impl TestDatabase {
    /// Creates an empty SQLite database in a temporary directory.
    pub fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(dir.path().join("data").join("belfry.db"));
        Self { database, _dir: Some(dir) }
    }

    /// Creates an empty database on the PostgreSQL server that `BELFRY_TEST_POSTGRES` names; `None`
    /// if it is unset.
    pub async fn postgres() -> Option<Self> {
        let server = postgres_url()?;
        let url = new_database(&server, "").await;
        Some(Self { database: Database::Postgres(url.parse().unwrap()), _dir: None })
    }

    /// Returns the same PostgreSQL database, for a second node.
    pub fn share(&self) -> Self {
        assert!(self.url().is_some(), "SQLite is for one node");
        Self { database: self.database.clone(), _dir: None }
    }

    /// Opens a store on this database. Each store acts as a separate node.
    pub async fn open(&self) -> Store {
        self.open_with_cache_bytes(options().cache_bytes).await
    }

    /// Opens a store like `open`, with a cache of this size.
    pub async fn open_with_cache_bytes(&self, cache_bytes: usize) -> Store {
        let options = Options { cache_bytes, ..options() };
        Store::open(&self.database, &options, Timestamp::UNIX_EPOCH).await.unwrap()
    }

    /// Returns the URL for `--database`; `None` for SQLite.
    pub fn url(&self) -> Option<&str> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(url) => Some(url.reveal()),
        }
    }
}

/// Returns options with few connections, because many tests share one server.
pub fn options() -> Options {
    Options { connections: NonZeroUsize::new(4).unwrap(), ..Options::default() }
}

/// Connects to a PostgreSQL database without TLS.
pub async fn connect_postgres(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Store {
    /// Returns the number of failed reads and writes.
    pub fn failures(&self) -> u64 {
        let StoreMetrics { reads, writes } = &self.engine.metrics;
        [reads, writes]
            .map(|metrics| metrics.temporary_failures.get() + metrics.permanent_failures.get())
            .iter()
            .sum()
    }

    /// Returns the number of stored grants, active or not.
    pub async fn count_grants(&self) -> usize {
        self.engine.read(sql!("select id from grants")).await.unwrap().len()
    }

    pub async fn save_document(
        &self,
        original: &RulesetsForUpdate,
        document: SerializedDocument,
    ) -> Result<SaveOutcome, StoreError> {
        self.save_documents(original, vec![document]).await
    }

    /// Makes lanes due like a sweep.
    pub async fn wake_lanes(&self, now: Timestamp) {
        self.write(Change::unaudited(wake_lanes_statement(now))).await.unwrap();
    }

    /// Asserts that the receivers have the number of their waiting deliveries, and are due if there
    /// are any; and that each accepted delivery waits or has ended.
    pub async fn assert_queue_is_consistent(&self) {
        let receivers: Vec<(i64, i64, i64, i64)> = self
            .read_all(sql!(
                r"
                    select account_id, id, waiting, counted
                    from (
                        select r.account_id, r.id, r.waiting, (
                            select count(*)
                            from deliveries d
                            where d.account_id = r.account_id
                              and d.receiver_id = r.id
                              and d.finished_at is null
                        ) as counted, r.due_at, r.claim, r.lease_until
                        from receivers r
                    ) as receivers
                    where waiting <> counted
                       or (due_at is null) <> (waiting = 0 and claim is null)
                       or (claim is null) <> (lease_until is null)
                "
            ))
            .await
            .unwrap();
        assert_eq!(receivers, []);
        let orphans: Vec<(i64, i64)> = self
            .read_all(sql!(
                r"
                    select account_id, receiver_id
                    from deliveries d
                    where (finished_at is null) <> (outcome is null)
                       or (message_id is null) <> (outcome is not null)
                       or finished_at is null
                      and not exists (
                          select 1
                          from receivers r
                          where r.account_id = d.account_id
                            and r.id = d.receiver_id
                      )
                "
            ))
            .await
            .unwrap();
        assert_eq!(orphans, []);
        let status = self.queue_status().await.unwrap();
        let mut balances: BTreeMap<&str, i64> = BTreeMap::new();
        for ((protocol, event), number) in &status.totals {
            let sign = if event == "accepted" { -1 } else { 1 };
            *balances.entry(protocol).or_default() += sign * number.cast_signed();
        }
        assert!(balances.values().all(|balance| *balance == 0), "{:?}", status.totals);
    }

    /// Ends all leases by the clock of the database.
    pub async fn expire_leases(&self) {
        let update = sql!("update receivers set lease_until = 0 where claim is not null");
        self.write(Change::unaudited(update)).await.unwrap();
    }
}

/// Runs SQL that is not one of the store's statements.
pub async fn execute_sql(database: &TestDatabase, sql: &str) {
    match &database.database {
        Database::Sqlite(path) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        }
        Database::Postgres(url) => {
            connect_postgres(url.reveal()).await.batch_execute(sql).await.unwrap();
        }
    }
}

/// Creates a database with the given options and returns its URL.
pub async fn new_database(server: &str, options: &str) -> String {
    static DATABASE_COUNT: AtomicU32 = AtomicU32::new(0);
    let client = connect_postgres(server).await;
    let number = DATABASE_COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("belfry_{}_{number}", std::process::id());
    // Created from template0, because template1 cannot be copied concurrently.
    let create = format!("create database {name} template template0 {options}");
    client.batch_execute(&create).await.unwrap();
    let mut url = url::Url::parse(server).unwrap();
    url.set_path(&name);
    url.into()
}

/// Defines the tests `sqlite::case` and `postgres::case` for every case. A case gets the result of
/// the function `start` for a new database.
#[macro_export]
macro_rules! on_both_engines {
    ($start:path: $($case:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = $crate::test::TestDatabase::sqlite();
                    super::$case($start(database).await).await;
                }
            )*
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(database) = $crate::test::TestDatabase::postgres().await {
                        super::$case($start(database).await).await;
                    }
                }
            )*
        }
    };
}
