//! SQLite files that an operator copies or restores while the server is stopped.

use std::path::{Path, PathBuf};

use crate::support::ServerProcess;
use crate::support::process::{add_account, run_belfry, run_successfully};

fn database_path(dir: &Path) -> PathBuf {
    dir.join("data").join("belfry.db")
}

fn database_file(dir: &Path, suffix: &str) -> PathBuf {
    dir.join("data").join(format!("belfry.db{suffix}"))
}

async fn fetch_rules_status(server: &ServerProcess, token: &str) -> u16 {
    let url = format!("{}/_matrix/client/v3/pushrules/", server.url);
    let request = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
    request.send().await.unwrap().status().as_u16()
}

fn account_names(dir: &Path) -> Vec<String> {
    let output = run_successfully(dir, &["account", "list"]);
    output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_clean_stop_the_database_file_has_all_data() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    assert!(!database_file(dir.path(), "-wal").exists(), "the command has closed the database");
    let mut server = ServerProcess::start(dir.path(), &[]);
    let token = run_successfully(dir.path(), &["token", "issue", "alice", "--scopes", "push"]);
    assert_eq!(fetch_rules_status(&server, &token).await, 200);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    for suffix in ["-wal", "-shm"] {
        assert!(!database_file(dir.path(), suffix).exists(), "{suffix}");
    }

    let other_dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(other_dir.path().join("data")).unwrap();
    std::fs::copy(database_path(dir.path()), database_path(other_dir.path())).unwrap();
    let server = ServerProcess::start(other_dir.path(), &[]);
    assert_eq!(fetch_rules_status(&server, &token).await, 200);
}

#[test]
fn a_restored_file_next_to_a_killed_servers_wal_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let copy = dir.path().join("copy.db");
    std::fs::copy(database_path(dir.path()), &copy).unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    add_account(dir.path(), "bob");
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    assert!(database_file(dir.path(), "-wal").metadata().unwrap().len() > 0);

    std::fs::copy(&copy, database_path(dir.path())).unwrap();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["account", "list"]] {
        let output = run_belfry(dir.path(), arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("belfry.db-wal belongs to a different file"), "{message}");
    }
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(database_file(dir.path(), suffix)).unwrap();
    }
    let _server = ServerProcess::start(dir.path(), &[]);
    assert_eq!(account_names(dir.path()), ["alice"]);
}

#[test]
fn a_killed_server_continues_with_its_own_wal() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["alice", "bob", "carol"] {
        let mut server = ServerProcess::start(dir.path(), &[]);
        add_account(dir.path(), name);
        server.signal("KILL");
        assert_eq!(server.wait(), None);
    }
    // The database and its WAL can be moved together.
    let other_dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(other_dir.path().join("data")).unwrap();
    for suffix in ["", "-wal"] {
        std::fs::copy(database_file(dir.path(), suffix), database_file(other_dir.path(), suffix))
            .unwrap();
    }
    for dir in [&dir, &other_dir] {
        assert_eq!(account_names(dir.path()), ["alice", "bob", "carol"]);
        let _server = ServerProcess::start(dir.path(), &[]);
    }
}
