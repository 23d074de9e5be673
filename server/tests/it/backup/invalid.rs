//! Backup files and databases that a restore rejects, and targets that a backup does not overwrite:
//! nothing is changed. Also similar cases that are accepted, such as an empty target.

use std::fs;
use std::path::{Path, PathBuf};

use belfry_store::test::options;
use belfry_store::{Backup, BackupError, Database, ExistingFile, RestoredTokens, create_backup};

use tempfile::TempDir;

use super::load::new_account;
use super::rows::{connect_postgres, fill_tables, read_rows, read_sqlite_rows};
use super::{back_up, now, restore, try_restore};
use crate::support::{TestDatabase, any_events};

/// Returns a database with rows of all kinds, and the directory and path of its backup.
async fn create_filled_backup() -> (TestDatabase, TempDir, PathBuf) {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    back_up(&source, &file).await;
    (source, dir, file)
}

/// Restores into a new SQLite database. Asserts that a failed restore does not even create the
/// database's directory.
async fn restore_into_new(file: &Path) -> Result<TestDatabase, BackupError> {
    let target = TestDatabase::sqlite();
    let outcome = try_restore(file, &target.database, RestoredTokens::Keep).await;
    let Database::Sqlite(path) = &target.database else { panic!("not SQLite") };
    assert_eq!(path.parent().unwrap().exists(), outcome.is_ok());
    outcome.map(|()| target)
}

#[tokio::test]
async fn a_truncated_or_changed_backup_is_rejected() {
    let (_source, dir, file) = create_filled_backup().await;
    let bytes = fs::read(&file).unwrap();
    let changed_file = dir.path().join("changed");
    let assert_rejected = async |case: &str| {
        let error = restore_into_new(&changed_file).await.err().unwrap_or_else(|| panic!("{case}"));
        assert!(
            matches!(error, BackupError::Damaged { .. } | BackupError::NotABackup(_)),
            "{case}: {error}"
        );
    };
    for length in [0, 1, 99, 4096, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&changed_file, &bytes[..length]).unwrap();
        assert_rejected(&format!("{length} bytes")).await;
    }
    fs::copy(dir.path().join("backup.sha256"), dir.path().join("changed.sha256")).unwrap();
    for position in [bytes.len() / 3, bytes.len() - 1] {
        let mut copy = bytes.clone();
        copy[position] ^= 0x20;
        fs::write(&changed_file, copy).unwrap();
        assert_rejected(&format!("byte {position}")).await;
    }
    fs::write(&changed_file, &bytes).unwrap();
    restore_into_new(&changed_file).await.unwrap();
}

/// The digest is only compared if its file is there, so these changes are found without it.
#[tokio::test]
async fn a_backup_whose_tables_or_rows_differ_from_its_manifest_is_rejected() {
    let (_source, dir, file) = create_filled_backup().await;
    let changed_file = dir.path().join("changed");
    for change in [
        "delete from tokens where rowid = 2",
        "insert into audit_events select * from audit_events where rowid = 1",
        "update backup_tables set rows = rows + 1",
        "delete from backup",
        "delete from backup_tables where name = 'tokens'",
        "drop table tokens",
        "alter table tokens drop column digest",
        "update backup set format = 0",
        "update backup set schema_version = -1",
    ] {
        fs::copy(&file, &changed_file).unwrap();
        rusqlite::Connection::open(&changed_file).unwrap().execute_batch(change).unwrap();
        let target = TestDatabase::sqlite();
        let outcome = try_restore(&changed_file, &target.database, RestoredTokens::Keep).await;
        let error = outcome.err().unwrap_or_else(|| panic!("{change}"));
        assert!(
            matches!(
                error,
                BackupError::Damaged { .. }
                    | BackupError::MissingRows { .. }
                    | BackupError::Store(_)
            ),
            "{change}: {error}"
        );
    }
}

