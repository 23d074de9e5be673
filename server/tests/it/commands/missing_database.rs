//! Commands without a database: only `serve`, `account add` and `restore` create one.

use super::Workspace;
use crate::support::on_both_engines;

async fn commands_do_not_create_a_database(workspace: Workspace) {
    for arguments in [
        &["account", "list"][..],
        &["account", "disable", "alice"],
        &["account", "enable", "alice"],
        &["account", "password", "alice"],
        &["account", "show", "alice"],
        &["account", "role", "alice", "admin"],
        &["account", "delete", "alice"],
        &["token", "issue", "alice"],
        &["token", "revoke", "x"],
        &["app", "list"],
        &["app", "show", "1"],
        &["app", "disable", "1"],
        &["app", "enable", "1"],
        &["app", "add", "Tusky", "--redirect-uri", "https://app.example/cb"],
        &["app", "secret", "1"],
        &["app", "delete", "1"],
        &["audit"],
        &["backup", "copy.db"],
        &["explain", "-", "--account", "alice"],
    ] {
        let message = workspace.run_failing(arguments);
        let advice = "it does not exist or is empty; check --data, --database and --config, or create it with \
             belfry serve or belfry account add\n";
        assert!(message.starts_with("belfry: cannot open the database "), "{message}");
        assert!(message.ends_with(advice), "{arguments:?}: {message}");
        assert!(!workspace.path().join("data").exists(), "{arguments:?}");
        assert!(!workspace.path().join("copy.db").exists());
    }
    workspace.run(&["account", "add", "alice"]);
    assert!(workspace.run(&["account", "list"]).starts_with("alice\t"));
}

#[test]
fn a_missing_input_file_is_named_in_the_error() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    for arguments in [
        &["restore", "missing", "--data", "new"][..],
        &["explain", "missing", "--account", "alice"],
    ] {
        let message = workspace.run_failing(arguments);
        let expected = "belfry: cannot read missing: No such file or directory (os error 2)\n";
        assert_eq!(message, expected, "{arguments:?}");
    }
    assert!(!workspace.path().join("new").exists());
}

on_both_engines! {
    crate::commands::create_workspace:
    commands_do_not_create_a_database,
}

#[test]
fn an_empty_file_counts_as_a_missing_database() {
    let workspace = Workspace::sqlite();
    std::fs::create_dir(workspace.path().join("data")).unwrap();
    std::fs::write(workspace.path().join("data/belfry.db"), "").unwrap();
    let message = workspace.run_failing(&["account", "list"]);
    assert!(message.contains("data/belfry.db: it does not exist or is empty"), "{message}");
    workspace.run(&["account", "add", "alice"]);
}
