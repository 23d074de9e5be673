//! The audit events of commands, and `belfry audit`, which lists events.

use serde_json::{Value, json};

use super::Workspace;
use crate::support::{Process, on_both_engines};

/// Runs commands that change something while a server runs, and lists their events with filters.
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
                    (&json!("command-line"), &json!(1))
                );
                event["kind"].as_str().unwrap().to_owned()
            })
            .collect();
        // Events within one second have no order.
        kinds.sort();
        kinds
    };
    let alice_kinds = [
        "account_add",
        "account_disable",
        "account_enable",
        "password_change",
        "token_issue",
        "token_revoke",
    ];
    assert_eq!(kinds(&["--account", "alice"]), alice_kinds);
    let app_kinds = ["app_disable", "app_enable", "token_issue", "token_revoke"];
    assert_eq!(kinds(&["--app", app]), app_kinds);
    assert_eq!(kinds(&[]).len(), alice_kinds.len() + 3);
    assert_eq!(kinds(&["--since", "1h"]).len(), alice_kinds.len() + 3);
    assert_eq!(kinds(&["--since", "2999-01-01"]), [""; 0]);
    assert_eq!(kinds(&["--limit", "2"]).len(), 2);

    let table = workspace.run(&["audit", "--account", "bob"]);
    let row: Vec<&str> = table.trim_end().split('\t').skip(1).collect();
    assert_eq!(row, ["account_add", "success", "1", "bob", "-", "command-line", "-", "-", "-"]);
    assert!(!workspace.run(&["audit"]).contains(token.trim_end()));
    workspace.run(&["account", "delete", "bob"]);
    workspace.run(&["app", "delete", app]);
    assert_eq!(kinds(&["--app", app]), [&["app_delete"], &app_kinds[..]].concat());
    assert!(kinds(&[]).contains(&"account_delete".to_owned()));
    let unknown = workspace.fail(&["audit", "--account", "carol"]);
    assert_eq!(unknown, "belfry: there is no account \"carol\"; see belfry account list\n");
    let invalid = workspace.fail(&["audit", "--since", "tomorrow"]);
    assert!(invalid.contains("--since: \"tomorrow\" is not a time"), "{invalid}");
    assert_eq!(kinds(&["--since", "yesterday"]).len(), kinds(&[]).len());
    assert_eq!(kinds(&["--before", "yesterday"]), [""; 0]);
    assert_eq!(kinds(&["--kind", "password_change"]), ["password_change"]);
    assert_eq!(kinds(&["--outcome", "failure"]), [""; 0]);
    assert_eq!(kinds(&["--outcome", "success"]).len(), kinds(&[]).len());
    assert_eq!(kinds(&["--origin", "command-line"]).len(), kinds(&[]).len());
    assert_eq!(kinds(&["--origin", "page"]), [""; 0]);
    let unknown = workspace.run_with_input(&["audit", "--kind", "sign-in"], "");
    assert_eq!(unknown.status.code(), Some(2));
    let message = String::from_utf8(unknown.stderr).unwrap();
    assert!(message.contains("'sign_in'"), "{message}");
}

on_both_engines! {
    crate::commands::start:
    a_deleted_account_is_shown_with_its_former_name,
    a_reused_name_selects_the_events_of_all_its_accounts,
    the_events_of_an_app_are_found_by_its_id_client_id_or_name,
    the_audit_command_reports_that_there_are_more_events,
}

async fn a_deleted_account_is_shown_with_its_former_name(workspace: Workspace) {
    let id = |name: &str| workspace.json(&["account", "show", name])[0]["id"].clone();
    let add = |name: &str| {
        workspace.run(&["account", "add", name]);
        id(name)
    };
    let first = add("alice");
    workspace.run(&["account", "delete", "alice"]);
    let second = add("alice");
    workspace.run(&["account", "delete", "alice"]);
    assert_ne!(first, second);

    let table = workspace.run(&["audit"]);
    let accounts: Vec<&str> = table.lines().map(|row| row.split('\t').nth(4).unwrap()).collect();
    let cell = |id: &Value| format!("alice (deleted, #{})", id.as_str().unwrap());
    for id in [&first, &second] {
        let count = accounts.iter().filter(|account| **account == cell(id)).count();
        assert_eq!(count, 2, "{table}");
    }
    for event in workspace.json(&["audit"]) {
        assert_eq!(event["account"], "alice");
    }
    let first = first.as_str().unwrap();
    for account in [first, &format!("#{first}")] {
        let events = workspace.json(&["audit", "--account", account]);
        assert_eq!(events.len(), 2, "{account}");
        assert!(events.iter().all(|event| event["account_id"] == first), "{events:?}");
        let table = workspace.run(&["audit", "--account", account]);
        assert_eq!(table.split('\t').nth(4), Some("alice (deleted)"), "{table}");
    }
    let deletions = workspace.json(&["audit", "--kind", "account_delete"]);
    assert_eq!(deletions[0]["detail"], "name alice");
    // Without the deletion event, the name is stored nowhere.
    workspace.execute("delete from audit_events where kind = 'account_delete'").await;
    let table = workspace.run(&["audit", "--account", first]);
    assert_eq!(table.split('\t').nth(4), Some(&*format!("#{first}")), "{table}");
}

