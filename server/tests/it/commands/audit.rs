//! Changes by commands are recorded in the audit trail.

use serde_json::{Value, json};

use super::Workspace;
use crate::support::Process;

/// Runs every command that changes something, and reads the audit trail beside a server.
fn commands_are_recorded(workspace: &Workspace) {
    let _server = Process::start(workspace.path(), &workspace.flags());
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["account", "add", "bob"]);
    let token = workspace.run(&["token", "issue", "alice"]);
    workspace.run(&["token", "revoke", token.trim_end()]);
    let apps = workspace.run(&["app", "list"]);
    let app = apps.split('\t').next().unwrap();
    workspace.run(&["app", "disable", app]);
    workspace.run(&["app", "enable", app]);
    workspace.run(&["account", "password", "alice"]);
    workspace.run(&["account", "disable", "alice"]);
    workspace.run(&["account", "enable", "alice"]);

    let kinds = |arguments: &[&str]| -> Vec<String> {
        let lines = workspace.run(&[&["audit", "--json"], arguments].concat());
        let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut kinds: Vec<String> = events
            .map(|event| {
                assert_eq!(
                    (&event["origin"], &event["count"]),
                    (&json!("command line"), &json!(1))
                );
                event["kind"].as_str().unwrap().to_owned()
            })
            .collect();
        // Events of one second are in any order.
        kinds.sort();
        kinds
    };
    let of_alice = [
        "account_add",
        "account_disable",
        "account_enable",
        "password_change",
        "token_issue",
        "token_revoke",
    ];
    assert_eq!(kinds(&["--account", "alice"]), of_alice);
    let of_app = ["app_disable", "app_enable", "token_issue", "token_revoke"];
    assert_eq!(kinds(&["--app", app]), of_app);
    assert_eq!(kinds(&[]).len(), of_alice.len() + 3);
    assert_eq!(kinds(&["--since", "1h"]).len(), of_alice.len() + 3);
    assert_eq!(kinds(&["--since", "2999-01-01"]), [""; 0]);
    assert_eq!(kinds(&["--limit", "2"]).len(), 2);

    let table = workspace.run(&["audit", "--account", "bob"]);
    let row: Vec<&str> = table.trim_end().split('\t').skip(1).collect();
    assert_eq!(row, ["account_add", "success", "1", "bob", "-", "command line", "-", "-"]);
    assert!(!workspace.run(&["audit"]).contains(token.trim_end()));
    workspace.run(&["account", "delete", "bob"]);
    workspace.run(&["app", "delete", app]);
    assert_eq!(kinds(&["--app", app]), [&["app_delete"], &of_app[..]].concat());
    assert!(kinds(&[]).contains(&"account_delete".to_owned()));
    let unknown = workspace.fail(&["audit", "--account", "carol"]);
    assert_eq!(unknown, "belfry: there is no account \"carol\"; see belfry account list\n");
    let invalid = workspace.fail(&["audit", "--since", "yesterday"]);
    assert!(invalid.contains("\"yesterday\" is not a time"), "{invalid}");
}

#[test]
fn commands_are_recorded_in_the_audit_trail_on_sqlite() {
    commands_are_recorded(&Workspace::sqlite());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_recorded_in_the_audit_trail_on_postgres() {
    if let Some(workspace) = Workspace::postgres().await {
        commands_are_recorded(&workspace);
    }
}
