//! Backup files and databases that a restore rejects, and targets that a backup does not overwrite:
//! nothing is changed. Also similar cases that are accepted, such as an empty target.

use std::fs;
use std::path::{Path, PathBuf};

use belfry_store::test_support::{forge_checksums, forge_manifest, options};
use belfry_store::{Backup, BackupError, Database, ExistingFile, RestoredTokens, create_backup};

use tempfile::TempDir;

use super::load::new_account;
use super::rows::{connect_postgres, connect_sqlite, fill_tables, read_rows, read_sqlite_rows};
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
async fn a_truncated_backup_is_rejected() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let [file, truncated_file] = ["backup", "truncated"].map(|name| dir.path().join(name));
    back_up(&source, &file).await;
    let bytes = fs::read(&file).unwrap();
    let step = bytes.len() / 97;
    for length in (0..bytes.len()).step_by(step).chain(bytes.len() - 16..bytes.len()) {
        fs::write(&truncated_file, &bytes[..length]).unwrap();
        let error = restore_into_new(&truncated_file)
            .await
            .err()
            .unwrap_or_else(|| panic!("{length} bytes"));
        assert!(
            matches!(error, BackupError::Damaged { .. } | BackupError::NotABackup(_)),
            "{length} bytes: {error}"
        );
    }
}

/// A byte that does not belong to any row may change without effect.
#[tokio::test]
async fn a_backup_with_a_changed_byte_is_rejected_or_restored_unchanged() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let expected = read_rows(&source).await;
    let dir = tempfile::tempdir().unwrap();
    let [file, changed_file] = ["backup", "changed"].map(|name| dir.path().join(name));
    back_up(&source, &file).await;
    let bytes = fs::read(&file).unwrap();
    let mut rejections = 0;
    for position in (0..bytes.len()).step_by(307) {
        let mut copy = bytes.clone();
        copy[position] ^= 0x20;
        fs::write(&changed_file, copy).unwrap();
        match restore_into_new(&changed_file).await {
            Ok(target) => assert_eq!(read_rows(&target).await, expected, "byte {position}"),
            Err(_) => rejections += 1,
        }
    }
    assert!(rejections > 0);
}

#[tokio::test]
async fn changed_rows_tables_and_manifests_are_rejected() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let dir = tempfile::tempdir().unwrap();
    for (index, change) in [
        "update accounts set role = 'admin' where rowid = 3",
        "update accounts set email = null where email = ''",
        "update tokens set revoked_at = null where rowid = 1",
        "delete from tokens where rowid = 2",
        "insert into accounts select * from accounts where rowid = 1",
        "update backup_tables set rows = rows + 1",
        "update backup_tables set checksum = (select checksum from backup)",
        "update backup set created_at = 0",
        "update backup set checksum = ''",
        "delete from backup",
        "delete from backup_tables where name = 'tokens'",
        "drop table tokens",
        "alter table tokens drop column digest",
        "update backup set format = 0",
        "update backup set schema_version = 0",
        "update backup set schema_version = -1",
    ]
    .into_iter()
    .enumerate()
    {
        let file = dir.path().join(index.to_string());
        back_up(&source, &file).await;
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(change).unwrap();
        assert!(connection.total_changes() > 0 || !change.starts_with("update"), "{change}");
        drop(connection);
        let error = restore_into_new(&file).await.err().unwrap_or_else(|| panic!("{change}"));
        assert!(matches!(error, BackupError::Damaged { .. }), "{change}: {error}");
    }
}

/// Writes a backup with changed rows and matching checksums.
async fn forge_backup(file: &Path, change: &str) {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    back_up(&source, file).await;
    // The rows are changed in the file, because `belfry backup` refuses to write such rows.
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.execute_batch(change).unwrap();
    forge_checksums(&connection);
}

/// The store could not read these rows, so lists and the requests of their users would fail.
#[tokio::test]
async fn a_backup_with_values_that_cannot_be_read_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let secret = "0".repeat(63);
    for (index, (table, column, value)) in [
        ("accounts", "created_at", "-9223372036854775808"),
        ("accounts", "delete_at", "253402207201"),
        ("accounts", "credential_version", "'x'"),
        ("accounts", "credential_version", "9223372036854775807"),
        ("apps", "secret", &*format!("'{secret}'")),
        ("apps", "redirect_uris", "'[1]'"),
        ("tokens", "lookup", "'A'"),
        ("tokens", "digest", "'x'"),
        ("codes", "binding", "'{\"version\":2}'"),
        ("sessions", "seen_at", "9223372036854775807"),
        ("rulesets", "document", "'{not json'"),
        ("rulesets", "scope", "'devise/x'"),
        ("rulesets", "version", "9223372036854775807"),
        ("audit_events", "at", "'yesterday'"),
        ("grants", "pending_until", "9223372036854775807"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = dir.path().join(index.to_string());
        let change = format!("update {table} set {column} = {value} where rowid = 3");
        forge_backup(&file, &change).await;
        let error =
            restore_into_new(&file).await.err().unwrap_or_else(|| panic!("{change}")).to_string();
        let location = format!("in the row of table {table} with ");
        assert!(error.contains(&format!("unreadable {column} ")), "{change}: {error}");
        assert!(error.contains(&location), "{change}: {error}");
    }
}

