//! The audit events of commands, and `belfry audit`, which lists events.

use serde_json::{Value, json};

use super::Workspace;
use crate::support::{ServerProcess, on_both_engines};

/// Runs commands that change something while a server runs, and lists their events with filters.
async fn commands_are_recorded(workspace: Workspace) {
    let _server = ServerProcess::start(workspace.path(), &workspace.flags());
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["account", "add", "bob"]);
    let token = workspace.run(&["token", "issue", "alice"]);
    workspace.run(&["token", "revoke", token.trim_end()]);
    let apps = workspace.run(&["app", "list"]);
    let app_id = apps.split('\t').next().unwrap();
    workspace.run(&["app", "disable", app_id]);
    workspace.run(&["app", "enable", app_id]);
    workspace.run(&["account", "password", "alice"]);
    workspace.run(&["account", "disable", "alice"]);
    workspace.run(&["account", "enable", "alice"]);

    let list_kinds = |arguments: &[&str]| -> Vec<String> {
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
    assert_eq!(list_kinds(&["--account", "alice"]), alice_kinds);
    let app_kinds = ["app_disable", "app_enable", "token_issue", "token_revoke"];
    assert_eq!(list_kinds(&["--app", app_id]), app_kinds);
    assert_eq!(list_kinds(&[]).len(), alice_kinds.len() + 3);
    assert_eq!(list_kinds(&["--since", "1h"]).len(), alice_kinds.len() + 3);
    assert_eq!(list_kinds(&["--since", "2999-01-01"]), [""; 0]);
    assert_eq!(list_kinds(&["--limit", "2"]).len(), 2);

    let table = workspace.run(&["audit", "--account", "bob"]);
    let row: Vec<&str> = table.trim_end().split('\t').skip(1).collect();
    assert_eq!(row, ["account_add", "success", "1", "bob", "-", "command-line", "-", "-", "-"]);
    assert!(!workspace.run(&["audit"]).contains(token.trim_end()));
    workspace.run(&["account", "delete", "bob"]);
    workspace.run(&["app", "delete", app_id]);
    assert_eq!(list_kinds(&["--app", app_id]), [&["app_delete"], &app_kinds[..]].concat());
    assert!(list_kinds(&[]).contains(&"account_delete".to_owned()));
    let message = workspace.run_failing(&["audit", "--account", "carol"]);
    assert_eq!(message, "belfry: there is no account \"carol\"; run `belfry account list`\n");
    let message = workspace.run_failing(&["audit", "--since", "tomorrow"]);
    assert!(message.contains("--since: \"tomorrow\" is not a time"), "{message}");
    assert_eq!(list_kinds(&["--since", "yesterday"]).len(), list_kinds(&[]).len());
    assert_eq!(list_kinds(&["--before", "yesterday"]), [""; 0]);
    assert_eq!(list_kinds(&["--kind", "password_change"]), ["password_change"]);
    assert_eq!(list_kinds(&["--outcome", "failure"]), [""; 0]);
    assert_eq!(list_kinds(&["--outcome", "success"]).len(), list_kinds(&[]).len());
    assert_eq!(list_kinds(&["--origin", "command-line"]).len(), list_kinds(&[]).len());
    assert_eq!(list_kinds(&["--origin", "page"]), [""; 0]);
    let output = workspace.run_with_input(&["audit", "--kind", "sign-in"], "");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("'sign_in'"), "{message}");
}

on_both_engines! {
    crate::commands::create_workspace:
    commands_are_recorded,
    a_deleted_account_is_shown_with_its_former_name,
    a_reused_name_selects_the_events_of_all_its_accounts,
    app_events_are_found_by_id_client_id_or_name,
    a_counted_event_is_shown_with_the_time_of_its_last_occurrence,
    the_audit_command_reports_that_there_are_more_events,
}

