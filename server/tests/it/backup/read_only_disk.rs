//! Commands on a read-only disk, as after a disk error, when a backup is needed most.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::ServerProcess;
use crate::support::process::{belfry_command, run_successfully};

/// Runs a command while the directory `data` is mounted read-only. Returns `None` if
/// mounting is not permitted.
fn run_read_only(dir: &Path, arguments: &[&str]) -> Option<Output> {
    let script = "mount --bind data data && mount -o remount,bind,ro data || exit 77; exec \"$@\"";
    let mut command = Command::new("unshare");
    let belfry = belfry_command(dir, arguments);
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(belfry.get_program());
    let output = command.args(belfry.get_args()).current_dir(dir).output().unwrap();
    let is_mounted = output.status.code() != Some(77)
        && !String::from_utf8_lossy(&output.stderr).starts_with("unshare:");
    if !is_mounted {
        eprintln!("not allowed to mount: {}", String::from_utf8_lossy(&output.stderr));
    }
    is_mounted.then_some(output)
}

/// Restores a backup and returns the names of its accounts.
fn restore_and_list_accounts(dir: &Path, file: &str) -> Vec<String> {
    let data_dir = format!("restored-{file}");
    run_successfully(dir, &["restore", file, "--data", &data_dir]);
    let output = run_successfully(dir, &["account", "list", "--data", &data_dir]);
    output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// A killed server leaves writes in the WAL, and the file `-shm`, which a copy of the data may
/// lack. A stopped server leaves neither.
#[test]
fn a_backup_from_a_read_only_disk_has_every_acknowledged_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    run_successfully(path, &["account", "add", "alice"]);
    let database_file_exists =
        |suffix: &str| path.join(format!("data/belfry.db-{suffix}")).exists();
    let back_up = |file: &str| {
        let output = run_read_only(path, &["backup", file])?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        assert!(message.contains("is on a read-only file system"), "{message}");
        Some(restore_and_list_accounts(path, file))
    };
    assert!(!database_file_exists("wal"));
    let Some(names) = back_up("stopped.db") else { return };
    assert_eq!(names, ["alice"]);

    let mut server = ServerProcess::start(path, &[]);
    run_successfully(path, &["account", "add", "bob"]);
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    assert!(database_file_exists("wal") && database_file_exists("shm"));
    assert_eq!(back_up("killed.db").unwrap(), ["alice", "bob"]);

    fs::remove_file(path.join("data/belfry.db-shm")).unwrap();
    assert_eq!(back_up("copied.db").unwrap(), ["alice", "bob"]);
    let output = run_read_only(path, &["account", "list"]).unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("bob\t"));
    assert!(database_file_exists("wal") && !database_file_exists("shm"));
}

#[test]
fn errors_name_the_read_only_disk_and_not_the_file_owner() {
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "alice"]);
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    for arguments in [&["account", "add", "bob"][..], &["account", "disable", "alice"], &serve] {
        let Some(output) = run_read_only(dir.path(), arguments) else { return };
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("is on a read-only file system"), "{message}");
        assert!(!message.contains("belongs to") && !message.contains("chown"), "{message}");
    }
}