/// A view could return endless rows, and a computed column huge values.
#[tokio::test]
async fn a_backup_whose_tables_differ_from_its_schema_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let endless_rows = "(with recursive n (id) as (select 1 union all select id + 1 from n) \
                        select id, null as email from n)";
    for (index, change) in [
        format!("drop table accounts; create view accounts as select * from {endless_rows}"),
        "drop table tokens; create virtual table tokens using fts5 (lookup)".to_owned(),
        "alter table apps rename to a; create table apps as select * from a".to_owned(),
        "alter table grants add column x integer as (length(zeroblob(1000000000)))".to_owned(),
        format!(
            "drop table backup_tables; create view backup_tables as select * from {endless_rows}"
        ),
        "alter table backup add column x integer as (length(zeroblob(1000000000)))".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let file = dir.path().join(index.to_string());
        let source = TestDatabase::sqlite();
        fill_tables(&source).await;
        back_up(&source, &file).await;
        rusqlite::Connection::open(&file).unwrap().execute_batch(&change).unwrap();
        let error =
            restore_into_new(&file).await.err().unwrap_or_else(|| panic!("{change}")).to_string();
        let reason = "its tables are not those of its schema version";
        assert!(error.contains(reason), "{change}: {error}");
    }
}

/// Without this check, database pages that refer to each other could return the same rows
/// endlessly.
#[tokio::test]
async fn a_backup_whose_row_counts_differ_from_its_manifest_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    for (name, change, reason) in [
        ("more", "update backup_tables set rows = 1", "more rows than its manifest says"),
        (
            "too-many",
            "update backup_tables set rows = 9223372036854775807",
            "too small for the rows of its manifest",
        ),
    ] {
        let file = dir.path().join(name);
        let source = TestDatabase::sqlite();
        fill_tables(&source).await;
        back_up(&source, &file).await;
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(change).unwrap();
        forge_manifest(&connection);
        drop(connection);
        let error = restore_into_new(&file).await.err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// The operator gets the error while the database can still be repaired.
#[tokio::test]
async fn a_database_with_a_row_that_cannot_be_read_is_not_backed_up() {
    let source = TestDatabase::sqlite();
    fill_tables(&source).await;
    let change = "update accounts set created_at = -9223372036854775808 where id = 1";
    connect_sqlite(&source.database).execute_batch(change).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let existing_file = ExistingFile::Reject;
    let outcome =
        create_backup(&source.database, &options(), &file, existing_file, now(), None).await;
    let error = outcome.unwrap_err().to_string();
    let reason =
        "unreadable created_at -9223372036854775808 in the row of table accounts with id 1;";
    assert!(error.contains(reason), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn values_that_only_a_different_version_knows_are_reported_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let source = TestDatabase::sqlite();
    drop(source.open().await);
    let insert = "insert into accounts (id, name, password, role, created_at) \
                  values (7, 'eve', '!', 'superadmin\u{1b}', 1)";
    connect_sqlite(&source.database).execute_batch(insert).unwrap();
    back_up(&source, &file).await;
    let backup = Backup::open(&file, &options()).unwrap();
    let unknown_value = "role \"superadmin\\u{1b}\" in the row of table accounts with id 7";
    assert_eq!(backup.verify(&mut |_| {}).unwrap(), [unknown_value]);
    let target = restore_into_new(&file).await.unwrap();
    let account = target.open().await.account(7).await.unwrap().unwrap();
    assert_eq!(account.role, belfry_core::account::Role::User);
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
    let error = Backup::open(dir.path(), &options()).err().unwrap().to_string();
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
        create_backup(&source.database, &options(), &file, existing_file, now(), None).await
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
    let file_names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(file_names, ["backup"], "no temporary file is left");
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
        let outcome = create_backup(database, &options(), file, existing_file, now(), None).await;
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
    let outcome =
        create_backup(&source.database, &options(), file, existing_file, now(), None).await;
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("cannot write /proc/nowhere/backup: "), "{error}");
}

/// Triggers that change the rows of accounts while a restore inserts them.
const CREATE_ROW_CHANGING_TRIGGER: &str = "\
    create function change_row() returns trigger language plpgsql as \
    $$ begin new.password := 'changed'; return new; end $$; \
    create function add_trigger() returns event_trigger language plpgsql as $$ begin \
    if exists (select 1 from pg_event_trigger_ddl_commands() \
    where object_identity = 'public.accounts') then \
    create trigger change_row before insert on accounts for each row \
    execute function change_row(); end if; end $$; \
    create event trigger add_trigger on ddl_command_end when tag in ('CREATE TABLE') \
    execute function add_trigger()";

#[tokio::test]
async fn a_restore_is_not_committed_if_rows_read_back_differ() {
    let Some(target) = TestDatabase::postgres().await else { return };
    let (_source, _dir, file) = create_filled_backup().await;
    let client = connect_postgres(target.url().unwrap()).await;
    client.batch_execute(CREATE_ROW_CHANGING_TRIGGER).await.unwrap();

    let error = try_restore(&file, &target.database, RestoredTokens::Keep).await.unwrap_err();

    assert!(matches!(&error, BackupError::VerificationFailed { table, .. } if table == "accounts"));
    let count_tables =
        "select count(*) from information_schema.tables where table_schema = 'public'";
    let count: i64 = client.query_one(count_tables, &[]).await.unwrap().get(0);
    assert_eq!(count, 0);
}
