//! Rows are restored unchanged, even on the other engine, except that a restore postpones the
//! deletion of accounts and can revoke tokens.

use std::collections::BTreeMap;

use belfry_store::{Database, RestoredTokens};
use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};

use super::{back_up, restore, try_restore};
use crate::support::TestDatabase;

/// All rows of each table as JSON, sorted.
pub(super) type Rows = BTreeMap<String, Vec<String>>;

/// Tables that a backup does not contain.
const VOLATILE_TABLES: [&str; 9] = [
    "deliveries",
    "delivery_totals",
    "lanes",
    "locks",
    "messages",
    "migrations",
    "requests",
    "sign_ins",
    "sweeps",
];

/// Strings that must be stored unchanged: scripts, quotes, whitespace, and strings with a meaning
/// in file formats.
const STRINGS: [&str; 12] = [
    "",
    " ",
    "null",
    "\\N",
    "a\tb\r\nc",
    "'\"`\\\\",
    "\u{1}\u{7f}",
    "日本語 العربية e\u{301} é",
    "👩\u{200d}👩\u{200d}👧 \u{10ffff}",
    "{\"a\":[1,2]}",
    "0",
    "%s ; drop table accounts --",
];

const INTEGERS: [i64; 12] = [
    i64::MIN,
    i64::MAX,
    0,
    -1,
    1,
    1_800_000_000,
    i64::MIN + 1,
    i64::MAX - 1,
    i32::MAX as i64 + 1,
    -4_294_967_296,
    255,
    1 << 53,
];

const LATEST_TIME: i64 = 253_402_207_200;

pub(super) fn connect_sqlite(database: &Database) -> rusqlite::Connection {
    let Database::Sqlite(path) = database else { panic!("not SQLite") };
    rusqlite::Connection::open(path).unwrap()
}

