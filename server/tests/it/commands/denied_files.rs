//! Files that the user running a command may not read or write. The tests need root, to run
//! commands as another user.

use std::fs::{create_dir, read_dir, write};
use std::os::unix::fs::chown;
use std::path::Path;

use super::Workspace;
use crate::support::files::{set_mode, write_certificate};
use crate::support::process::{is_root, unprivileged_belfry};

/// Returns a workspace that root owns and everyone can enter, or `None` if the tests do not run as
/// root.
fn root_workspace() -> Option<Workspace> {
    if !is_root() {
        eprintln!("skipped: only root can run a command as another user");
        return None;
    }
    let workspace = Workspace::sqlite();
    set_mode(workspace.path(), 0o755);
    Some(workspace)
}

/// Runs a command that must fail, as an unprivileged user, and returns its message.
#[track_caller]
fn fail_as_nobody(workspace: &Workspace, arguments: &[&str]) -> String {
    let output = unprivileged_belfry(workspace.path(), arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Asserts that a message names the path that is denied, its owner, the user and what to do.
#[track_caller]
fn assert_denied(message: &str, denied_path: &Path) {
    let expected = format!(
        "permission denied: {} belongs to root (uid 0), but belfry runs as ",
        denied_path.display()
    );
    assert!(message.contains(&expected), "{message}");
    assert!(message.contains("(uid 65534); "), "{message}");
    assert!(message.contains("(sudo -u root belfry …)"), "{message}");
}

#[test]
fn another_users_database_is_reported_as_denied() {
    let Some(workspace) = root_workspace() else { return };
    workspace.run(&["account", "add", "alice"]);
    let data_dir = workspace.path().join("data");
    let database = data_dir.join("belfry.db");
    // The directory hides the file, or the file can be seen but not read.
    for (mode, denied_path) in [(0o700, &data_dir), (0o755, &database)] {
        set_mode(&data_dir, mode);
        for arguments in [
            &["account", "list"][..],
            &["account", "add", "bob"],
            &["token", "issue", "alice"],
            &["app", "list"],
            &["audit"],
            &["backup", "/tmp/unused"],
        ] {
            let message = fail_as_nobody(&workspace, arguments);
            let expected = "belfry: cannot open the database data/belfry.db: permission denied";
            assert!(message.starts_with(expected), "{arguments:?}: {message}");
            assert_denied(&message, denied_path);
        }
    }
    set_mode(&data_dir, 0o755);
    let message = fail_as_nobody(&workspace, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(message.contains("cannot lock data/belfry.lock: permission denied"), "{message}");
}

#[test]
fn another_users_files_are_reported_as_denied() {
    let Some(workspace) = root_workspace() else { return };
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["backup", "backup.db"]);
    write_certificate(workspace.path(), "localhost");
    for (file, content) in [
        ("settings.toml", "listen = '127.0.0.1:1'"),
        ("tls.toml", "[tls]\ncertificate = 'certificate.pem'\nkey = 'key.pem'"),
        ("service.toml", "application_services = ['irc.yaml']"),
        ("irc.yaml", "id: a\nas_token: secret\nsender_localpart: bot\n"),
        ("redis", "redis://127.0.0.1:1"),
        ("accounts.jsonl", ""),
    ] {
        write(workspace.path().join(file), content).unwrap();
    }
    for file in ["settings.toml", "irc.yaml", "redis", "accounts.jsonl", "key.pem", "backup.db"] {
        set_mode(&workspace.path().join(file), 0o600);
    }
    for (file, arguments) in [
        ("settings.toml", &["config", "check", "--config", "settings.toml"][..]),
        ("key.pem", &["config", "check", "--config", "tls.toml"]),
        ("irc.yaml", &["config", "check", "--config", "service.toml"]),
        ("redis", &["config", "check", "--redis-file", "redis"]),
        ("accounts.jsonl", &["account", "import", "accounts.jsonl"]),
        ("backup.db", &["restore", "backup.db", "--data", "new"]),
    ] {
        let message = fail_as_nobody(&workspace, arguments);
        assert!(message.contains(file), "{message}");
        assert_denied(&message, &workspace.path().join(file));
    }
}

#[test]
fn a_backup_into_another_users_directory_is_reported_as_denied() {
    let Some(workspace) = root_workspace() else { return };
    workspace.run(&["account", "add", "alice"]);
    let data_dir = workspace.path().join("data");
    set_mode(&data_dir, 0o755);
    set_mode(&data_dir.join("belfry.db"), 0o644);
    let directory = workspace.path().join("backups");
    create_dir(&directory).unwrap();
    for mode in [0o755, 0o700] {
        set_mode(&directory, mode);
        let message = fail_as_nobody(&workspace, &["backup", "backups/today.db"]);
        let expected = "cannot write backups/today.db: permission denied";
        assert!(message.contains(expected), "{message}");
        assert_denied(&message, &directory);
    }
}

/// Root must not create a database that the owner's server could not read.
#[test]
fn a_database_in_another_users_directory_is_created_only_by_its_owner() {
    let Some(workspace) = root_workspace() else { return };
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["backup", "backup.db"]);
    set_mode(&workspace.path().join("backup.db"), 0o644);
    let new_data = workspace.path().join("new");
    create_dir(&new_data).unwrap();
    chown(&new_data, Some(65_534), Some(65_534)).unwrap();
    let add = ["account", "add", "bob", "--data", "new"];
    let restore = ["restore", "backup.db", "--data", "new"];
    for arguments in [&add[..], &restore] {
        let message = workspace.run_failing(arguments);
        let expected = "belfry: cannot create the database new/belfry.db: new belongs to ";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("(uid 65534), who could not read root's files"), "{message}");
        assert!(message.contains("; run belfry as the owner: sudo -u "), "{message}");
        assert_eq!(read_dir(&new_data).unwrap().count(), 0);
    }
    let output = unprivileged_belfry(workspace.path(), &restore).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // The database exists now, and remains readable for its owner.
    workspace.run(&add);
    let list = ["account", "list", "--data", "new"];
    let output = unprivileged_belfry(workspace.path(), &list).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    assert!(names.contains("alice") && names.contains("bob"), "{names}");
}
