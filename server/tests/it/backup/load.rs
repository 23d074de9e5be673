//! Backups while other clients write, and backups and restores that outlast statement timeouts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::test::options;
use belfry_store::{Account, ExistingFile, create_backup};
use tokio::task::JoinSet;

use super::now;
use super::rows::{connect_postgres, read_sqlite_rows};
use crate::support::TestDatabase;

const WRITERS: i64 = 64;

/// Accounts that exist when the backup starts.
const ACCOUNTS_BEFORE: i64 = 1100;

pub(super) fn new_account(id: i64) -> Account {
    Account {
        id,
        name: format!("person_{id}"),
        email: None,
        unverified_email: None,
        password_hash: "!".to_owned(),
        role: Role::User,
        created_at: now(),
        signed_in_at: None,
        disabled_at: None,
        delete_at: None,
        credential_version: 0,
    }
}

/// Each writer adds accounts, with an audit event in the same transaction. The backup must
/// contain exactly the events of its accounts, although it reads accounts first and events later.
async fn assert_a_backup_is_consistent_under_load(database: TestDatabase) {
    let store = database.open().await;
    let next_id = Arc::new(AtomicI64::new(1));
    let written_accounts = Arc::new(AtomicI64::new(0));
    let is_stopped = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let store = store.clone();
        let is_stopped = Arc::clone(&is_stopped);
        let next_id = Arc::clone(&next_id);
        let written_accounts = Arc::clone(&written_accounts);
        writers.spawn(async move {
            while !is_stopped.load(Ordering::SeqCst) {
                let entry = NewAuditEvent::for_command(now(), AuditKind::AccountAdd);
                let account = new_account(next_id.fetch_add(1, Ordering::SeqCst));
                store.add_account(&entry.into(), &account).await.unwrap();
                written_accounts.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    while written_accounts.load(Ordering::SeqCst) < ACCOUNTS_BEFORE {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let count_before = written_accounts.load(Ordering::SeqCst);
    let database = &database.database;
    let existing_file = ExistingFile::Reject;
    create_backup(database, &options(), &file, existing_file, now()).await.unwrap();
    let next_id_after = next_id.load(Ordering::SeqCst);
    is_stopped.store(true, Ordering::SeqCst);
    writers.join_all().await;

    let rows = read_sqlite_rows(&rusqlite::Connection::open(&file).unwrap());
    let column_values = |table: &str, column: &str| -> BTreeSet<i64> {
        let rows = rows[table].iter().map(|row| serde_json::from_str(row).unwrap());
        rows.map(|row: serde_json::Value| row[column].as_i64().unwrap()).collect()
    };
    let accounts = column_values("accounts", "id");
    assert_eq!(accounts, column_values("audit_events", "account_id"));
    let count = i64::try_from(accounts.len()).unwrap();
    assert!(
        count_before <= count && count < next_id_after,
        "{count_before} {count} {next_id_after}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_consistent_while_64_clients_write_on_sqlite() {
    assert_a_backup_is_consistent_under_load(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_consistent_while_64_clients_write_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_a_backup_is_consistent_under_load(database).await;
    }
}

/// Copying a large table takes longer than the statement timeout for requests.
#[tokio::test]
async fn statement_timeouts_do_not_end_a_backup_or_restore() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = database.open().await;
    let client = connect_postgres(database.url().unwrap()).await;
    let insert = "insert into accounts (id, name, password, created_at) \
                  select i, 'user_' || i, '!', 1700000000 from generate_series(1, 200000) as i";
    client.batch_execute(insert).await.unwrap();
    let database_name: String =
        client.query_one("select current_database()::text", &[]).await.unwrap().get(0);
    let set_timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"]
        .map(|setting| format!("alter database {database_name} set {setting} = '100ms';"));
    client.batch_execute(&set_timeouts.concat()).await.unwrap();

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let database = &database.database;
    let existing_file = ExistingFile::Reject;
    create_backup(database, &options(), &file, existing_file, now()).await.unwrap();

    drop(store);
    let delete_rows = "delete from accounts; delete from audit_events";
    client.batch_execute(delete_rows).await.unwrap();
    let backup = belfry_store::Backup::open(&file).unwrap();
    let event = NewAuditEvent::for_command(now(), AuditKind::Restore);
    let tokens = belfry_store::RestoredTokens::Keep;
    belfry_store::restore_backup(&backup, database, &options(), tokens, &event).await.unwrap();
    let count: i64 = client.query_one("select count(*) from accounts", &[]).await.unwrap().get(0);
    assert_eq!(count, 200_000);
}
