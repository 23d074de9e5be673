//! A release runs beside its predecessor on one database, and gives way to it again.
//!
//! `statements/NNNN.jsonl` has the statements of the store at schema version NNNN, the one of the
//! previous release, with their parameters and results: cases of the conformance list, recorded on
//! SQLite. They must give the same results on the newest schema. CONTRIBUTING.md says how to record
//! them at a release.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use belfry_store::{Database, RecordedBatch, RecordedStatement, Store, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use belfry_store::test_support::{TestDatabase, connect, execute, newest, next_migration};

/// The schema version of the previous release.
const PREVIOUS: i64 = 7;
/// The tables that recorded cases write to.
const TABLES: [&str; 10] = [
    "accounts",
    "apps",
    "tokens",
    "codes",
    "sessions",
    "rulesets",
    "requests",
    "audit_events",
    "sweeps",
    "reserved_names",
];

/// The statements of one case of the conformance list.
#[derive(Serialize, Deserialize)]
struct RecordedCase {
    case: String,
    batches: Vec<RecordedBatch>,
}

fn server_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn recorded_file(version: i64) -> PathBuf {
    server_folder().join(format!("tests/it/store/statements/{version:04}.jsonl"))
}

fn recorded_cases() -> Vec<RecordedCase> {
    let text = fs::read_to_string(recorded_file(PREVIOUS)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Creates the schema of the previous release, as it did.
async fn create_previous_schema(database: &TestDatabase) {
    let engine = if database.url().is_some() { "postgres" } else { "sqlite" };
    let folder = server_folder().join("migrations").join(engine);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let table = "create table migrations (number bigint not null primary key, applied_at bigint \
                 not null)";
    execute(database, table).await;
    for file in files {
        let number = file.file_name().unwrap().to_str().unwrap()[..4].parse::<i64>().unwrap();
        if number <= PREVIOUS {
            let migration = fs::read_to_string(file).unwrap();
            let insert = format!("insert into migrations values ({number}, 0)");
            execute(database, &format!("{migration};{insert}")).await;
        }
    }
}

/// Runs the batches of a case in order, and compares their results with the recorded ones.
async fn replay(store: &Store, case: &RecordedCase) -> Result<(), String> {
    for batch in &case.batches {
        let result = store.run_recorded(batch).await;
        let result = result.map_err(|error| format!("{}: {error}: {batch:?}", case.case))?;
        if sorted(result.clone()) != sorted(batch.clone()) {
            return Err(format!("{}: {result:?} instead of {batch:?}", case.case));
        }
    }
    Ok(())
}

/// Rows without an order of their own come in any.
fn sorted(batch: RecordedBatch) -> RecordedBatch {
    let sort = |mut statement: RecordedStatement| {
        statement.rows.sort_by_key(|row| format!("{row:?}"));
        statement
    };
    match batch {
        RecordedBatch::Read(statement) => RecordedBatch::Read(sort(statement)),
        RecordedBatch::Write(all) => RecordedBatch::Write(all.into_iter().map(sort).collect()),
    }
}

/// Empties the tables, except that of the migrations.
async fn clear(database: &TestDatabase) {
    let delete = TABLES.map(|table| format!("delete from {table};"));
    execute(database, &delete.concat()).await;
}

/// The statements of the previous release run on a database that it created and this one migrated.
async fn previous_statements_run(database: TestDatabase) {
    create_previous_schema(&database).await;
    let store = database.open().await;
    let cases = recorded_cases();
    for case in &cases {
        clear(&database).await;
        replay(&store, case).await.unwrap();
    }
    // Each table is written to, and by several statements.
    let texts: BTreeSet<&str> = cases.iter().flat_map(statements).map(|one| &*one.sql).collect();
    for table in TABLES {
        let uses = texts.iter().filter(|sql| sql.contains(&format!("insert into {table} ")));
        assert!(uses.count() >= 1, "no statement inserts into {table}");
    }
}

fn statements(case: &RecordedCase) -> impl Iterator<Item = &RecordedStatement> {
    case.batches.iter().flat_map(|batch| match batch {
        RecordedBatch::Read(statement) => std::slice::from_ref(statement),
        RecordedBatch::Write(statements) => statements,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_the_previous_release_run_on_the_new_schema_on_sqlite() {
    previous_statements_run(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_the_previous_release_run_on_the_new_schema_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    previous_statements_run(database).await;
}

/// Rows that the previous release wrote before and after the migration are read by this one.
async fn rows_of_both_releases_are_read(database: TestDatabase) {
    create_previous_schema(&database).await;
    let columns = "(id, name, email, password, created_at)";
    let insert = |id: i64, name: &str| {
        format!("insert into accounts {columns} values ({id}, '{name}', null, '-', 1)")
    };
    execute(&database, &insert(1, "before")).await;
    let store = database.open().await;
    execute(&database, &insert(2, "after")).await;
    for name in ["before", "after"] {
        let account = store.account_by_name(name).await.unwrap().unwrap();
        assert_eq!((account.name.as_str(), account.disabled_at), (name, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_previous_release_are_read_on_sqlite() {
    rows_of_both_releases_are_read(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_previous_release_are_read_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    rows_of_both_releases_are_read(database).await;
}

/// This release runs beside a newer one, and starts again after it, if the newer one allows it.
async fn a_newer_compatible_schema_is_accepted(database: TestDatabase) {
    let known = newest(&database).await;
    let running = database.open().await;
    execute(&database, &next_migration(known)).await;
    for store in [running, database.open().await] {
        for case in recorded_cases().iter().take(3) {
            clear(&database).await;
            replay(&store, case).await.unwrap();
        }
        store.ping().await.unwrap();
    }
    let incompatible =
        format!("update migration_compatibility set compatible_from = {}", known + 1);
    execute(&database, &format!("{incompatible} where number = 1000")).await;
    let options = belfry_store::test_support::options();
    let opened = Store::open(&database.database, &options, jiff::Timestamp::UNIX_EPOCH).await;
    let Err(error) = opened else { panic!("an incompatible schema is accepted") };
    assert!(matches!(error, StoreError::Newer { found: 1000, .. }), "{error}");
    let text = error.to_string();
    let reason =
        format!("{} has {known}, where {} is needed", env!("CARGO_PKG_VERSION"), known + 1);
    assert!(text.contains(&reason) && text.contains("restore a backup"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_compatible_schema_is_accepted_on_sqlite() {
    a_newer_compatible_schema_is_accepted(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_compatible_schema_is_accepted_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    a_newer_compatible_schema_is_accepted(database).await;
}

/// Statements of other nodes would queue behind the lock that a migration waits for.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_must_wait_for_a_backup_does_not_block_other_nodes() {
    let Some(database) = TestDatabase::postgres().await else { return };
    create_previous_schema(&database).await;
    let url = database.url().unwrap().to_owned();
    let backup = connect(&url).await;
    backup.batch_execute("begin; select count(*) from accounts").await.unwrap();

    let (opened, mut migrated) = oneshot::channel();
    tokio::spawn(async move { drop(opened.send(database.open().await)) });
    let node = connect(&url).await;
    // Far longer than an attempt of the migration, and shorter than all its attempts.
    node.batch_execute("set statement_timeout = '20s'").await.unwrap();
    let waiting = "select count(*) from pg_locks where not granted and database = \
                   (select oid from pg_database where datname = current_database())";
    while node.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    node.query_one("select count(*) from accounts", &[]).await.unwrap();
    assert!(migrated.try_recv().is_err());

    backup.batch_execute("commit").await.unwrap();
    let store = migrated.await.unwrap();
    store.ping().await.unwrap();
}

/// The indexes of all migrations that are complete.
async fn indexes(client: &tokio_postgres::Client) -> BTreeSet<String> {
    let complete = "select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid \
                    where i.indisvalid and pg_table_is_visible(c.oid)";
    client.query(complete, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Otherwise writes would wait until the index is built.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_of_a_migration_are_built_while_other_nodes_write() {
    let Some(database) = TestDatabase::postgres().await else { return };
    drop(database.open().await);
    let url = database.url().unwrap().to_owned();
    let node = connect(&url).await;
    let all = indexes(&node).await;
    // As a process leaves it that was killed after its migration.
    node.batch_execute("drop index accounts_admins, accounts_disabled").await.unwrap();
    let columns = "(id, name, password, created_at)";
    let insert = |id: i64| format!("insert into accounts {columns} values ({id}, 'a{id}', '-', 1)");
    let writer = connect(&url).await;
    writer.batch_execute(&format!("begin; {}", insert(1))).await.unwrap();

    let (opened, started) = oneshot::channel();
    tokio::spawn(async move { drop(opened.send(database.open().await)) });
    let waiting = "select count(*) from pg_stat_activity where datname = current_database() and \
                   query like 'create index concurrently%' and wait_event_type = 'Lock'";
    while node.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    node.batch_execute("set statement_timeout = '20s'").await.unwrap();
    node.batch_execute(&insert(2)).await.unwrap();

    writer.batch_execute("commit").await.unwrap();
    started.await.unwrap().ping().await.unwrap();
    assert_eq!(indexes(&node).await, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_database_has_the_indexes_of_a_new_one() {
    let Some(new) = TestDatabase::postgres().await else { return };
    let Some(migrated) = TestDatabase::postgres().await else { return };
    create_previous_schema(&migrated).await;
    let nodes = [migrated.open(), migrated.open(), new.open()];
    drop(futures_util::future::join_all(nodes).await);
    let [new, migrated] = [&new, &migrated].map(|database| connect(database.url().unwrap()));
    assert_eq!(indexes(&migrated.await).await, indexes(&new.await).await);
}

/// The newest migration must let the previous release run.
#[tokio::test]
async fn the_newest_schema_is_compatible_with_the_previous_release() {
    let database = TestDatabase::sqlite();
    let number = newest(&database).await;
    assert!(number >= PREVIOUS);
    let Database::Sqlite(path) = &database.database else { panic!("not SQLite") };
    let query = "select max(compatible_from) from migration_compatibility";
    let compatible_from: i64 =
        rusqlite::Connection::open(path).unwrap().query_row(query, [], |row| row.get(0)).unwrap();
    assert!(compatible_from <= PREVIOUS, "the schema is compatible with {compatible_from} only");
}

/// Writes the statements of this release to `statements/`, from recordings of the conformance list
/// in the folder `BELFRY_RECORD`. Of cases with the same statements the shortest is used.
#[tokio::test]
#[ignore = "part of a release, see CONTRIBUTING.md"]
async fn collect_recorded_statements() {
    let folder = std::env::var_os("BELFRY_RECORD").expect("BELFRY_RECORD names a folder");
    let mut cases: Vec<RecordedCase> = fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let batches = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let case = path.file_name().unwrap().to_str().unwrap().replace('.', "::");
            RecordedCase { case, batches }
        })
        .filter(|case| case.case.starts_with("store::sqlite::"))
        .collect();
    cases.sort_by_key(|case| (case.batches.len(), case.case.clone()));
    let mut known = BTreeSet::new();
    let mut lines = String::new();
    for case in cases {
        let texts: BTreeSet<String> = statements(&case).map(|one| one.sql.clone()).collect();
        let database = TestDatabase::sqlite();
        // Results of concurrent cases depend on their order.
        if texts.is_subset(&known) || replay(&database.open().await, &case).await.is_err() {
            continue;
        }
        known.extend(texts);
        lines += &(serde_json::to_string(&case).unwrap() + "\n");
    }
    let number = newest(&TestDatabase::sqlite()).await;
    fs::write(recorded_file(number), lines).unwrap();
    println!("{} statements of schema version {number}", known.len());
}