async fn a_deleted_account_is_shown_with_its_former_name(workspace: Workspace) {
    let account_id = |name: &str| workspace.run_json(&["account", "show", name])[0]["id"].clone();
    let add_account = |name: &str| {
        workspace.run(&["account", "add", name]);
        account_id(name)
    };
    let first_id = add_account("alice");
    workspace.run(&["account", "delete", "alice"]);
    let second_id = add_account("alice");
    workspace.run(&["account", "delete", "alice"]);
    assert_ne!(first_id, second_id);

    let table = workspace.run(&["audit"]);
    let accounts: Vec<&str> = table.lines().map(|row| row.split('\t').nth(4).unwrap()).collect();
    let cell = |id: &Value| format!("alice (deleted, #{})", id.as_str().unwrap());
    for id in [&first_id, &second_id] {
        let count = accounts.iter().filter(|account| **account == cell(id)).count();
        assert_eq!(count, 2, "{table}");
    }
    for event in workspace.run_json(&["audit"]) {
        assert_eq!(event["account"], "alice");
    }
    let first_id = first_id.as_str().unwrap();
    for account in [first_id, &format!("#{first_id}")] {
        let events = workspace.run_json(&["audit", "--account", account]);
        assert_eq!(events.len(), 2, "{account}");
        assert!(events.iter().all(|event| event["account_id"] == first_id), "{events:?}");
    }
    let deletions = workspace.run_json(&["audit", "--kind", "account_delete"]);
    assert_eq!(deletions[0]["detail"], "name alice");
    // Without the deletion event, the name is stored nowhere.
    workspace.execute_sql("delete from audit_events where kind = 'account_delete'").await;
    let table = workspace.run(&["audit", "--account", first_id]);
    assert_eq!(table.split('\t').nth(4), Some(&*format!("#{first_id}")), "{table}");
}

async fn a_reused_name_selects_the_events_of_all_its_accounts(workspace: Workspace) {
    let carol_id =
        || workspace.run_json(&["account", "show", "carol"])[0]["id"].as_str().unwrap().to_owned();
    workspace.run(&["account", "add", "carol"]);
    workspace.run(&["account", "add", "other"]);
    let first_id = carol_id();
    workspace.run(&["account", "disable", "carol"]);
    workspace.run(&["account", "delete", "carol"]);
    workspace.run(&["account", "add", "carol"]);
    let second_id = carol_id();

    for name in ["carol", "@carol"] {
        let events = workspace.run_json(&["audit", "--account", name]);
        let kinds_for = |id: &str| -> Vec<String> {
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
        assert_eq!(kinds_for(&first_id), ["account_add", "account_delete", "account_disable"]);
        assert_eq!(kinds_for(&second_id), ["account_add"]);
        assert_eq!(events.len(), 4);
    }
    let table = workspace.run(&["audit", "--account", "carol"]);
    let accounts: Vec<&str> = table.lines().map(|row| row.split('\t').nth(4).unwrap()).collect();
    let count_rows = |account: String| accounts.iter().filter(|cell| **cell == account).count();
    assert_eq!(count_rows(format!("carol (deleted, #{first_id})")), 3, "{table}");
    assert_eq!(count_rows("carol".to_owned()), 1, "{table}");
    // The limit applies to all accounts together.
    let newest_events = workspace.run_json(&["audit", "--account", "carol", "--limit", "3"]);
    assert_eq!(newest_events.len(), 3);
    assert_eq!(workspace.run_json(&["audit", "--account", &second_id]).len(), 1);

    // Events of the same second are in the order of their ids, whichever account they belong to.
    let order =
        [(&first_id, "add"), (&second_id, "add"), (&first_id, "disable"), (&first_id, "delete")];
    for (number, (account, kind)) in order.iter().enumerate() {
        let update = format!(
            "update audit_events set id = '{number}', at = 1700000000, last_at = 1700000000 \
             where account_id = {account} and kind = 'account_{kind}'"
        );
        workspace.execute_sql(&update).await;
    }
    let events = workspace.run_json(&["audit", "--account", "carol"]);
    let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["account_add", "account_add", "account_disable", "account_delete"]);
    assert_eq!(events[1]["account_id"], *second_id);
}