async fn a_reused_name_selects_the_events_of_all_its_accounts(workspace: Workspace) {
    let id = || workspace.json(&["account", "show", "carol"])[0]["id"].as_str().unwrap().to_owned();
    workspace.run(&["account", "add", "carol"]);
    workspace.run(&["account", "add", "other"]);
    let first = id();
    workspace.run(&["account", "disable", "carol"]);
    workspace.run(&["account", "delete", "carol"]);
    workspace.run(&["account", "add", "carol"]);
    let second = id();

    for name in ["carol", "@carol"] {
        let events = workspace.json(&["audit", "--account", name]);
        let summary = |id: &str| -> Vec<String> {
            let account_events = events.iter().filter(|event| event["account_id"] == id);
            let mut kinds: Vec<String> = account_events
                .map(|event| {
                    assert_eq!(event["account"], "carol");
                    event["kind"].as_str().unwrap().to_owned()
                })
                .collect();
            kinds.sort();
            kinds
        };
        assert_eq!(summary(&first), ["account_add", "account_delete", "account_disable"]);
        assert_eq!(summary(&second), ["account_add"]);
        assert_eq!(events.len(), 4);
    }
    let table = workspace.run(&["audit", "--account", "carol"]);
    let accounts: Vec<&str> = table.lines().map(|row| row.split('\t').nth(4).unwrap()).collect();
    let count = |account: String| accounts.iter().filter(|shown| **shown == account).count();
    assert_eq!(count(format!("carol (deleted, #{first})")), 3, "{table}");
    assert_eq!(count(format!("carol (#{second})")), 1, "{table}");
    // The limit applies to all accounts together.
    let newest = workspace.json(&["audit", "--account", "carol", "--limit", "3"]);
    assert_eq!(newest.len(), 3);
    assert_eq!(workspace.json(&["audit", "--account", &second]).len(), 1);

    // Events of the same second are in the order of their ids, whichever account they belong to.
    let order = [(&first, "add"), (&second, "add"), (&first, "disable"), (&first, "delete")];
    for (number, (account, kind)) in order.iter().enumerate() {
        let update = format!(
            "update audit_events set id = '{number}', at = 1700000000, last_at = 1700000000 \
             where account_id = {account} and kind = 'account_{kind}'"
        );
        workspace.execute(&update).await;
    }
    let events = workspace.json(&["audit", "--account", "carol"]);
    let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["account_add", "account_add", "account_disable", "account_delete"]);
    assert_eq!(events[1]["account_id"], *second);
}

async fn the_events_of_an_app_are_found_by_its_id_client_id_or_name(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add = |name: &str| workspace.json(&["app", "add", name]).remove(0);
    let (first, second) = (add("My app"), add("my APP"));
    add("Other");
    let ids = |app: &str| -> Vec<String> {
        let events = workspace.json(&["audit", "--app", app]);
        let mut ids: Vec<String> =
            events.iter().map(|event| event["app_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let text = |app: &Value, key: &str| app[key].as_str().unwrap().to_owned();
    let mut both = [text(&first, "id"), text(&second, "id")];
    both.sort();
    assert_eq!(ids("My app"), both);
    for key in ["id", "client_id"] {
        assert_eq!(ids(&text(&first, key)), [text(&first, "id")], "{key}");
    }
    let assert_unknown = |app: &str| {
        let advice = "a deleted app is found by its name or id, not by its client id";
        let expected = format!("belfry: there is no app {app:?}; see belfry app list; {advice}\n");
        assert_eq!(workspace.fail(&["audit", "--app", app]), expected);
    };
    ["Your app", "7", "#7"].into_iter().for_each(assert_unknown);
    // A deleted app is shown by its id, and found by the name that it had, too.
    workspace.run(&["app", "delete", &both[0]]);
    assert_eq!(ids(&format!("#{}", both[0])), [&*both[0]; 2]);
    let mut all = [&*both[0], &both[0], &both[1]];
    all.sort_unstable();
    assert_eq!(ids("MY app"), all);
    workspace.run(&["app", "delete", &both[1]]);
    assert_eq!(ids("my app").len(), 4);
    assert_unknown(&text(&first, "client_id"));
    let deletions =
        workspace.json(&["audit", "--kind", "app_delete", "--app", &text(&first, "id")]);
    assert_eq!(deletions[0]["detail"], "name My app");
}

async fn the_audit_command_reports_that_there_are_more_events(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let insert_statement = |from: i64, to: i64, second: &str| {
        let numbers = match workspace.flags()[..] {
            [_, _] => format!("generate_series({from}, {to}) as i"),
            _ => format!(
                "(with recursive n (i) as (select {from} union all select i + 1 from n \
                 where i < {to}) select i from n)"
            ),
        };
        format!(
            "insert into audit_events (id, at, last_at, kind, outcome, origin, count) \
             select 'x' || i, {second}, {second}, 'sign_out', 'success', 'client', 1 from {numbers}"
        )
    };
    let audit = |arguments: &[&str]| {
        let all = [&["audit", "--kind", "sign_out"], arguments].concat();
        let output = workspace.run_with_input(&all, "");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout).lines().count(), text(output.stderr))
    };
    workspace.execute(&insert_statement(1, 100, "1700000000 + i")).await;
    assert_eq!(audit(&[]), (100, String::new()));
    workspace.execute(&insert_statement(101, 150, "1700000000 + i")).await;
    let note = "belfry: the newest 100 events are shown; --limit N shows more\n";
    assert_eq!(audit(&[]), (100, note.to_owned()));
    assert_eq!(audit(&["--json"]), (100, note.to_owned()));
    assert_eq!(audit(&["--before", "2023-11-14T22:14:11Z"]), (50, String::new()));
    assert_eq!(audit(&["--limit", "120"]), (120, String::new()));
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
