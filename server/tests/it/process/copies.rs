//! SQLite files that an operator copies or restores while the server is stopped.

use std::path::{Path, PathBuf};

use crate::support::Process;
use crate::support::process::{add_account, run, run_successfully};

fn database(folder: &Path) -> PathBuf {
    folder.join("data").join("belfry.db")
}

fn database_file(folder: &Path, ending: &str) -> PathBuf {
    folder.join("data").join(format!("belfry.db{ending}"))
}

async fn status(server: &Process, token: &str) -> u16 {
    let url = format!("{}/_matrix/client/v3/pushrules/", server.url);
    let request = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
    request.send().await.unwrap().status().as_u16()
}

fn accounts(folder: &Path) -> Vec<String> {
    let output = run_successfully(folder, &["account", "list"]);
    output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_clean_stop_a_copy_of_the_file_has_all_data() {
    let folder = tempfile::tempdir().unwrap();
    add_account(folder.path(), "alice");
    assert!(!database_file(folder.path(), "-wal").exists(), "the command has closed the database");
    let mut server = Process::start(folder.path(), &[]);
    let token = run_successfully(folder.path(), &["token", "issue", "alice", "--scopes", "push"]);
    assert_eq!(status(&server, &token).await, 200);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    for ending in ["-wal", "-shm"] {
        assert!(!database_file(folder.path(), ending).exists(), "{ending}");
    }

    let other = tempfile::tempdir().unwrap();
    std::fs::create_dir(other.path().join("data")).unwrap();
    std::fs::copy(database(folder.path()), database(other.path())).unwrap();
    let server = Process::start(other.path(), &[]);
    assert_eq!(status(&server, &token).await, 200);
}

#[test]
fn a_restored_file_next_to_the_wal_of_a_killed_server_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    add_account(folder.path(), "alice");
    let copy = folder.path().join("copy.db");
    std::fs::copy(database(folder.path()), &copy).unwrap();
    let mut server = Process::start(folder.path(), &[]);
    add_account(folder.path(), "bob");
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    assert!(database_file(folder.path(), "-wal").metadata().unwrap().len() > 0);

    std::fs::copy(&copy, database(folder.path())).unwrap();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["account", "list"]] {
        let output = run(folder.path(), arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("belfry.db-wal belongs to a different file"), "{message}");
    }
    for ending in ["-wal", "-shm"] {
        std::fs::remove_file(database_file(folder.path(), ending)).unwrap();
    }
    let _server = Process::start(folder.path(), &[]);
    assert_eq!(accounts(folder.path()), ["alice"]);
}

#[test]
fn a_killed_server_continues_with_its_own_wal() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["alice", "bob", "carol"] {
        let mut server = Process::start(folder.path(), &[]);
        add_account(folder.path(), name);
        server.signal("KILL");
        assert_eq!(server.wait(), None);
    }
    // The database and its WAL can be moved together.
    let other = tempfile::tempdir().unwrap();
    std::fs::create_dir(other.path().join("data")).unwrap();
    for ending in ["", "-wal"] {
        std::fs::copy(database_file(folder.path(), ending), database_file(other.path(), ending))
            .unwrap();
    }
    for folder in [&folder, &other] {
        assert_eq!(accounts(folder.path()), ["alice", "bob", "carol"]);
        let _server = Process::start(folder.path(), &[]);
    }
}
