//! `belfry doctor`. Most tests damage a working installation first.

mod base_url;
mod certificate;
mod engines;
mod fixture;
mod proxy;
mod server;
mod settings_in_use;

use std::fs::{read_dir, write};
use std::os::unix::fs::chown;
use std::process::Output;

use serde_json::Value;

use super::Workspace;
use crate::support::files::set_mode;
use crate::support::process::belfry_command;

/// The results and exit code of a run.
struct DoctorReport {
    results: Vec<Value>,
    exit_code: Option<i32>,
}

impl DoctorReport {
    fn parse(output: &Output) -> Self {
        let lines = String::from_utf8(output.stdout.clone()).unwrap();
        let parse_line = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{output:?}"));
        Self { results: lines.lines().map(parse_line).collect(), exit_code: output.status.code() }
    }

    /// Returns the results of a check, each as `STATUS MESSAGE FIX`.
    fn lines(&self, check: &str) -> Vec<String> {
        let to_text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let results = self.results.iter().filter(|result| result["check"] == check);
        results
            .map(|result| {
                [to_text(&result["status"]), to_text(&result["message"]), to_text(&result["fix"])]
                    .join(" ")
            })
            .collect()
    }

    /// Asserts that this check, and no other, failed with this text, and that the exit code is 1.
    #[track_caller]
    fn assert_failed(&self, check: &str, expected_text: &str) {
        let failures: Vec<_> =
            self.results.iter().filter(|result| result["status"] == "failed").collect();
        assert!(failures.iter().all(|result| result["check"] == check), "{:?}", self.results);
        self.assert_status(check, "failed", expected_text);
        assert_eq!(self.exit_code, Some(1));
    }

    /// Asserts that one of the check's results has this status and contains this text.
    #[track_caller]
    fn assert_status(&self, check: &str, status: &str, expected_text: &str) {
        let lines = self.lines(check);
        let is_expected = |line: &String| line.starts_with(status) && line.contains(expected_text);
        assert!(
            lines.iter().any(is_expected),
            "{check} {status} {expected_text}: {:?}",
            self.results
        );
    }
}

fn run_doctor(workspace: &Workspace, arguments: &[&str]) -> DoctorReport {
    let arguments = [&["doctor", "--json"], arguments, &workspace.flags()].concat();
    DoctorReport::parse(&belfry_command(workspace.path(), &arguments).output().unwrap())
}

fn workspace_with_database() -> Workspace {
    let workspace = Workspace::sqlite();
    workspace.configure("listen = '127.0.0.1:1'");
    workspace.run(&["account", "add", "alice"]);
    workspace
}

#[test]
fn doctor_passes_and_changes_nothing_while_no_server_runs() {
    let workspace = workspace_with_database();
    let list_files = || {
        let entries = read_dir(workspace.path().join("data")).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    };
    let files_before = list_files();
    let report = run_doctor(&workspace, &[]);
    assert_eq!(report.exit_code, Some(0), "{:?}", report.results);
    for check in ["settings", "database"] {
        report.assert_status(check, "ok", "");
    }
    report.assert_status("server", "skipped", "no server responds at data/belfry.sock (No such");
    assert_eq!(report.lines("push"), ["skipped no push.contact: delivery is off "]);
    for check in ["redis", "base_url", "proxy"] {
        report.assert_status(check, "skipped", "");
    }
    assert_eq!(list_files(), files_before);

    let output = workspace.run(&["doctor"]);
    assert!(output.starts_with("ok       settings      no warnings"), "{output}");
    assert_eq!(output.lines().count(), report.results.len());
}

#[test]
fn a_missing_database_is_reported_and_not_created() {
    let workspace = Workspace::sqlite();
    workspace.configure("listen = '127.0.0.1:1'");
    let report = run_doctor(&workspace, &["--data", "typo"]);
    report.assert_failed("database", "typo/belfry.db");
    assert!(!workspace.path().join("typo").exists());
}

#[test]
fn invalid_settings_are_reported() {
    let workspace = workspace_with_database();
    workspace.configure("lisen = '127.0.0.1:1'");
    run_doctor(&workspace, &[]).assert_failed("settings", "did you mean `listen`?");
    workspace.configure("application_services = ['missing.yaml']");
    run_doctor(&workspace, &[]).assert_failed("settings", "missing.yaml: No such file");
    let output = belfry_command(workspace.path(), &["doctor"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "belfry: 1 check failed\n");
}

#[test]
fn startup_warnings_are_reported() {
    let workspace = workspace_with_database();
    workspace.configure("listen = '127.0.0.1:1'\nbase_url = 'http://192.0.2.1'");
    let report = run_doctor(&workspace, &[]);
    report.assert_status("settings", "warning", "passwords and tokens are sent in clear text");
    assert_eq!(report.exit_code, Some(0));
}

#[test]
fn files_that_other_users_can_access_are_reported() {
    let workspace = workspace_with_database();
    let data_dir = workspace.path().join("data");
    let assert_warning = |arguments: &[&str], expected_text: &str| {
        let report = run_doctor(&workspace, arguments);
        report.assert_status("settings", "warning", expected_text);
        assert_eq!(report.exit_code, Some(0));
    };
    set_mode(&data_dir, 0o777);
    assert_warning(&[], "every user can change data; use chmod o-rwx data");
    set_mode(&data_dir, 0o700);
    let database = data_dir.join("belfry.db");
    set_mode(&database, 0o644);
    assert_warning(&[], "every user can read data/belfry.db");
    set_mode(&database, 0o600);
    // Unlike the WAL, the `-shm` file contains no rows. SQLite removes both when doctor exits.
    for (file, status) in [("belfry.db-wal", "warning"), ("belfry.db-shm", "ok")] {
        write(data_dir.join(file), "").unwrap();
        set_mode(&data_dir.join(file), 0o644);
        run_doctor(&workspace, &[]).assert_status("settings", status, "");
    }

    write(workspace.path().join("redis"), "redis://:secret@127.0.0.1:1").unwrap();
    set_mode(&workspace.path().join("redis"), 0o622);
    let report = run_doctor(&workspace, &["--redis-file", "redis"]);
    let expected_text = "every user can change redis; use chmod o-rwx redis";
    report.assert_status("settings", "warning", expected_text);
}

/// A file belongs to root if root ran `belfry account add` before the first start of the service.
#[test]
fn files_with_different_owners_are_reported() {
    let workspace = workspace_with_database();
    let database = workspace.path().join("data/belfry.db");
    // Only root can change the owner.
    if chown(&database, Some(65534), None).is_ok() {
        let report = run_doctor(&workspace, &[]);
        let expected_text = "data/belfry.db belongs to a different user than data";
        report.assert_status("settings", "warning", expected_text);
    }
}

#[test]
fn a_sealing_key_that_cannot_be_used_is_reported() {
    let workspace = workspace_with_database();
    workspace.configure("listen = '127.0.0.1:1'\npush.contact = 'mailto:ops@ring.example'\n");
    let report = run_doctor(&workspace, &[]);
    report.assert_status("push", "ok", "delivery is on, with the contact mailto:ops@ring.example");
    assert_eq!(report.exit_code, Some(0), "a server creates the missing key");
    let key_file = workspace.path().join("data/belfry.key");
    write(&key_file, "short").unwrap();
    set_mode(&key_file, 0o600);
    let expected_text = "belfry.key: not a sealing key, which has 32 bytes";
    run_doctor(&workspace, &[]).assert_failed("settings", expected_text);
}
