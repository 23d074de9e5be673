//! The sealing key: `belfry key new`, and the key of a server that delivers notifications.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::Workspace;
use crate::support::ServerProcess;
use crate::support::process::run_belfry;

const PUSH_SETTINGS: &str = "[push]\ncontact = 'mailto:ops@ring.example'\n";

#[test]
fn a_new_key_is_private_and_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let run = || run_belfry(dir.path(), &["key", "new", "belfry.key"]);
    assert!(run().status.success());
    let path = dir.path().join("belfry.key");
    let key = std::fs::read(&path).unwrap();
    let mode = path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((key.len(), mode), (32, 0o600));
    let output = run();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("belfry.key exists"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), key);
}

/// The key is created at the first start. Clients keep their subscriptions when the server restarts.
#[tokio::test]
async fn the_vapid_key_survives_a_restart() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), PUSH_SETTINGS).unwrap();
    let mut keys = Vec::new();
    for _ in 0..2 {
        let server = ServerProcess::start(workspace.path(), &[]);
        let instance = reqwest::get(format!("{}/api/v2/instance", server.url)).await.unwrap();
        let instance: Value = instance.json().await.unwrap();
        keys.push(instance["configuration"]["vapid"]["public_key"].as_str().unwrap().to_owned());
    }
    assert!(keys[0].len() == 87 && keys[0] == keys[1], "{keys:?}");
    assert_eq!(std::fs::read(workspace.path().join("data/belfry.key")).unwrap().len(), 32);
}

/// Nodes that share a database need the same key, so none is created.
#[test]
fn postgres_needs_a_key_file() {
    let dir = tempfile::tempdir().unwrap();
    let settings = format!("database = 'postgres://a@127.0.0.1/b'\n{PUSH_SETTINGS}");
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let output = run_belfry(dir.path(), &["config", "check"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("push.contact needs secret_key_file with PostgreSQL"), "{message}");
    assert!(message.contains("belfry key new FILE"), "{message}");
}

#[test]
fn a_file_that_is_not_a_sealing_key_is_found_by_config_check() {
    let dir = tempfile::tempdir().unwrap();
    let settings = format!("secret_key_file = 'belfry.key'\n{PUSH_SETTINGS}");
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let check = || run_belfry(dir.path(), &["config", "check"]);
    assert!(check().status.success(), "with SQLite, the server creates the key");
    std::fs::write(dir.path().join("belfry.key"), "short").unwrap();
    let output = check();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{message}");
    assert!(message.contains("belfry.key: not a sealing key, which has 32 bytes"), "{message}");
}
