//! The checks of delivery.

use std::fs;

use super::{run_doctor, workspace_with_database};
use crate::commands::Workspace;
use crate::commands::push::DeliveringWorkspace;
use crate::support::files::set_mode;

const PUSH_SETTINGS: &str = "listen = '127.0.0.1:1'\n[push]\ncontact = 'mailto:ops@ring.example'\n";

#[test]
fn delivery_is_off_without_a_contact() {
    let workspace = workspace_with_database();
    let report = run_doctor(&workspace, &[]);
    assert_eq!(report.lines("push"), ["skipped no push.contact: delivery is off "]);
    assert!(report.lines("sealing key").is_empty());
}

#[test]
fn the_server_creates_a_missing_sealing_key() {
    let workspace = workspace_with_database();
    workspace.configure(PUSH_SETTINGS);
    let report = run_doctor(&workspace, &[]);
    report.assert_status("push", "ok", "delivery is on, with the contact mailto:ops@ring.example");
    let expected_text = "data/belfry.key does not exist start belfry serve, which creates it";
    report.assert_status("sealing key", "warning", expected_text);
    assert!(!workspace.path().join("data/belfry.key").exists());
    assert_eq!(report.exit_code, Some(0));

    let report = run_doctor(&workspace, &["--data", "missing"]);
    report.assert_status("sealing key", "skipped", "the database cannot be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealing_key_that_does_not_open_the_vapid_keys_is_reported() {
    let mut fixture = DeliveringWorkspace::start(Workspace::sqlite());
    fixture.subscribe("alice", "https://push.example/1").await;
    fixture.stop();
    let workspace = &fixture.workspace;
    let key_file = workspace.path().join("belfry.key");
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    report.assert_status("sealing key", "ok", "belfry.key opens the VAPID keys");
    assert_eq!(report.exit_code, Some(0));

    set_mode(&key_file, 0o646);
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    report.assert_failed("files", "every user can change belfry.key chmod o-rwx belfry.key");

    fs::write(&key_file, "short").unwrap();
    set_mode(&key_file, 0o600);
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    report.assert_failed("sealing key", "belfry.key: not a sealing key, which has 32 bytes");

    fs::remove_file(&key_file).unwrap();
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    let expected_text = "belfry.key does not exist, but the database contains data that it sealed \
                         put a copy of the former sealing key there";
    report.assert_failed("sealing key", expected_text);

    workspace.run(&["key", "new", "belfry.key"]);
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    let expected_text = "the newest VAPID key was sealed with a different key than belfry.key";
    report.assert_failed("sealing key", expected_text);
    let (output, _) = fixture.run_failing_test(&[]);
    assert!(output.contains(": not sent: its secrets were sealed with a different sealing key"));
    assert_eq!(workspace.run(&["push", "log", "alice"]), "");
    workspace.run(&["push", "key", "new", "--replace-lost-key"]);
    run_doctor(workspace, &["--listen", "127.0.0.1:1"]).assert_status("sealing key", "ok", "");
}
