//! Opening databases: schema versions, other processes, invalid files and directories.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use belfry_store::test::{TestDatabase, any_events, connect_postgres, execute_sql, options};
use belfry_store::{Access, Database, Options, Store, StoreError, StoredRequest, WriteOutcome};
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::cases::receivers::{add_receiver, pusher};
use super::cases::{account, add_alice_and_app, hashed_secret, timestamp, token};

async fn open(database: &TestDatabase) -> Result<Store, StoreError> {
    Store::open(&database.database, &options(), Timestamp::UNIX_EPOCH).await
}

fn connect(database: &Database) -> rusqlite::Connection {
    let Database::Sqlite(path) = database else { panic!("not SQLite") };
    rusqlite::Connection::open(path).unwrap()
}

/// A push key is a secret of a push gateway.
#[tokio::test]
async fn deleted_push_keys_are_overwritten_in_the_sqlite_file() {
    let database = TestDatabase::sqlite();
    let Database::Sqlite(path) = &database.database else { panic!("not SQLite") };
    let contains_push_key = || {
        let connection = connect(&database.database);
        connection.pragma_query(None, "wal_checkpoint", |_| Ok(())).unwrap();
        let file = std::fs::read(path).unwrap();
        file.windows(11).any(|bytes| bytes == b"gateway-key")
    };
    let store = open(&database).await.unwrap();
    add_alice_and_app(&store).await;
    add_receiver(&store, &pusher(7, 5, "gateway-key")).await;
    assert!(contains_push_key());
    store.delete_receiver(&any_events(), 7, 5).await.unwrap();
    assert!(!contains_push_key());
}

#[tokio::test]
async fn a_newer_sqlite_database_is_rejected() {
    let database = TestDatabase::sqlite();
    drop(open(&database).await.unwrap());
    connect(&database.database).execute("insert into migrations values (999, 0, 999)", []).unwrap();

    let Err(error) = open(&database).await else { panic!("the database was opened") };

    let message = error.to_string();
    assert!(matches!(error, StoreError::Newer { version: 999, .. }), "{message}");
    assert!(message.contains("belfry.db was written by a newer belfry with schema version 999"));
    let advice = "upgrade this binary to the newer version, or restore a backup from before";
    assert!(message.contains(env!("CARGO_PKG_VERSION")) && message.contains(advice), "{message}");
}

