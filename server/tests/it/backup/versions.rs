//! Backups from other schema versions. These tests compute the checksums from the definition of the
//! format, without the code under test.

use std::path::Path;

use belfry_store::{Backup, BackupError, RestoredTokens};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use super::rows::{fill_tables, read_rows};
use super::{back_up, restore, try_restore_with};
use crate::support::TestDatabase;
use belfry_store::test_support::{next_release_options, open_as_next_release, options};

/// The column that the next release adds to each table, as it appears in a row.
const ADDED_COLUMN: &str = "\"added\":\"next\"";

/// Replaces the checksums of a backup with those of its current rows and manifest.
fn update_checksums(file: &Path) {
    let connection = Connection::open(file).unwrap();
    let tables = select_strings(
        &connection,
        "select name from sqlite_schema where type = 'table' and name not like 'backup%' \
         and name not like 'sqlite_%' order by name",
    );
    connection.execute("delete from backup_tables", []).unwrap();
    for table in tables {
        let (rows, checksum) = count_and_checksum(&connection, &table);
        connection
            .execute("insert into backup_tables values (?, ?, ?)", (&table, rows, checksum))
            .unwrap();
    }
    let mut manifest = select_strings(
        &connection,
        "select format || ' ' || schema_version || ' ' || belfry_version || ' ' || created_at \
         || char(10) from backup",
    );
    manifest.extend(select_strings(
        &connection,
        "select name || ' ' || rows || ' ' || checksum || char(10) from backup_tables order by 1",
    ));
    let checksum = to_hex(&Sha256::digest(manifest.concat()));
    connection.execute("update backup set checksum = ?", [checksum]).unwrap();
}

/// Returns the number of rows, and the sum of the SHA-256 digests of all rows modulo 2^256.
fn count_and_checksum(connection: &Connection, table: &str) -> (i64, String) {
    let mut select = connection.prepare(&format!("select * from {table}")).unwrap();
    let column_count = select.column_count();
    let mut rows = select.query([]).unwrap();
    let mut count = 0;
    let mut sum = [0_u8; 32];
    while let Some(row) = rows.next().unwrap() {
        let mut input = Vec::new();
        for column in 0..column_count {
            match row.get_ref(column).unwrap() {
                ValueRef::Null => input.push(0),
                ValueRef::Integer(integer) => {
                    input.push(1);
                    input.extend(integer.to_be_bytes());
                }
                other => {
                    let text = other.as_str().unwrap();
                    input.push(2);
                    input.extend((text.len() as u64).to_be_bytes());
                    input.extend(text.as_bytes());
                }
            }
        }
        let mut carry = 0;
        for (byte, summand) in sum.iter_mut().zip(Sha256::digest(input)).rev() {
            let total = u16::from(*byte) + u16::from(summand) + carry;
            *byte = total.to_be_bytes()[1];
            carry = total >> 8;
        }
        count += 1;
    }
    (count, to_hex(&sum))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn select_strings(connection: &Connection, query: &str) -> Vec<String> {
    let mut select = connection.prepare(query).unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn change_backup(file: &Path, sql: &str) {
    Connection::open(file).unwrap().execute_batch(sql).unwrap();
    update_checksums(file);
}

/// The functions above define the checksum format. Changing the format makes existing backups
/// unreadable.
#[tokio::test]
async fn a_backup_in_the_defined_format_is_restored() {
    let source = TestDatabase::sqlite();
    let target = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let manifest = back_up(&source, &file).await;
    change_backup(&file, "update accounts set name = 'ali' || 'ce' where rowid = 1");
    assert_ne!(*Backup::open(&file, &options()).unwrap().manifest(), manifest);
    restore(&file, &target).await;
    assert!(
        read_rows(&target).await["accounts"].iter().any(|row| row.contains("\"name\":\"alice\""))
    );
}

#[tokio::test]
async fn a_backup_from_a_newer_version_is_rejected() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    for (field, sql) in [
        ("format", "update backup set format = 999, belfry_version = '9.8.7'"),
        ("schema version", "update backup set schema_version = 999, belfry_version = '9.8.7'"),
    ] {
        let file = dir.path().join(field);
        back_up(&source, &file).await;
        change_backup(&file, sql);
        let error = Backup::open(&file, &options()).err().unwrap();
        assert!(matches!(error, BackupError::Newer { found: 999, .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(field) && message.contains("belfry 9.8.7"), "{message}");
    }
}

/// Pre-releases had different tables.
#[tokio::test]
async fn a_backup_from_a_pre_release_is_rejected() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    for version in [1, 4, 11] {
        let file = dir.path().join(version.to_string());
        back_up(&source, &file).await;
        change_backup(&file, &format!("update backup set schema_version = {version}"));
        let error = Backup::open(&file, &options()).err().unwrap();
        assert!(matches!(error, BackupError::PreRelease { found, .. } if found == version));
        let message = error.to_string();
        let reason =
            format!("was written by a pre-release of belfry (0.1.0, schema version {version})");
        assert!(message.contains(&reason) && message.contains("export what you need"), "{message}");
    }
}

/// The next release restores the backups of this one.
async fn assert_a_backup_from_an_older_version_is_migrated(target: TestDatabase) {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    back_up(&source, &file).await;
    // An empty database with the newest schema does not prevent the restore.
    drop(open_as_next_release(&target).await);

    let tokens = RestoredTokens::Keep;
    try_restore_with(&next_release_options(), &file, &target.database, tokens).await.unwrap();

    let before = read_rows(&source).await;
    let mut after = read_rows(&target).await;
    assert_eq!(after.remove("notes"), Some(Vec::new()));
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (table, rows) in after {
        assert_eq!(rows.len(), before[&table].len(), "{table}");
        assert!(rows.iter().all(|row| row.contains(ADDED_COLUMN)), "{table}: {rows:?}");
    }
    open_as_next_release(&target).await.ping().await.unwrap();
}

#[tokio::test]
async fn a_backup_from_an_older_version_is_migrated_on_sqlite() {
    assert_a_backup_from_an_older_version_is_migrated(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_backup_from_an_older_version_is_migrated_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_a_backup_from_an_older_version_is_migrated(database).await;
    }
}
