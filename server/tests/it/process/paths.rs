//! Paths that cannot be written: the message names the path, and no data is lost.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use crate::support::files::set_mode;
use crate::support::process::{is_root, run_belfry, run_successfully, unprivileged_belfry};

/// Runs a command that must fail, as a user who cannot write to the directory, and returns the
/// error message.
fn run_as_nobody(dir: &Path, arguments: &[&str]) -> String {
    let output = unprivileged_belfry(dir, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_read_only_data_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o755);
    let data_dir = dir.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    set_mode(&data_dir, 0o555);
    for arguments in [["serve", "--listen", "127.0.0.1:0"], ["account", "add", "alice"]] {
        let message = run_as_nobody(dir.path(), &arguments);
        assert!(message.contains("cannot open the database data/belfry.db"), "{message}");
        assert!(message.contains("permission denied: "), "{message}");
        if is_root() {
            assert!(message.contains("(uid 65534)"), "{message}");
        }
    }
    set_mode(&data_dir, 0o755);
}

#[test]
fn a_data_directory_that_cannot_be_created_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o555);
    for arguments in [["serve", "--listen", "127.0.0.1:0"], ["account", "add", "alice"]] {
        let message = run_as_nobody(dir.path(), &arguments);
        assert!(message.contains("cannot open the database data/belfry.db"), "{message}");
        let dir = dir.path().display();
        assert!(message.contains(&format!("permission denied: {dir} belongs to")), "{message}");
    }
    set_mode(dir.path(), 0o755);
}

#[test]
fn a_file_in_place_of_the_data_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("data.db"), "").unwrap();
    for arguments in [&["serve"][..], &["account", "list"], &["config", "check"]] {
        let output = run_belfry(dir.path(), &[arguments, &["--data", "data.db"]].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = "belfry: data: data.db is a file: name a directory (--data)\n";
        assert_eq!(message, expected, "{arguments:?}");
    }
}

#[test]
fn a_read_only_database_is_reported_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o755);
    run_successfully(dir.path(), &["account", "add", "alice"]);
    let data_dir = dir.path().join("data");
    for file in fs::read_dir(&data_dir).unwrap() {
        let file = file.unwrap().path();
        set_mode(&file, 0o444);
        if is_root() {
            chown(&file, Some(0), Some(0)).unwrap();
        }
    }
    set_mode(&data_dir, 0o555);
    let message = run_as_nobody(dir.path(), &["account", "add", "bob"]);
    assert!(message.contains("data/belfry.db"), "{message}");
    set_mode(&data_dir, 0o755);
    for file in fs::read_dir(&data_dir).unwrap() {
        set_mode(&file.unwrap().path(), 0o644);
    }
    assert!(run_successfully(dir.path(), &["account", "list"]).starts_with("alice\t"));
}

/// A full disk, simulated by a limit on the size of files. Acknowledged writes are preserved,
/// failed ones are reported, and writes succeed again when there is space.
#[test]
fn a_full_disk_is_reported_and_acknowledged_writes_are_preserved() {
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "before"]);
    let binary = env!("CARGO_BIN_EXE_belfry");
    let script = format!(
        "trap '' XFSZ; ulimit -f $(( $(stat -c %s data/belfry.db) / 1024 + 8 )); \
         for n in $(seq 200); do {binary} account add full$n || exit 9; echo added$n; done"
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(dir.path())
        .env("BELFRY_DATA", "data")
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(9), "the disk was never full: {message}");
    assert!(message.contains("data/belfry.db"), "{message}");

    let list = run_successfully(dir.path(), &["account", "list"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split('\t').next()).collect();
    let stdout = String::from_utf8(output.stdout).unwrap();
    for number in stdout.lines().filter_map(|line| line.strip_prefix("added")) {
        assert!(names.contains(&format!("full{number}").as_str()), "full{number} is lost");
    }
    assert!(names.contains(&"before"));
    run_successfully(dir.path(), &["account", "add", "after"]);
    assert!(run_belfry(dir.path(), &["account", "list"]).status.success());
}