#[tokio::test]
async fn a_newer_postgres_database_is_rejected() {
    let Some(database) = TestDatabase::postgres().await else { return };
    drop(open(&database).await.unwrap());
    let (client, connection) =
        tokio_postgres::connect(database.url().unwrap(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("insert into migrations values (999, 0, 999)").await.unwrap();

    let Err(error) = open(&database).await else { panic!("the database was opened") };

    assert!(matches!(error, StoreError::Newer { version: 999, .. }), "{error}");
}

/// This release can run alongside a newer one, and start after it, if the newer one allows that.
async fn assert_a_compatible_newer_schema_is_accepted(database: TestDatabase) {
    let running_node = open(&database).await.unwrap();
    let migration = "alter table accounts add column added text not null default ''; \
                     insert into migrations select 999, 0, max(number) from migrations";
    execute_sql(&database, migration).await;
    for (store, name) in [(running_node, "alice"), (open(&database).await.unwrap(), "bob")] {
        let id = i64::try_from(name.len()).unwrap();
        store.add_account(&any_events(), &account(id, name)).await.unwrap();
        assert_eq!(store.account_by_name(name).await.unwrap().unwrap().id, id);
    }
}

#[tokio::test]
async fn a_compatible_newer_schema_is_accepted_on_sqlite() {
    assert_a_compatible_newer_schema_is_accepted(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_compatible_newer_schema_is_accepted_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_a_compatible_newer_schema_is_accepted(database).await;
}

async fn read_valid_indexes(client: &tokio_postgres::Client) -> BTreeSet<String> {
    let select = "select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid \
                    where i.indisvalid and pg_table_is_visible(c.oid)";
    client.query(select, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// If an index were built within the migration, writes would wait until it is complete.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_of_a_migration_are_built_while_other_nodes_write() {
    let Some(database) = TestDatabase::postgres().await else { return };
    drop(database.open().await);
    let url = database.url().unwrap().to_owned();
    let node = connect_postgres(&url).await;
    let original_indexes = read_valid_indexes(&node).await;
    // The state that a process leaves if it is killed after its migration.
    node.batch_execute("drop index accounts_admins, accounts_disabled").await.unwrap();
    let columns = "(id, name, password, created_at)";
    let insert = |id: i64| format!("insert into accounts {columns} values ({id}, 'a{id}', '-', 1)");
    let writer = connect_postgres(&url).await;
    writer.batch_execute(&format!("begin; {}", insert(1))).await.unwrap();

    let (store_sender, store_receiver) = oneshot::channel();
    tokio::spawn(async move { drop(store_sender.send(database.open().await)) });
    let count_waiting = "select count(*) from pg_stat_activity where \
                         datname = current_database() and query like \
                         'create index concurrently%' and wait_event_type = 'Lock'";
    while node.query_one(count_waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    node.batch_execute("set statement_timeout = '20s'").await.unwrap();
    node.batch_execute(&insert(2)).await.unwrap();

    writer.batch_execute("commit").await.unwrap();
    store_receiver.await.unwrap().ping().await.unwrap();
    assert_eq!(read_valid_indexes(&node).await, original_indexes);
}

const PRE_RELEASE: &str = "create table migrations (number bigint not null primary key, \
                           applied_at bigint not null); insert into migrations values (11, 0)";

async fn assert_pre_release_is_rejected(database: &Database) {
    for access in [Access::ReadWrite, Access::Read] {
        let options = Options { access, ..options() };
        let outcome = Store::open(database, &options, Timestamp::UNIX_EPOCH).await;
        let Err(error) = outcome else { panic!("the database was opened") };
        assert!(matches!(error, StoreError::PreRelease { version: 11, .. }), "{error}");
        let message = error.to_string();
        let reason = "was created by a pre-release of belfry (schema version 11)";
        assert!(message.contains(reason) && message.contains("start with a new one"), "{message}");
    }
}

#[tokio::test]
async fn a_pre_release_sqlite_database_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(dir.path().join("belfry.db"));
    connect(&database).execute_batch(PRE_RELEASE).unwrap();
    assert_pre_release_is_rejected(&database).await;
}

#[tokio::test]
async fn a_pre_release_postgres_database_is_rejected() {
    let Some(database) = TestDatabase::postgres().await else { return };
    super::nodes::connect(&database).await.batch_execute(PRE_RELEASE).await.unwrap();
    assert_pre_release_is_rejected(&database.database).await;
}

#[tokio::test]
async fn data_is_read_back_after_reopening_the_database() {
    let database = TestDatabase::sqlite();
    let store = open(&database).await.unwrap();
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    drop(store);
    assert_eq!(open(&database).await.unwrap().account(7).await.unwrap(), Some(account(7, "alice")));
}

/// The second store acts as a command that runs alongside the server.
#[tokio::test]
async fn writes_by_a_different_process_are_detected() {
    let database = TestDatabase::sqlite();
    let server = open(&database).await.unwrap();
    add_alice_and_app(&server).await;
    server.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert!(
        server
            .token(hashed_secret("t"))
            .await
            .unwrap()
            .unwrap()
            .check_validity(timestamp(1))
            .is_ok()
    );

    let command = open(&database).await.unwrap();
    command.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1)).await.unwrap();

    for _ in 0..1000 {
        if server
            .token(hashed_secret("t"))
            .await
            .unwrap()
            .unwrap()
            .check_validity(timestamp(1))
            .is_err()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the cache still returns the token");
}

#[tokio::test]
async fn the_error_names_a_file_that_is_not_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("belfry.db");
    std::fs::write(&path, "this is not a database, but it is long enough to look like one")
        .unwrap();
    let database = Database::Sqlite(path.clone());

    let outcome = Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await;

    let Err(error) = outcome else { panic!("the database was opened") };
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is not"));
}

#[tokio::test]
async fn the_error_names_a_directory_that_cannot_be_created() {
    let database = Database::Sqlite("/proc/nowhere/belfry.db".into());
    let outcome = Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await;
    let Err(error) = outcome else { panic!("the database was opened") };
    assert!(error.to_string().contains("/proc/nowhere/belfry.db"), "{error}");
}

#[tokio::test]
async fn the_error_names_an_unreachable_postgres_without_its_password() {
    let url = "postgres://me:hunter2@127.0.0.1:1/belfry".parse().unwrap();
    let database = Database::Postgres(url);
    let outcome = Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await;
    let Err(error) = outcome else { panic!("the database was opened") };
    let message = error.to_string();
    assert!(message.contains("postgres://me:***@127.0.0.1:1/belfry"), "{message}");
    assert!(message.contains("refused") && !message.contains("hunter2"), "{message}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_and_its_directory_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let database = TestDatabase::sqlite();
    let store = open(&database).await.unwrap();
    add_alice_and_app(&store).await;
    let Database::Sqlite(path) = &database.database else { panic!("not SQLite") };
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(path), 0o600);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
}

#[tokio::test]
async fn every_failed_read_and_write_is_counted() {
    let database = TestDatabase::sqlite();
    let store = open(&database).await.unwrap();
    add_alice_and_app(&store).await;
    assert_eq!(store.failures(), 0);
    connect(&database.database).execute_batch("drop table tokens").unwrap();

    assert!(matches!(store.token(hashed_secret("t")).await, Err(StoreError::Failed(_))));
    assert_eq!(store.failures(), 1);
    assert!(store.add_token(&any_events(), &token("t", Some(7))).await.is_err());
    assert_eq!(store.failures(), 2);
}

/// A long read, such as a backup, prevents the WAL from being emptied. Afterwards it shrinks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wal_shrinks_after_a_long_read() {
    const MIB: u64 = 1024 * 1024;
    let database = TestDatabase::sqlite();
    let Database::Sqlite(path) = &database.database else { panic!("not SQLite") };
    let wal = path.with_file_name("belfry.db-wal");
    let wal_bytes = || wal.metadata().unwrap().len();
    let store = database.open().await;
    add_alice_and_app(&store).await;
    let reader = rusqlite::Connection::open(path).unwrap();
    reader.execute_batch("begin").unwrap();
    let count_requests = || reader.query_row("select count(*) from requests", [], |row| row.get(0));
    assert_eq!(count_requests(), Ok(0));
    let add_request = async |number: u32| {
        let parameters = vec![("state".to_owned(), "s".repeat(1024 * 1024))];
        let request = StoredRequest {
            app_id: 1,
            browser_cookie: hashed_secret("b"),
            account_id: None,
            parameters,
            expires_at: timestamp(100),
        };
        let outcome =
            store.add_request(hashed_secret(&number.to_string()), &request).await.unwrap();
        assert_eq!(outcome, WriteOutcome::Written);
    };
    for number in 0..40 {
        add_request(number).await;
    }
    assert!(wal_bytes() > 40 * MIB, "the read needs the whole WAL: {}", wal_bytes());

    reader.execute_batch("commit").unwrap();

    let start = Instant::now();
    while wal_bytes() > 16 * MIB {
        assert!(start.elapsed() < Duration::from_mins(1), "{} bytes remain", wal_bytes());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(count_requests(), Ok(40));
}
