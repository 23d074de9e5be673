//! Lists: filters, pages, JSON and closed pipes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Workspace;
use crate::support::on_both_engines;
use crate::support::process::belfry_command;

/// As in `belfry account list | true`: the reader closes the pipe before the first write.
#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["token", "issue", "alice"]);
    std::fs::write(workspace.path().join("event.json"), r#"{"type":"m.room.message"}"#).unwrap();
    for arguments in [
        &["account", "list"][..],
        &["app", "list"],
        &["app", "show", "cli:Command line"],
        &["account", "list", "--json"],
        &["account", "show", "alice"],
        &["audit"],
        &["config", "check"],
        &["explain", "event.json", "--account", "alice"],
        &["explain", "event.json", "--account", "alice", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = belfry_command(workspace.path(), arguments).stdout(writer).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && message.is_empty(), "{arguments:?}: {message}");
    }
}

/// Adds `zoe`, `count` accounts named `user_000001` and so on, and `count` apps. Every thousandth
/// account is disabled.
async fn add_rows(workspace: &Workspace, count: i64) {
    workspace.run(&["account", "add", "zoe"]);
    let insert_statements = |numbers: &str| {
        format!(
            "insert into accounts (id, name, password, created_at, disabled_at) \
             select i, 'user_' || substr(cast(1000000 + i as text), 2), '!', 1700000000, \
             case when i % 1000 = 0 then 1700000000 end from {numbers};
             insert into apps (id, client_id, secret, name, redirect_uris, scopes, created_at, \
             auth_method, grant_types, registered_by, issuer) select i, 'client ' || i, \
             '{secret}', 'App ' || i, '[]', 'read', 1700000000, 'client_secret', '', 'api', \
             'oauth' from {numbers}",
            secret = "A".repeat(64),
        )
    };
    // Only on PostgreSQL, a command needs flags: `--database URL`.
    let statements = match workspace.flags()[..] {
        [_, _] => insert_statements(&format!("generate_series(1, {count}) as i")),
        _ => insert_statements(&format!(
            "(with recursive n (i) as (select 1 union all select i + 1 from n where i < {count}) \
             select i from n)"
        )),
    };
    workspace.execute_sql(&statements).await;
}

fn first_column(output: &str) -> Vec<&str> {
    output.lines().map(|line| line.split('\t').next().unwrap()).collect()
}

/// No row is missing or printed twice, whatever the size of the pages.
async fn a_long_list_is_complete_and_can_be_read_in_parts(workspace: Workspace) {
    const COUNT: usize = 10_000;
    add_rows(&workspace, COUNT.try_into().unwrap()).await;
    let accounts = workspace.run(&["account", "list"]);
    let names = first_column(&accounts);
    assert_eq!(names.len(), COUNT + 1);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), COUNT + 1);
    assert!(names[..COUNT].is_sorted());
    let apps = workspace.run(&["app", "list"]);
    let ids: Vec<usize> = first_column(&apps).into_iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=COUNT).collect::<Vec<_>>());

    // Parts that are larger than a page, equal to one, and smaller.
    let mut parts = String::new();
    for limit in ["2500", "1000", "7", "1"] {
        let rows = first_column(&parts);
        let after = rows.last().copied().unwrap_or_default();
        let part = workspace.run(&["account", "list", "--limit", limit, "--after", after]);
        assert_eq!(part.lines().count().to_string(), limit);
        parts.push_str(&part);
    }
    assert!(accounts.starts_with(&parts));
    let part = workspace.run(&["app", "list", "--after", "9990", "--limit", "50"]);
    assert!(part.lines().count() == 10 && apps.ends_with(&part), "{part}");

    let disabled_accounts =
        workspace.run_json(&["account", "list", "--state", "disabled", "--limit", "3"]);
    let names: Vec<&Value> = disabled_accounts.iter().map(|account| &account["name"]).collect();
    assert_eq!(names, ["user_001000", "user_002000", "user_003000"]);
    let output = workspace.run(&["account", "list", "--name", "user_00123"]);
    assert_eq!(output.lines().count(), 10);
    let output = workspace.run(&["app", "list", "--name", "app 999", "--unused"]);
    assert_eq!(
        first_column(&output),
        ["999", "9990", "9991", "9992", "9993", "9994", "9995", "9996", "9997", "9998", "9999"]
    );
}

async fn a_json_list_has_a_line_for_each_row(workspace: Workspace) {
    workspace.run(&["account", "add", "alice", "--email", "alice@example.org"]);
    workspace.execute_sql("update accounts set unverified_email = email, email = null").await;
    workspace.run(&["account", "add", "bob"]);
    workspace.run(&["account", "disable", "bob"]);
    let accounts = workspace.run_json(&["account", "list"]);
    let with_generated_fields = |index: usize, row: Value| {
        let mut row = row;
        for key in ["id", "created_at"] {
            row[key] = accounts[index][key].clone();
            assert!(row[key].is_string(), "{key}");
        }
        row
    };
    let alice = json!({
        "name": "alice", "email": "alice@example.org", "email_verified": false, "role": "user",
        "state": "active", "signed_in_at": null, "disabled_at": null, "delete_at": null,
    });
    let bob = json!({
        "name": "bob", "email": null, "email_verified": false, "role": "user",
        "state": "disabled", "signed_in_at": null, "disabled_at": accounts[1]["disabled_at"],
        "delete_at": null,
    });
    assert_eq!(accounts, [with_generated_fields(0, alice), with_generated_fields(1, bob)]);
    assert!(accounts[1]["disabled_at"].is_string());
    let matching_accounts = workspace.run_json(&["account", "list", "--email", "EXAMPLE.org"]);
    assert_eq!(matching_accounts, accounts[..1]);
    let output = workspace.run_with_input(&["account", "list", "--state", "gone"], "");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("[possible values: active, disabled]"), "{message}");
}

on_both_engines! {
    crate::commands::create_workspace:
    a_long_list_is_complete_and_can_be_read_in_parts,
    a_json_list_has_a_line_for_each_row,
}
