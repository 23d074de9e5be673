//! The checks of delivery.

use std::fs;

use test_engines::free_port;

use super::{run_doctor, workspace_with_database};
use crate::commands::Workspace;
use crate::commands::push::DeliveringWorkspace;
use crate::support::PushService;
use crate::support::files::set_mode;

const PUSH_SETTINGS: &str = "listen = '127.0.0.1:1'\n[push]\ncontact = 'mailto:ops@ring.example'\n";

#[test]
fn delivery_is_off_without_a_contact() {
    let workspace = workspace_with_database();
    for arguments in [&[][..], &["--push"]] {
        let report = run_doctor(&workspace, arguments);
        assert_eq!(report.lines("push"), ["skipped no push.contact: delivery is off "]);
        for check in ["sealing key", "push queue", "push services"] {
            assert!(report.lines(check).is_empty(), "{check}");
        }
    }
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
    report.assert_status("push queue", "ok", "no delivery waits");
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

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_wait_for_a_long_time_are_reported() {
    let mut fixture = DeliveringWorkspace::start(Workspace::sqlite());
    fixture.subscribe("alice", "https://push.example/1").await;
    fixture.stop();
    let workspace = &fixture.workspace;
    workspace.run_failing(&["push", "test", "alice", "--wait", "0s"]);
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    report.assert_status("push queue", "ok", "waiting deliveries: 1, the oldest since 2");
    // Ids begin with the time.
    workspace.execute_sql("update deliveries set id = '018bcfe56800' || substr(id, 13)").await;
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    let expected_text = "waiting deliveries: 1, the oldest since 2023-11-14T22:13:20Z: 1 for \
                         https://push.example check that belfry serve runs";
    report.assert_status("push queue", "warning", expected_text);
    assert_eq!(report.exit_code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn push_services_are_contacted_on_request() {
    let mut fixture = DeliveringWorkspace::start(Workspace::sqlite());
    let service = PushService::start().await;
    let dead_origin = format!("http://127.0.0.1:{}", free_port().unwrap());
    fixture.subscribe("alice", &format!("{dead_origin}/1")).await;
    let id = fixture.subscribe("alice", &format!("{}/secret", service.url)).await;
    fixture.stop();
    let workspace = &fixture.workspace;
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1"]);
    assert!(report.lines("push services").is_empty() && service.requests().is_empty());

    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1", "--push"]);
    let expected_text = format!("{} responds, status 201", service.url);
    report.assert_status("push services", "ok", &expected_text);
    let problem = format!("{dead_origin}: the server does not accept connections check that");
    report.assert_status("push services", "warning", &problem);
    assert_eq!(report.exit_code, Some(0));
    let requests = service.requests();
    assert_eq!((requests.len(), &*requests[0].path), (1, "/"));
    assert!(requests[0].body.is_empty());

    workspace.run(&["push", "remove", &id]);
    let report = run_doctor(workspace, &["--listen", "127.0.0.1:1", "--push"]);
    report.assert_failed("push services", &problem);
}
