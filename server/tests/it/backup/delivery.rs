//! Backups of an installation that delivers notifications: receivers and VAPID keys, and the sealing
//! key, which they do not contain.

use crate::delivery::process::{DeliveringProcess, KEY_FILE};
use crate::support::process::{add_account, run_belfry, run_successfully};
use crate::support::{PushService, TestDatabase};

const KEY_IS_MISSING: &str = "it does not contain the sealing key belfry.key, without which the \
                              receivers in it cannot be used: keep a copy of that file elsewhere\n";

/// Restores a backup of a running server into the target, with the same sealing key. The restored
/// server delivers to the same subscription, with the same VAPID key.
async fn assert_receivers_move(target: Option<TestDatabase>) {
    let push_service = PushService::start().await;
    let mut source = DeliveringProcess::start();
    let endpoint = format!("{}/subscription", push_service.url);
    let subscription = source.subscribe("alice", &endpoint).await;
    let output = source.run(&["backup", "copy.db"]);
    assert!(output.contains("1 signing key, 1 receiver)"), "{output}");
    assert!(output.ends_with(KEY_IS_MISSING), "{output}");
    source.stop();

    let url = target.as_ref().and_then(TestDatabase::url);
    let flags = url.map_or_else(Vec::new, |url| vec!["--database".to_owned(), url.to_owned()]);
    let mut restored = DeliveringProcess::stopped(flags);
    let backup = source.path().join("copy.db");
    let output = restored.run(&["restore", backup.to_str().unwrap()]);
    assert!(output.contains("\ncopy the sealing key of the former server to "), "{output}");
    std::fs::copy(source.path().join(KEY_FILE), restored.path().join(KEY_FILE)).unwrap();
    restored.restart();
    assert_eq!(
        restored.run_json(&["push", "list", "--keys"]),
        source.run_json(&["push", "list", "--keys"])
    );
    restored.mention("alice", 1).await;
    let log = restored.wait_for_outcomes("alice").await;
    assert_eq!(log[0]["outcome"], "delivered", "{log:#?}");
    assert_eq!(log[0]["receiver_id"], subscription["id"].to_string());
    let requests = push_service.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/subscription");
    let server_key = subscription["server_key"].as_str().unwrap();
    let crypto_key = requests[0].header("crypto-key");
    assert!(crypto_key.ends_with(&format!(";p256ecdsa={server_key}")), "{crypto_key}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_with_receivers_moves_to_sqlite() {
    assert_receivers_move(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_with_receivers_moves_to_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_receivers_move(Some(database)).await;
    }
}

/// With PostgreSQL, no key is found unless a setting names its file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_postgres_names_the_setting_for_the_sealing_key() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let source = DeliveringProcess::start();
    source.run(&["backup", "copy.db"]);
    let arguments = ["--database", database.url().unwrap(), "restore", "copy.db"];
    let other_dir = tempfile::tempdir().unwrap();
    std::fs::copy(source.path().join("copy.db"), other_dir.path().join("copy.db")).unwrap();
    let output = run_successfully(other_dir.path(), &arguments);
    let expected =
        "copy the sealing key of the former server to a file, and set secret_key_file to its path,";
    assert!(output.contains(expected), "{output}");
}

#[test]
fn a_backup_without_receivers_and_vapid_keys_needs_no_sealing_key() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let output = run_successfully(dir.path(), &["backup", "copy.db"]);
    assert_eq!(output.lines().count(), 1, "{output}");
    assert!(!output.contains("sealing key"), "{output}");
}

#[test]
fn a_backup_to_standard_output_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let output = run_belfry(dir.path(), &["backup", "-"]);
    let expected = "belfry: a backup cannot be written to standard output; name a file\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    assert!(!dir.path().join("-").exists());
}

#[test]
fn the_help_says_that_a_backup_does_not_contain_the_sealing_key() {
    let dir = tempfile::tempdir().unwrap();
    let help = run_successfully(dir.path(), &["backup", "--help"]);
    assert!(help.contains("sealing key"), "{help}");
}