#[tokio::test]
async fn a_backup_from_a_newer_version_or_a_pre_release_is_rejected() {
    let (_source, dir, file) = create_filled_backup().await;
    let changed_file = dir.path().join("changed");
    for (change, texts) in [
        ("format = 999", ["has format 999", "belfry 9.8.7"]),
        ("schema_version = 999", ["has schema version 999", "belfry 9.8.7"]),
        ("schema_version = 11", ["by a pre-release of belfry (9.8.7, schema", "export what you"]),
    ] {
        fs::copy(&file, &changed_file).unwrap();
        let update = format!("update backup set belfry_version = '9.8.7', {change}");
        rusqlite::Connection::open(&changed_file).unwrap().execute_batch(&update).unwrap();
        let error = Backup::open(&changed_file).err().unwrap().to_string();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_backup_is_rejected() {
    let database = TestDatabase::sqlite();
    fill_tables(&database).await;
    let Database::Sqlite(database_file) = &database.database else { panic!("not SQLite") };
    let dir = tempfile::tempdir().unwrap();
    let [text_file, empty_file, other_database] =
        ["text", "empty", "other"].map(|name| dir.path().join(name));
    fs::write(&text_file, "not a database, but long enough to look like one ".repeat(100)).unwrap();
    fs::write(&empty_file, "").unwrap();
    rusqlite::Connection::open(&other_database)
        .unwrap()
        .execute_batch("create table t (a)")
        .unwrap();
    for file in [&text_file, &empty_file, &other_database, database_file] {
        let error = restore_into_new(file).await.err().unwrap();
        assert!(matches!(error, BackupError::NotABackup(_)), "{error}");
        let expected = format!("{} was not written by belfry backup", file.display());
        assert_eq!(error.to_string(), expected);
    }
    let missing_file = dir.path().join("missing");
    let error = restore_into_new(&missing_file).await.err().unwrap().to_string();
    assert_eq!(
        error,
        format!("cannot read {}: No such file or directory (os error 2)", missing_file.display())
    );
    let error = Backup::open(dir.path()).err().unwrap().to_string();
    assert!(error.starts_with(&format!("cannot read {}", dir.path().display())), "{error}");
}

async fn assert_nothing_is_restored_into_a_database_with_rows(target: TestDatabase) {
    let (_source, _dir, file) = create_filled_backup().await;
    let store = target.open().await;
    store.release_name("nobody").await.unwrap();
    store.add_account(&any_events(), &new_account(5)).await.unwrap();
    drop(store);
    let before = read_rows(&target).await;

    let outcome = try_restore(&file, &target.database, RestoredTokens::Keep).await;

    let error = outcome.unwrap_err();
    assert!(
        matches!(&error, BackupError::NotEmpty { table, .. } if table == "accounts"),
        "{error}"
    );
    assert!(error.to_string().contains("choose a different --data or --database"), "{error}");
    assert_eq!(read_rows(&target).await, before);
    assert!(target.open().await.account(5).await.unwrap().is_some());
}

#[tokio::test]
async fn nothing_is_restored_into_a_sqlite_database_with_rows() {
    assert_nothing_is_restored_into_a_database_with_rows(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn nothing_is_restored_into_a_postgres_database_with_rows() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_nothing_is_restored_into_a_database_with_rows(database).await;
    }
}

async fn assert_a_backup_is_restored_into_an_empty_database(target: TestDatabase) {
    let (source, _dir, file) = create_filled_backup().await;
    let store = target.open().await;
    // As a server does when it starts.
    store.sweep(&belfry_store::RetentionSettings::default(), now()).await.unwrap();
    drop(store);

    restore(&file, &target).await;

    assert_eq!(read_rows(&target).await, read_rows(&source).await);
    target.open().await.ping().await.unwrap();
}

#[tokio::test]
async fn a_backup_is_restored_into_an_empty_sqlite_database() {
    assert_a_backup_is_restored_into_an_empty_database(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_backup_is_restored_into_an_empty_postgres_database() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_a_backup_is_restored_into_an_empty_database(database).await;
    }
}

/// Without statistics PostgreSQL would plan the first requests for empty tables.
#[tokio::test]
async fn a_restored_postgres_database_has_statistics() {
    let Some(target) = TestDatabase::postgres().await else { return };
    let (_source, _dir, file) = create_filled_backup().await;
    restore(&file, &target).await;
    let client = connect_postgres(target.url().unwrap()).await;
    let select = "select count(*) from pg_class \
                    where relname in ('accounts', 'tokens', 'rulesets') and reltuples > 0";
    let count: i64 = client.query_one(select, &[]).await.unwrap().get(0);
    assert_eq!(count, 3);
}

/// Tables with the same names may belong to a different application.
#[tokio::test]
async fn another_applications_postgres_database_is_not_changed() {
    let Some(target) = TestDatabase::postgres().await else { return };
    let (_source, _dir, file) = create_filled_backup().await;
    let client = connect_postgres(target.url().unwrap()).await;
    client.batch_execute("create table tokens (secret text)").await.unwrap();

    let error = try_restore(&file, &target.database, RestoredTokens::Keep).await.unwrap_err();

    assert!(error.to_string().contains("\"tokens\" already exists"), "{error}");
    let count_tables =
        "select count(*) from information_schema.tables where table_schema = 'public'";
    let count: i64 = client.query_one(count_tables, &[]).await.unwrap().get(0);
    assert_eq!(count, 1);
}

#[tokio::test]
async fn an_existing_file_is_overwritten_only_if_requested() {
    use std::os::unix::fs::PermissionsExt;
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    fs::write(&file, "precious").unwrap();
    // A killed backup leaves this file.
    fs::write(dir.path().join(".belfry-backup-a1b2c3"), "half").unwrap();
    let create_with = async |existing_file| {
        create_backup(&source.database, &options(), &file, existing_file, now()).await
    };

    let error = create_with(ExistingFile::Reject).await.unwrap_err();

    assert_eq!(
        error.to_string(),
        format!("{} exists; choose a different name, or overwrite it with --force", file.display())
    );
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    create_with(ExistingFile::Replace).await.unwrap();
    let backup_rows = read_sqlite_rows(&rusqlite::Connection::open(&file).unwrap());
    let source_rows = read_rows(&source).await;
    assert!(source_rows.iter().all(|(table, rows)| backup_rows[table] == *rows));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut file_names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    file_names.sort();
    assert_eq!(file_names, ["backup", "backup.sha256"], "no temporary file is left");
    let link_target = dir.path().join("kept");
    fs::rename(&file, &link_target).unwrap();
    std::os::unix::fs::symlink(&link_target, &file).unwrap();
    let error = create_with(ExistingFile::Replace).await.unwrap_err().to_string();
    let expected = format!("{} exists and is not a file; choose a different name", file.display());
    assert_eq!(error, expected, "links and devices are not replaced");
}

/// Other users may be able to write to the directory. They could also create a named pipe there,
/// which would block a backup that opens it.
#[tokio::test]
async fn a_link_named_like_a_killed_backup_is_not_followed() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("target"), "precious").unwrap();
    std::os::unix::fs::symlink(path("target"), path(".belfry-backup-a1b2c3")).unwrap();
    back_up(&source, &path("backup")).await;
    assert!(path(".belfry-backup-a1b2c3").is_symlink());
}

#[tokio::test]
async fn the_database_itself_is_not_overwritten() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let before = read_rows(&source).await;
    let Database::Sqlite(path) = &source.database else { panic!("not SQLite") };
    let link = path.with_file_name("link");
    std::os::unix::fs::symlink(path, &link).unwrap();
    for file in [path, &link] {
        let database = &source.database;
        let existing_file = ExistingFile::Replace;
        let outcome = create_backup(database, &options(), file, existing_file, now()).await;
        assert!(matches!(outcome, Err(BackupError::IsDatabase(_))));
    }
    assert_eq!(read_rows(&source).await, before);
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_reported() {
    let source = TestDatabase::sqlite();
    drop(source.open().await);
    let file = Path::new("/proc/nowhere/backup");
    let existing_file = ExistingFile::Reject;
    let outcome = create_backup(&source.database, &options(), file, existing_file, now()).await;
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("cannot write /proc/nowhere/backup: "), "{error}");
}
