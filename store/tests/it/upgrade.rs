//! A release runs alongside its predecessor on one database, and an upgrade can be rolled back.
//!
//! `statements/NNNN.jsonl` contains the store's statements at schema version NNNN, that of the
//! previous release, with their parameters and results: cases of the conformance list, recorded on
//! SQLite. They must return the same results on the newest schema, and the statements of this
//! release must do so on the schema of a simulated next release. CONTRIBUTING.md says how to record
//! them at a release.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use belfry_store::{Access, Diagnosis, Migrations, Options, SchemaPolicy, Store, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::cases::{
    account_security, audit, codes, deletion, deliveries, requests, retention, timed_rules,
    vapid_keys,
};
use belfry_store::test_support::{
    RecordedBatch, RecordedStatement, TestDatabase, connect_postgres, execute_sql,
    next_release_options, open_as_next_release, options,
};

/// The tables to which recorded cases write.
const TABLES: [&str; 17] = [
    "accounts",
    "apps",
    "grants",
    "tokens",
    "codes",
    "sessions",
    "rulesets",
    "requests",
    "audit_events",
    "sweeps",
    "reserved_names",
    "deleted_owners",
    "vapid_keys",
    "receivers",
    "messages",
    "deliveries",
    "lanes",
];

/// The statements of one case of the conformance list.
#[derive(Serialize, Deserialize)]
struct RecordedCase {
    case: String,
    batches: Vec<RecordedBatch>,
}

/// Returns the directory of recorded statements.
fn statements_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statements")
}

/// Returns the schema version of the previous release, or of this one before the first release.
fn previous_version() -> i64 {
    let files = fs::read_dir(statements_dir()).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let versions: Vec<i64> = names.map(|name| name[..4].parse().unwrap()).collect();
    assert!(versions.len() <= 1, "more than one release: {versions:?}");
    versions.first().copied().unwrap_or_else(newest_version)
}

/// Returns the newest schema version of this release.
fn newest_version() -> i64 {
    Migrations::default().0.last().unwrap().number
}

