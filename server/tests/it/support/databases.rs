//! A fresh database for each test, on either engine.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use belfry::store::Database;
use belfry::store::{Options, Store};
use jiff::Timestamp;
use tempfile::TempDir;

use super::skip::report_skipped;

/// The database of one test. A SQLite directory is removed on drop; a PostgreSQL database exists
/// until the server of the test run stops.
pub(crate) struct TestDatabase {
    pub(crate) database: Database,
    _folder: Option<TempDir>,
}

impl TestDatabase {
    /// An empty SQLite database in a temporary directory.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("data").join("belfry.db"));
        Self { database, _folder: Some(folder) }
    }

    /// An empty database on the PostgreSQL server of `BELFRY_TEST_POSTGRES`; `None` if it is unset.
    pub(crate) async fn postgres() -> Option<Self> {
        let server = engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES")?;
        let url = new_database(&server, "").await;
        Some(Self { database: Database::Postgres(url.parse().unwrap()), _folder: None })
    }

    /// The same PostgreSQL database, for another node.
    pub(crate) fn share(&self) -> Self {
        assert!(self.url().is_some(), "SQLite is for one node");
        Self { database: self.database.clone(), _folder: None }
    }

    /// Opens a store on this database. Each call is like another node.
    pub(crate) async fn open(&self) -> Store {
        self.open_with(options().cache_bytes).await
    }

    /// Like `open`, with a cache of this size.
    pub(crate) async fn open_with(&self, cache_bytes: usize) -> Store {
        let options = Options { cache_bytes, ..options() };
        let store = Store::open(&self.database, &options, Timestamp::UNIX_EPOCH).await.unwrap();
        if let Some(folder) = std::env::var_os("BELFRY_RECORD") {
            store.record_statements(recording(folder.as_ref()));
        }
        store
    }

    /// The URL for `--database`; `None` for SQLite.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(url) => Some(url.reveal()),
        }
    }
}

/// A new file for the statements of the current test, which `store::upgrade` collects.
fn recording(folder: &Path) -> File {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace("::", ".");
    std::fs::create_dir_all(folder).unwrap();
    File::create(folder.join(test)).unwrap()
}

/// Options with few connections, because many tests share one server.
pub(crate) fn options() -> Options {
    Options { connections: NonZeroUsize::new(4).unwrap(), ..Options::default() }
}

/// The URL of an engine from an environment variable. If it is unset, reports the test as skipped.
#[track_caller]
pub(crate) fn engine_url(engine: &str, variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        report_skipped(engine, &format!("set {variable}, or run `cargo xtask test`"));
    }
    url
}

/// Creates a database with these options and returns its URL.
pub(crate) async fn new_database(server: &str, options: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (client, connection) =
        tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("belfry_{}_{count}", std::process::id());
    // From template0, because template1 cannot be copied concurrently.
    let create = format!("create database {name} template template0 {options}");
    client.batch_execute(&create).await.unwrap();
    let mut url = url::Url::parse(server).unwrap();
    url.set_path(&name);
    url.into()
}