/// Fills every table that a backup contains with rows of unusual text and numbers, unknown names,
/// and nulls where they are allowed.
pub(super) async fn fill_tables(database: &TestDatabase) {
    drop(database.open().await);
    let connection = connect_sqlite(&database.database);
    for table in backup_tables(&connection) {
        let mut columns = connection.prepare(&format!("pragma table_info({table})")).unwrap();
        let columns: Vec<(String, bool)> = columns
            .query_map([], |row| Ok((row.get(2)?, row.get(3)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let parameters = vec!["?"; columns.len()].join(", ");
        let insert = format!("insert into {table} values ({parameters})");
        for number in 0..STRINGS.len() {
            let values = columns.iter().map(|(column_type, not_null)| {
                if !not_null && number % 3 == 1 {
                    rusqlite::types::Value::Null
                } else if column_type == "TEXT" {
                    STRINGS[number].to_owned().into()
                } else {
                    INTEGERS[number].into()
                }
            });
            connection.execute(&insert, rusqlite::params_from_iter(values)).unwrap();
        }
    }
    // A restore would postpone earlier deletions.
    let update = "update accounts set delete_at = ? where delete_at is not null";
    connection.execute(update, [LATEST_TIME]).unwrap();
    // A backup contains no deliveries, so a restored receiver waits for none.
    let update =
        "update receivers set waiting = 0, due_at = null, claim = null, lease_until = null";
    connection.execute(update, []).unwrap();
}

fn backup_tables(connection: &rusqlite::Connection) -> Vec<String> {
    let select = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'";
    let mut select = connection.prepare(select).unwrap();
    let tables = select.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    tables.filter(|table| !VOLATILE_TABLES.contains(&&**table)).collect()
}

/// Returns all rows of the tables that a backup contains, except the audit events of backups and
/// restores.
pub(super) async fn read_rows(database: &TestDatabase) -> Rows {
    match &database.database {
        Database::Sqlite(_) => read_sqlite_rows(&connect_sqlite(&database.database)),
        Database::Postgres(url) => read_postgres_rows(url.reveal()).await,
    }
}

/// Reads the rows without the code under test.
pub(super) fn read_sqlite_rows(connection: &rusqlite::Connection) -> Rows {
    let mut rows_by_table = Rows::new();
    for table in backup_tables(connection) {
        let mut select = connection.prepare(&format!("select * from {table}")).unwrap();
        let column_names: Vec<String> = select.column_names().map(str::to_owned).collect();
        let mut rows = select.query([]).unwrap();
        let mut json_rows = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let to_json = |index| match row.get_ref(index).unwrap() {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(integer) => json!(integer),
                other => json!(other.as_str().unwrap()),
            };
            let row: Map<String, Value> = column_names
                .iter()
                .cloned()
                .enumerate()
                .map(|(i, name)| (name, to_json(i)))
                .collect();
            json_rows.push(row);
        }
        rows_by_table.insert(table, to_sorted_json(json_rows));
    }
    rows_by_table
}

async fn read_postgres_rows(url: &str) -> Rows {
    let client = connect_postgres(url).await;
    let select = "select table_name::text from information_schema.tables \
                  where table_schema = 'public'";
    let mut rows_by_table = Rows::new();
    for table in client.query(select, &[]).await.unwrap() {
        let table: String = table.get(0);
        if !VOLATILE_TABLES.contains(&&*table) {
            let select = format!("select to_json(t)::text from {table} t");
            let rows = client.query(&select, &[]).await.unwrap();
            let rows = rows.iter().map(|row| serde_json::from_str(row.get::<_, &str>(0)).unwrap());
            rows_by_table.insert(table, to_sorted_json(rows.collect()));
        }
    }
    rows_by_table
}

pub(super) async fn connect_postgres(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the rows as sorted JSON strings, without the audit events of backups and restores.
fn to_sorted_json(rows: Vec<Map<String, Value>>) -> Vec<String> {
    let is_compared = |row: &Map<String, Value>| {
        let kind = row.get("kind").and_then(Value::as_str);
        !matches!(kind, Some("backup" | "restore"))
    };
    let mut rows_as_text: Vec<String> =
        rows.into_iter().filter(is_compared).map(|row| Value::from(row).to_string()).collect();
    rows_as_text.sort();
    rows_as_text
}

#[tokio::test]
async fn a_restored_sqlite_database_has_every_row() {
    let source = TestDatabase::sqlite();
    let target = TestDatabase::sqlite();
    fill_tables(&source).await;
    let expected = read_rows(&source).await;
    assert!(expected.len() >= 8 && expected.values().all(|rows| rows.len() == STRINGS.len()));
    let dir = tempfile::tempdir().unwrap();
    let manifest = back_up(&source, &dir.path().join("backup")).await;
    assert_eq!(manifest.row_count(), (expected.len() * STRINGS.len()) as u64);

    restore(&dir.path().join("backup"), &target).await;

    assert_eq!(read_rows(&target).await, expected);
    let integrity: String = connect_sqlite(&target.database)
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
    assert_eq!(
        schema_statements(&target),
        schema_statements(&source),
        "indexes and constraints are the same"
    );
}

/// The owner may have cancelled the deletion after the backup.
#[tokio::test]
async fn a_restore_postpones_the_deletion_of_accounts() {
    let source = TestDatabase::sqlite();
    let target = TestDatabase::sqlite();
    drop(source.open().await);
    let restored_at = super::now().as_second();
    let day = 86_400;
    for (id, delete_at) in [(1, restored_at - 7 * day), (2, restored_at + 2 * day)] {
        let insert = "insert into accounts (id, name, password, created_at, delete_at) \
                      values (?1, 'user_' || ?1, '-', 1, ?2)";
        connect_sqlite(&source.database).execute(insert, [id, delete_at]).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    back_up(&source, &dir.path().join("backup")).await;
    restore(&dir.path().join("backup"), &target).await;
    let store = target.open().await;
    for (id, delete_at) in [(1, restored_at + day), (2, restored_at + 2 * day)] {
        let account = store.account(id).await.unwrap().unwrap();
        assert_eq!(account.delete_at.map(jiff::Timestamp::as_second), Some(delete_at), "{id}");
    }
}

/// Returns the statements that created the tables and indexes.
fn schema_statements(database: &TestDatabase) -> Vec<Option<String>> {
    let connection = connect_sqlite(&database.database);
    let mut select = connection.prepare("select sql from sqlite_schema order by name").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn rows_moved_to_postgres_and_back_are_unchanged() {
    let Some(postgres) = TestDatabase::postgres().await else { return };
    let source = TestDatabase::sqlite();
    let target = TestDatabase::sqlite();
    fill_tables(&source).await;
    let expected = read_rows(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let [sqlite_backup, postgres_backup] = ["sqlite", "postgres"].map(|name| dir.path().join(name));

    let sqlite_manifest = back_up(&source, &sqlite_backup).await;
    restore(&sqlite_backup, &postgres).await;
    assert_eq!(read_rows(&postgres).await, expected);
    // The restore has added an audit event.
    let delete_event = "delete from audit_events where kind = 'restore'";
    connect_postgres(postgres.url().unwrap()).await.batch_execute(delete_event).await.unwrap();
    let postgres_manifest = back_up(&postgres, &postgres_backup).await;
    restore(&postgres_backup, &target).await;

    assert_eq!(read_rows(&target).await, expected);
    let mut manifest_tables = [sqlite_manifest.tables, postgres_manifest.tables];
    for tables in &mut manifest_tables {
        tables.sort_by(|a, b| a.name.cmp(&b.name));
    }
    assert_eq!(
        manifest_tables[0], manifest_tables[1],
        "the manifest does not depend on the engine"
    );
}

/// A backup's tables and columns are derived from SQLite's migrations.
#[tokio::test]
async fn both_engines_have_the_same_tables_and_columns() {
    let Some(postgres) = TestDatabase::postgres().await else { return };
    let sqlite = TestDatabase::sqlite();
    drop((sqlite.open().await, postgres.open().await));
    let select = "select table_name::text, column_name::text, data_type::text \
                  from information_schema.columns where table_schema = 'public'";
    let postgres_columns =
        connect_postgres(postgres.url().unwrap()).await.query(select, &[]).await.unwrap();
    let mut postgres_columns: Vec<[String; 3]> =
        postgres_columns.iter().map(|row| [row.get(0), row.get(1), row.get(2)]).collect();
    let select = "select s.name, c.name, c.type from sqlite_schema s \
                  join pragma_table_info(s.name) c where s.type = 'table'";
    let connection = connect_sqlite(&sqlite.database);
    let mut select = connection.prepare(select).unwrap();
    let mut sqlite_columns: Vec<[String; 3]> = select
        .query_map([], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get::<_, String>(2)?.to_lowercase()])
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    postgres_columns.sort();
    sqlite_columns.sort();
    assert_eq!(sqlite_columns, postgres_columns);
}

/// By default, tokens that were revoked after the backup are valid again.
async fn assert_a_restore_can_revoke_all_tokens(target: TestDatabase) {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    back_up(&source, &file).await;

    try_restore(&file, &target.database, RestoredTokens::Revoke).await.unwrap();

    let rows = read_rows(&target).await;
    assert_eq!((rows["sessions"].len(), rows["codes"].len()), (0, 0));
    assert_eq!((rows["tokens"].len(), rows["accounts"].len()), (STRINGS.len(), STRINGS.len()));
    assert!(rows["tokens"].iter().all(|token| !token.contains("\"revoked_at\":null")));
    let was_revoked_before = |token: &&String| !token.contains("\"revoked_at\":1800000000,");
    assert!(
        rows["tokens"].iter().filter(was_revoked_before).count() > 1,
        "earlier revocations keep their time"
    );
}

#[tokio::test]
async fn a_restore_can_revoke_all_tokens_on_sqlite() {
    assert_a_restore_can_revoke_all_tokens(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_restore_can_revoke_all_tokens_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_a_restore_can_revoke_all_tokens(database).await;
    }
}