/// Returns the recorded statements of the previous release; none before the first release.
fn previous_cases() -> Vec<RecordedCase> {
    let text =
        fs::read_to_string(statements_dir().join(format!("{:04}.jsonl", previous_version())))
            .unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Records the statements of a case.
async fn record_case<F: Future<Output = ()>>(
    name: &str,
    case: impl FnOnce(Store) -> F,
) -> RecordedCase {
    let database = TestDatabase::sqlite();
    let store = Store::open(&database.database, &options(), Timestamp::UNIX_EPOCH).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    case(store.with_statement_recorder(file.reopen().unwrap())).await;
    let text = fs::read_to_string(file.path()).unwrap();
    let batches = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    RecordedCase { case: name.to_owned(), batches }
}

/// Records cases of this release that together write to every table in `TABLES`.
async fn record_cases() -> Vec<RecordedCase> {
    macro_rules! record {
        ($($area:ident::$case:ident),* $(,)?) => {
            vec![$(record_case(stringify!($case), $area::$case).await),*]
        };
    }
    record![
        codes::a_code_is_redeemed_once,
        requests::a_request_is_consumed_once_and_only_by_its_browser,
        audit::an_event_is_stored_with_every_change,
        deletion::a_deleted_account_leaves_nothing_behind,
        deletion::a_deleted_app_leaves_nothing_behind,
        account_security::sessions_are_listed_with_their_browser_most_recently_used_first,
        retention::expired_requests_codes_and_sessions_are_deleted_within_minutes,
        timed_rules::a_sweep_deletes_expired_rules_a_day_after_the_first_expiry,
        vapid_keys::a_vapid_key_is_added_only_if_it_replaces_the_newest,
        deliveries::a_delivery_is_stored_claimed_and_logged,
    ]
}

/// Opens a database as the previous release.
async fn open_previous(database: &TestDatabase) -> Store {
    let Migrations(migrations) = Migrations::default();
    let count =
        migrations.iter().filter(|migration| migration.number <= previous_version()).count();
    let options = Options { migrations: Migrations(&migrations[..count]), ..options() };
    Store::open(&database.database, &options, Timestamp::UNIX_EPOCH).await.unwrap()
}

/// Runs the batches of a case in order, and compares their results with the recorded ones.
async fn replay_case(store: &Store, case: &RecordedCase) -> Result<(), String> {
    for batch in &case.batches {
        let result = store
            .run_recorded(batch)
            .await
            .map_err(|error| format!("{}: {error}: {batch:?}", case.case))?;
        if sort_rows(result.clone()) != sort_rows(batch.clone()) {
            return Err(format!("{}: {result:?} instead of {batch:?}", case.case));
        }
    }
    Ok(())
}

/// Sorts the rows, which statements without `order by` return in any order.
fn sort_rows(batch: RecordedBatch) -> RecordedBatch {
    let sort = |mut statement: RecordedStatement| {
        statement.rows.sort_by_key(|row| format!("{row:?}"));
        statement
    };
    match batch {
        RecordedBatch::Read(statement) => RecordedBatch::Read(sort(statement)),
        RecordedBatch::Write(statements) => {
            RecordedBatch::Write(statements.into_iter().map(sort).collect())
        }
    }
}

/// Empties the tables in `TABLES`.
async fn clear_tables(database: &TestDatabase) {
    let delete = TABLES.map(|table| format!("delete from {table};"));
    execute_sql(database, &delete.concat()).await;
}

/// Runs the statements of the previous release on a database that it created and this release
/// migrated, and the statements of this release after the next one has migrated it too.
async fn run_previous_statements(database: TestDatabase) {
    drop(open_previous(&database).await);
    let store = database.open().await;
    for case in &previous_cases() {
        clear_tables(&database).await;
        replay_case(&store, case).await.unwrap();
    }
    let store = open_as_next_release(&database).await;
    let cases = record_cases().await;
    for case in &cases {
        clear_tables(&database).await;
        replay_case(&store, case).await.unwrap();
    }
    // Each table is written to.
    let all_sql: BTreeSet<&str> =
        cases.iter().flat_map(case_statements).map(|statement| &*statement.sql).collect();
    for table in TABLES {
        let insert = format!("insert into {table} ");
        assert!(
            all_sql.iter().any(|sql| sql.contains(&insert)),
            "no statement inserts into {table}"
        );
    }
}

fn case_statements(case: &RecordedCase) -> impl Iterator<Item = &RecordedStatement> {
    case.batches.iter().flat_map(|batch| match batch {
        RecordedBatch::Read(statement) => std::slice::from_ref(statement),
        RecordedBatch::Write(statements) => statements,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_the_previous_release_run_on_the_new_schema_on_sqlite() {
    run_previous_statements(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_the_previous_release_run_on_the_new_schema_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    run_previous_statements(database).await;
}

/// Rows in the previous release's format, written before and after the migrations, are read by this
/// release and the next.
async fn assert_previous_rows_are_read(database: TestDatabase) {
    drop(open_previous(&database).await);
    let columns = "(id, name, email, password, created_at)";
    let insert = |id: i64, name: &str| {
        format!("insert into accounts {columns} values ({id}, '{name}', null, '-', 1)")
    };
    execute_sql(&database, &insert(1, "before")).await;
    let stores = [database.open().await, open_as_next_release(&database).await];
    execute_sql(&database, &insert(2, "after")).await;
    for (store, name) in stores.iter().flat_map(|store| [(store, "before"), (store, "after")]) {
        let account = store.account_by_name(name).await.unwrap().unwrap();
        assert_eq!((account.name.as_str(), account.disabled_at), (name, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_written_by_the_previous_release_are_read_on_sqlite() {
    assert_previous_rows_are_read(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_written_by_the_previous_release_are_read_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_previous_rows_are_read(database).await;
}

/// This release can run alongside a newer one, and start after it, if the newer one allows that.
async fn assert_newer_compatible_schema_is_accepted(database: TestDatabase) {
    let supported_version = newest_version();
    let next_version = newest_version() + 1;
    let running_node = database.open().await;
    open_as_next_release(&database).await.ping().await.unwrap();
    let cases = record_cases().await;
    for store in [running_node, database.open().await] {
        for case in cases.iter().take(3) {
            clear_tables(&database).await;
            replay_case(&store, case).await.unwrap();
        }
        store.ping().await.unwrap();
    }
    let diagnosis = Diagnosis::run(&database.database, &options()).await.unwrap();
    assert_eq!(
        (diagnosis.schema_version, diagnosis.supported_schema_version),
        (Some(next_version), supported_version)
    );

    let mark_incompatible = format!(
        "update migrations set compatible_from = {next_version} where number = {next_version}"
    );
    execute_sql(&database, &mark_incompatible).await;
    let outcome = Store::open(&database.database, &options(), Timestamp::UNIX_EPOCH).await;
    let Err(error) = outcome else { panic!("an incompatible schema is accepted") };
    assert!(
        matches!(error, StoreError::Newer { version, .. } if version == next_version),
        "{error}"
    );
    let text = error.to_string();
    let reason = format!(
        "{} supports schema version {supported_version}, but {next_version} is required",
        env!("CARGO_PKG_VERSION")
    );
    assert!(text.contains(&reason) && text.contains("restore a backup"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_compatible_schema_is_accepted_on_sqlite() {
    assert_newer_compatible_schema_is_accepted(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_compatible_schema_is_accepted_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_newer_compatible_schema_is_accepted(database).await;
}

/// Statements of other nodes would queue behind the lock that a migration waits for.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_must_wait_for_a_backup_does_not_block_other_nodes() {
    let Some(database) = TestDatabase::postgres().await else { return };
    drop(open_previous(&database).await);
    let url = database.url().unwrap().to_owned();
    let backup = connect_postgres(&url).await;
    backup.batch_execute("begin; select count(*) from accounts").await.unwrap();

    let (store_sender, mut store_receiver) = oneshot::channel();
    tokio::spawn(async move { drop(store_sender.send(open_as_next_release(&database).await)) });
    let node = connect_postgres(&url).await;
    // Far longer than an attempt of the migration, and shorter than all its attempts.
    node.batch_execute("set statement_timeout = '20s'").await.unwrap();
    let count_waiting = "select count(*) from pg_locks where not granted and database = \
                   (select oid from pg_database where datname = current_database())";
    while node.query_one(count_waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    node.query_one("select count(*) from accounts", &[]).await.unwrap();
    assert!(store_receiver.try_recv().is_err());

    backup.batch_execute("commit").await.unwrap();
    let store = store_receiver.await.unwrap();
    store.ping().await.unwrap();
}

/// Returns the names of the valid indexes.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_database_has_the_indexes_of_a_new_one() {
    let Some(new_database) = TestDatabase::postgres().await else { return };
    let Some(migrated_database) = TestDatabase::postgres().await else { return };
    drop(open_previous(&migrated_database).await);
    let nodes = [&migrated_database, &migrated_database, &new_database].map(open_as_next_release);
    drop(futures_util::future::join_all(nodes).await);
    let [new_client, migrated_client] = [&new_database, &migrated_database]
        .map(|database| connect_postgres(database.url().unwrap()));
    let new_indexes = read_valid_indexes(&new_client.await).await;
    assert!(new_indexes.contains("accounts_by_added") && new_indexes.contains("notes_by_text"));
    assert_eq!(read_valid_indexes(&migrated_client.await).await, new_indexes);
}

/// The previous release must be able to run after the newest migration.
#[test]
fn the_newest_schema_is_compatible_with_the_previous_release() {
    let compatible_from = Migrations::default().0.last().unwrap().compatible_from;
    assert!(
        compatible_from <= previous_version(),
        "the schema is compatible with {compatible_from} only"
    );
}

/// A server of the older version may be using the database.
async fn assert_commands_do_not_migrate(database: TestDatabase) {
    drop(database.open().await);
    let version = newest_version();
    let needed_version = newest_version() + 1;
    for (schema, access) in [
        (SchemaPolicy::Require, Access::Read),
        (SchemaPolicy::Require, Access::ReadWrite),
        (SchemaPolicy::Create, Access::ReadWrite),
    ] {
        let options = Options { schema, access, ..next_release_options() };
        let outcome = Store::open(&database.database, &options, Timestamp::UNIX_EPOCH).await;
        let Err(error) = outcome else { panic!("an older schema is accepted") };
        let problem =
            format!("it has schema version {version}, but this belfry needs {needed_version}");
        assert!(error.to_string().contains(&problem), "{error}");
        let diagnosis = Diagnosis::run(&database.database, &options).await.unwrap();
        let versions = (diagnosis.schema_version, diagnosis.supported_schema_version);
        assert_eq!(versions, (Some(version), needed_version), "{schema:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_not_migrate_an_older_database_on_sqlite() {
    assert_commands_do_not_migrate(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_not_migrate_an_older_database_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_commands_do_not_migrate(database).await;
}

/// Writes the statements of this release to `statements/`, from recordings of the conformance list
/// in the directory `BELFRY_RECORD`. Does nothing if the variable is not set. Shorter cases come
/// first; a case is skipped if all its statements are already recorded.
#[tokio::test]
#[ignore = "part of a release, see CONTRIBUTING.md"]
async fn collect_recorded_statements() {
    let Some(recordings) = std::env::var_os("BELFRY_RECORD") else { return };
    let mut cases: Vec<RecordedCase> = fs::read_dir(recordings)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let batches = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let case = path.file_name().unwrap().to_str().unwrap().replace('.', "::");
            RecordedCase { case, batches }
        })
        .filter(|case| case.case.starts_with("sqlite::"))
        .collect();
    cases.sort_by_key(|case| (case.batches.len(), case.case.clone()));
    let mut all_sql = BTreeSet::new();
    let mut lines = String::new();
    for case in cases {
        let case_sql: BTreeSet<String> =
            case_statements(&case).map(|statement| statement.sql.clone()).collect();
        let database = TestDatabase::sqlite();
        // Skipped if a replay differs: results of concurrent cases depend on timing.
        if case_sql.is_subset(&all_sql) || replay_case(&database.open().await, &case).await.is_err()
        {
            continue;
        }
        all_sql.extend(case_sql);
        lines += &(serde_json::to_string(&case).unwrap() + "\n");
    }
    assert!(!all_sql.is_empty(), "nothing was recorded");
    let number = newest_version();
    fs::create_dir_all(statements_dir()).unwrap();
    fs::write(statements_dir().join(format!("{number:04}.jsonl")), lines).unwrap();
    println!("{} statements of schema version {number}", all_sql.len());
}
