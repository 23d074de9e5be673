//! Commands that only read: they wait for no lock, write nothing, and need no write access.

use std::fs::read_dir;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Workspace;
use crate::support::files::set_mode;
use crate::support::process::unprivileged_belfry;
use crate::support::{ServerProcess, on_both_engines};

const READ_COMMANDS: [&[&str]; 7] = [
    &["account", "list"],
    &["account", "show", "alice"],
    &["app", "list"],
    &["app", "show", "cli:Command line"],
    &["audit"],
    &["audit", "--json"],
    &["explain", "event.json", "--account", "alice"],
];

fn add_alice(workspace: &Workspace) {
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["token", "issue", "alice"]);
    let event = workspace.path().join("event.json");
    std::fs::write(event, r#"{"type":"m.room.message"}"#).unwrap();
}

/// Returns the files of the data directory with their size and modification time.
fn data_files(dir: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut files: Vec<_> = read_dir(dir.join("data"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            (entry.path(), metadata.len(), metadata.modified().unwrap())
        })
        .collect();
    files.sort();
    files
}

/// The writer may be a migration or a restore in another process.
#[test]
fn reading_does_not_wait_for_a_writer_on_sqlite() {
    let workspace = Workspace::sqlite();
    add_alice(&workspace);
    let writer = rusqlite::Connection::open(workspace.path().join("data/belfry.db")).unwrap();
    writer.execute_batch("begin immediate; delete from accounts").unwrap();
    for arguments in READ_COMMANDS {
        let output = workspace.run(arguments);
        assert!(!output.is_empty(), "{arguments:?}");
    }
    writer.execute_batch("rollback").unwrap();
}

/// The migration lock is taken, and PostgreSQL rejects writes.
#[tokio::test(flavor = "multi_thread")]
async fn reading_does_not_wait_for_a_writer_on_postgres() {
    let Some(workspace) = Workspace::postgres().await else { return };
    add_alice(&workspace);
    let url = workspace.flags()[1].to_owned();
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let row = client.query_one("select current_database()", &[]).await.unwrap();
    let name: &str = row.get(0);
    let set_read_only = format!("alter database {name} set default_transaction_read_only = on");
    client.batch_execute(&set_read_only).await.unwrap();
    client.batch_execute("select pg_advisory_lock(108170537071225)").await.unwrap();
    for arguments in READ_COMMANDS {
        assert!(!workspace.run(arguments).is_empty(), "{arguments:?}");
    }
}

#[test]
fn reading_leaves_the_files_unchanged() {
    let workspace = Workspace::sqlite();
    add_alice(&workspace);
    let files_before = data_files(workspace.path());
    for arguments in READ_COMMANDS {
        workspace.run(arguments);
        assert_eq!(data_files(workspace.path()), files_before, "{arguments:?}");
    }
}

/// An operator may read a copy of the data that belongs to another user. If a group may write to
/// the directory, files that SQLite creates there would belong to the reader, and the server could
/// not write them.
#[test]
fn reading_needs_no_write_access_and_creates_no_files() {
    let workspace = Workspace::sqlite();
    add_alice(&workspace);
    let data_dir = workspace.path().join("data");
    set_mode(workspace.path(), 0o755);
    set_mode(&data_dir.join("belfry.db"), 0o444);
    for mode in [0o555, 0o777] {
        set_mode(&data_dir, mode);
        let files_before = data_files(workspace.path());
        let run_unprivileged =
            |arguments: &[&str]| unprivileged_belfry(workspace.path(), arguments).output().unwrap();
        for arguments in READ_COMMANDS {
            let output = run_unprivileged(arguments);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && !output.stdout.is_empty(),
                "{arguments:?}: {message}"
            );
            assert_eq!(data_files(workspace.path()), files_before, "{arguments:?}");
        }
        let output = run_unprivileged(&["account", "disable", "alice"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("belfry.db: permission denied"), "{message}");
    }
    set_mode(&data_dir, 0o755);
}

/// On SQLite the write may still be in the WAL.
async fn reading_sees_the_last_write_while_a_server_runs(workspace: Workspace) {
    add_alice(&workspace);
    let _server = ServerProcess::start(workspace.path(), &workspace.flags());
    for name in ["bob", "carol"] {
        workspace.run(&["account", "add", name]);
        let output = workspace.run(&["account", "list", "--name", name]);
        assert!(output.starts_with(&format!("{name}\t")), "{output}");
    }
}

on_both_engines! {
    crate::commands::create_workspace:
    reading_sees_the_last_write_while_a_server_runs,
}
