//! Commands that manage accounts, tokens and apps work while a server uses the same data.

use super::Workspace;
use crate::support::{ServerProcess, on_both_engines};

async fn commands_succeed_while_a_server_runs(workspace: Workspace) {
    let _server = ServerProcess::start(workspace.path(), &workspace.flags());

    let output = workspace.run(&["account", "add", "alice", "--email", "Alice@Example.org"]);
    assert!(output.starts_with("account alice added, id "), "{output}");
    let password = output.lines().nth(1).unwrap().strip_prefix("password: ").unwrap();
    assert_eq!(password.len(), 23, "{password}");

    let list = workspace.run(&["account", "list"]);
    let fields: Vec<&str> = list.trim_end().split('\t').collect();
    assert_eq!((fields[0], fields[2]), ("alice", "alice@example.org"));
    assert_eq!(fields[4..], ["active", "user", "-"]);

    assert_eq!(workspace.run(&["account", "disable", "alice"]), "account alice disabled\n");
    assert!(workspace.run(&["account", "list"]).ends_with("\tdisabled\tuser\t-\n"));
    assert_eq!(workspace.run(&["account", "enable", "alice"]), "account alice enabled\n");
    let output = workspace.run(&["account", "password", "alice"]);
    assert!(output.contains("\npassword: ") && !output.contains(password), "{output}");

    let output = workspace.run(&["token", "issue", "alice", "--scopes", "read write push"]);
    let token = output.trim_end();
    assert_eq!(token.len(), 64, "{token}");
    workspace.run(&["token", "issue", "alice", "--app", "My bot"]);

    let apps = workspace.run(&["app", "list"]);
    let names: Vec<&str> = apps.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(names, ["Command line", "My bot"]);
    let id = apps.split('\t').next().unwrap();
    assert!(workspace.run(&["app", "show", id]).contains("name           Command line\n"));
    assert!(workspace.run(&["app", "disable", id]).ends_with("(Command line) disabled\n"));
    assert!(workspace.run(&["app", "show", id]).ends_with("state          disabled\n"));
    let message = workspace.run_failing(&["token", "issue", "alice"]);
    let expected =
        format!("belfry: the app \"Command line\" is disabled; run `belfry app enable {id}`\n");
    assert_eq!(message, expected);
    assert!(workspace.run(&["app", "enable", id]).ends_with("(Command line) enabled\n"));

    assert_eq!(workspace.run(&["token", "revoke", token]), "token revoked\n");
    // Revoking again succeeds.
    assert_eq!(workspace.run(&["token", "revoke", token]), "token revoked\n");

    let output = workspace.run(&["app", "delete", id]);
    let expected =
        format!("app {id} (Command line) deleted: 1 token, 0 codes, 0 authorization requests\n");
    assert_eq!(output, expected);
    let message = workspace.run_failing(&["app", "delete", id]);
    assert_eq!(message, format!("belfry: there is no app {id:?}; run `belfry app list`\n"));
    assert_eq!(
        workspace.run(&["account", "delete", "alice"]),
        "account alice deleted: 0 sessions, 1 token, 0 codes, 0 rulesets, 0 authorization requests, \
         0 receivers, 0 delivery log lines\n"
    );
    let message = workspace.run_failing(&["account", "delete", "alice"]);
    assert_eq!(message, "belfry: there is no account \"alice\"; run `belfry account list`\n");
    // `account add` releases the reserved name.
    let output = workspace.run(&["account", "add", "alice"]);
    assert!(output.starts_with("account alice added"), "{output}");
    assert_eq!(
        workspace.run_failing(&["token", "revoke", "x"]),
        "belfry: no such token: it is incomplete, or it was deleted with its app or account\n"
    );
}

on_both_engines! {
    crate::commands::create_workspace:
    commands_succeed_while_a_server_runs,
}