async fn app_events_are_found_by_id_client_id_or_name(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add_app = |name: &str| workspace.run_json(&["app", "add", name]).remove(0);
    let first_app = add_app("My app");
    let second_app = add_app("my APP");
    add_app("Other");
    let app_ids = |app: &str| -> Vec<String> {
        let events = workspace.run_json(&["audit", "--app", app]);
        let mut ids: Vec<String> =
            events.iter().map(|event| event["app_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let field = |app: &Value, key: &str| app[key].as_str().unwrap().to_owned();
    let mut both_ids = [field(&first_app, "id"), field(&second_app, "id")];
    both_ids.sort();
    assert_eq!(app_ids("My app"), both_ids);
    for key in ["id", "client_id"] {
        assert_eq!(app_ids(&field(&first_app, key)), [field(&first_app, "id")], "{key}");
    }
    let app_cells = |kind: &str| -> Vec<String> {
        let table = workspace.run(&["audit", "--kind", kind]);
        table.lines().map(|row| row.split('\t').nth(5).unwrap().to_owned()).collect()
    };
    let cell = format!("My app (#{})", field(&first_app, "id"));
    assert_eq!(app_cells("app_add")[0], cell);
    let assert_unknown = |app: &str| {
        let advice = "a deleted app is found by its name or id, not by its client id";
        let expected =
            format!("belfry: there is no app {app:?}; run `belfry app list`; {advice}\n");
        assert_eq!(workspace.run_failing(&["audit", "--app", app]), expected);
    };
    ["Your app", "7", "#7"].into_iter().for_each(assert_unknown);
    // A deleted app is shown by its id, and can also be found by its former name.
    workspace.run(&["app", "delete", &both_ids[0]]);
    assert_eq!(app_ids(&format!("#{}", both_ids[0])), [&*both_ids[0]; 2]);
    let mut expected_ids = [&*both_ids[0], &both_ids[0], &both_ids[1]];
    expected_ids.sort_unstable();
    assert_eq!(app_ids("MY app"), expected_ids);
    workspace.run(&["app", "delete", &both_ids[1]]);
    assert_eq!(app_ids("my app").len(), 4);
    assert_unknown(&field(&first_app, "client_id"));
    let deletions =
        workspace.run_json(&["audit", "--kind", "app_delete", "--app", &field(&first_app, "id")]);
    assert_eq!(deletions[0]["detail"], "name My app");
}

async fn a_counted_event_is_shown_with_the_time_of_its_last_occurrence(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let insert = "insert into audit_events (id, at, last_at, kind, outcome, origin, count, detail) \
                  values ('x', 1700000000, 1700000060, 'sign_in', 'failure', 'client', 3, 'wrong'), \
                  ('y', 1700000001, 1700000001, 'sign_in', 'failure', 'client', 1, null)";
    workspace.execute_sql(insert).await;
    let table = workspace.run(&["audit", "--kind", "sign_in"]);
    let details: Vec<&str> = table.lines().map(|row| row.split('\t').nth(9).unwrap()).collect();
    assert_eq!(details, ["wrong; last at 2023-11-14T22:14:20Z", "-"], "{table}");
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
    let run_audit = |arguments: &[&str]| {
        let all_arguments = [&["audit", "--kind", "sign_out"], arguments].concat();
        let output = workspace.run_with_input(&all_arguments, "");
        let to_text = |bytes| String::from_utf8(bytes).unwrap();
        (to_text(output.stdout).lines().count(), to_text(output.stderr))
    };
    workspace.execute_sql(&insert_statement(1, 100, "1700000000 + i")).await;
    assert_eq!(run_audit(&[]), (100, String::new()));
    workspace.execute_sql(&insert_statement(101, 150, "1700000000 + i")).await;
    let note = "belfry: the newest 100 events are shown; --limit N shows more\n";
    assert_eq!(run_audit(&[]), (100, note.to_owned()));
    assert_eq!(run_audit(&["--json"]), (100, note.to_owned()));
    assert_eq!(run_audit(&["--before", "2023-11-14T22:14:11Z"]), (50, String::new()));
    assert_eq!(run_audit(&["--limit", "120"]), (120, String::new()));
}
