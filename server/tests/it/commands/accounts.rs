//! `belfry account …`

use serde_json::{Value, json};

use super::Workspace;
use crate::support::{ServerProcess, on_both_engines};

#[test]
fn account_names_are_validated_and_unique() {
    let workspace = Workspace::sqlite();
    for name in ["", "älice", "a b", "a+b", &"a".repeat(65)] {
        let message = workspace.run_failing(&["account", "add", name]);
        assert!(message.starts_with("belfry: the name "), "{name}: {message}");
    }
    assert!(!workspace.path().join("data").exists(), "nothing was created");
    workspace.run(&["account", "add", &"A".repeat(64)]);
    workspace.run(&["account", "add", ".a=b-c/"]);
    workspace.run(&["account", "add", "_0z", "--email", "a@b.example"]);
    assert_eq!(
        workspace.run_failing(&["account", "add", "_0z"]),
        "belfry: the name is already taken\n"
    );
    let message = workspace.run_failing(&["account", "add", "bob", "--email", "A@B.example"]);
    assert_eq!(message, "belfry: the e-mail address is already taken\n");
}

const BRIDGE_SETTINGS: &str =
    "[[application_services]]\nid = 'irc'\nas_token = 't'\nsender_localpart = 'bot'\n";

#[test]
fn only_the_server_adds_an_application_service_account() {
    let workspace = Workspace::sqlite();
    workspace.configure(BRIDGE_SETTINGS);
    let message = workspace.run_failing(&["account", "add", "bot"]);
    assert!(message.contains("sender_localpart of the application service \"irc\""), "{message}");
    assert!(!workspace.path().join("data").exists(), "nothing was created");
    drop(ServerProcess::start(workspace.path(), &[]));
    assert!(workspace.run(&["account", "list"]).starts_with("bot\t"));
}

#[test]
fn an_unknown_account_or_app_is_reported_with_the_command_that_lists_them() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let no_account = "belfry: there is no account \"bob\"; run `belfry account list`\n";
    assert_eq!(workspace.run_failing(&["account", "disable", "bob"]), no_account);
    assert_eq!(workspace.run_failing(&["account", "password", "bob"]), no_account);
    assert_eq!(workspace.run_failing(&["token", "issue", "bob"]), no_account);
    let no_app = "belfry: there is no app \"7\"; run `belfry app list`\n";
    assert_eq!(workspace.run_failing(&["app", "show", "7"]), no_app);
}

#[test]
fn a_password_can_come_from_standard_input_and_is_not_printed() {
    let workspace = Workspace::sqlite();
    let add_account = |name: &str, password: &str| {
        let arguments = ["account", "add", name, "--password-stdin"];
        let output = workspace.run_with_input(&arguments, password);
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (is_success, stdout) = add_account("alice", "correct horse battery\n");
    assert!(is_success && !stdout.contains("password"), "{stdout}");
    let (is_success, _) = add_account("bob", "short\n");
    assert!(!is_success, "a password of five characters was accepted");
}

#[test]
fn a_command_rejects_the_name_or_the_email_address_as_a_password() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let run_with_password = |command: &[&str], password: &str| {
        let output = workspace.run_with_input(command, password);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let message = "belfry: the password is too easy to guess; choose a different one\n";
    let rejection = (Some(1), message.to_owned());
    let add = ["account", "add", "username9", "--email", "u@example.org", "--password-stdin"];
    assert_eq!(run_with_password(&add, "UserName9\n"), rejection);
    assert_eq!(run_with_password(&add, "u@example.org\n"), rejection);
    assert_eq!(run_with_password(&add, "correct horse\n"), (Some(0), String::new()));
    let change = ["account", "password", "username9", "--password-stdin"];
    assert_eq!(run_with_password(&change, "username9\n"), rejection);
    assert_eq!(run_with_password(&change, "U@example.org\n"), rejection);
    assert_eq!(run_with_password(&change, "correct battery\n"), (Some(0), String::new()));
}

#[test]
fn the_server_recreates_a_deleted_application_service_sender() {
    let workspace = Workspace::sqlite();
    workspace.configure(BRIDGE_SETTINGS);
    drop(ServerProcess::start(workspace.path(), &[]));
    let bot_id = || workspace.run_json(&["account", "list"])[0]["id"].clone();
    let first_id = bot_id();
    workspace.run(&["account", "delete", "bot"]);
    drop(ServerProcess::start(workspace.path(), &[]));
    assert_ne!(bot_id(), first_id);
}

/// Anyone could sign up with a released name, and be mistaken for its former owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_account_does_not_release_the_name_of_a_deleted_one() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "bob", "--email", "bob@example.org"]);
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["account", "delete", "alice"]);
    let message = workspace.run_failing(&["account", "add", "alice", "--email", "Bob@Example.org"]);
    assert_eq!(message, "belfry: the e-mail address is already taken\n");
    let server = ServerProcess::start(workspace.path(), &[]);
    let body = json!({
        "username": "alice", "password": "correct horse alice", "auth": { "type": "m.login.dummy" },
    });
    let url = format!("{}/_matrix/client/v3/register", server.url);
    let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    let error: Value = response.json().await.unwrap();
    assert_eq!(error["errcode"], "M_USER_IN_USE", "{error}");
    drop(server);
    workspace.run(&["account", "add", "alice", "--email", "alice@example.org"]);
}

async fn an_admin_is_added_with_its_role(workspace: Workspace) {
    let output = workspace.run(&["account", "add", "alice", "--admin"]);
    assert!(output.lines().next().unwrap().ends_with(", role admin"), "{output}");
    workspace.run(&["account", "add", "bob"]);
    let list_names = |arguments: &[&str]| -> Vec<Value> {
        let accounts = workspace.run_json(&[&["account", "list"], arguments].concat());
        accounts.into_iter().map(|account| account["name"].clone()).collect()
    };
    assert_eq!(list_names(&["--role", "admin"]), ["alice"]);
    assert_eq!(list_names(&["--role", "user"]), ["bob"]);
    let events = workspace.run_json(&["audit", "--account", "alice"]);
    assert_eq!(events[0]["kind"], "account_add");
    assert_eq!(events[0]["detail"], "role admin");
    assert_eq!(workspace.run_json(&["audit", "--account", "bob"])[0]["detail"], Value::Null);
}

/// A running server applies the new role to existing tokens.
async fn any_role_except_the_last_admins_can_be_changed(workspace: Workspace) {
    let server = ServerProcess::start(workspace.path(), &workspace.flags());
    workspace.run(&["account", "add", "alice", "--admin"]);
    workspace.run(&["account", "add", "bob"]);
    let message = workspace.run_failing(&["token", "issue", "bob", "--scopes", "admin:read"]);
    assert!(message.contains("bob is not one; run `belfry account role`"), "{message}");
    let output = workspace.run(&["account", "role", "bob", "admin"]);
    assert_eq!(output, "account bob has the role admin\n");
    let token = workspace.run(&["token", "issue", "bob", "--scopes", "admin:read"]);
    let fetch_status = async || {
        let url = format!("{}/api/v2/admin/accounts", server.url);
        let request = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(fetch_status().await, 200, "the token is cached now");
    workspace.run(&["account", "role", "bob", "user"]);
    assert_eq!(fetch_status().await, 403);

    let advice = "belfry: alice is the last enabled admin; make another account an admin first: \
                  belfry account role OTHER admin\n";
    for arguments in [
        &["account", "role", "alice", "user"][..],
        &["account", "disable", "alice"],
        &["account", "delete", "alice"],
    ] {
        assert_eq!(workspace.run_failing(arguments), advice, "{arguments:?}");
    }
    workspace.run(&["account", "role", "bob", "admin"]);
    workspace.run(&["account", "role", "alice", "user"]);
    workspace.run(&["account", "delete", "alice"]);

    let events = workspace.run_json(&["audit", "--account", "bob"]);
    let role_changes = events.iter().filter(|event| event["kind"] == "role_change");
    let mut details: Vec<&str> =
        role_changes.map(|event| event["detail"].as_str().unwrap()).collect();
    details.sort_unstable();
    assert_eq!(details, ["role admin", "role admin", "role user"]);
    let output = workspace.run_with_input(&["account", "role", "bob", "owner"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("[possible values: user, admin]"));
}

async fn an_account_is_shown_with_its_sessions_apps_and_rules(workspace: Workspace) {
    workspace.configure("base_url = 'https://ring.example'");
    workspace.run(&["account", "add", "alice", "--email", "Alice@Example.org"]);
    let account = workspace.run_json(&["account", "list"]).remove(0);
    let output = workspace.run(&["account", "list", "alice"]);
    for line in [
        "user id        @alice:ring.example",
        "last sign-in   never",
        "sessions       none",
        "app            none",
        "rules          none",
    ] {
        assert!(output.lines().any(|output_line| output_line == line), "{line}: {output}");
    }

    workspace.run(&["token", "issue", "alice", "--scopes", "read"]);
    workspace.run(&["token", "issue", "alice", "--scopes", "push"]);
    let revoked_token = workspace.run(&["token", "issue", "alice", "--scopes", "write"]);
    workspace.run(&["token", "revoke", revoked_token.trim_end()]);
    let id = account["id"].as_str().unwrap();
    let ruleset = |ids: &[&str]| {
        let room_rules: Vec<_> =
            ids.iter().map(|id| json!({ "rule_id": id, "enabled": true, "actions": [] })).collect();
        let rules = json!({
            "override": [], "content": [], "room": room_rules, "sender": [], "underride": [],
        });
        json!({ "version": "1", "rules": rules, "changes": {} }).to_string()
    };
    let global = ruleset(&["a", "b"]);
    let phone = ruleset(&["c"]);
    // A rule that has expired.
    let tablet = ruleset(&["d"]).replace("\"d\"}", "\"d\",\"until\":1700000000000}");
    let statements = format!(
        "insert into sessions (lookup, digest, account_id, methods, authenticated_at, created_at, \
         seen_at, expires_at) values ('a', 'x', {id}, 'pwd', 1, 1, 1700000000, 4000000000), \
         ('b', 'x', {id}, 'pwd', 1, 1, 1700000001, 4000000000), \
         ('c', 'x', {id}, 'pwd', 1, 1, 1700000002, 1700000003);
         insert into rulesets (account_id, scope, version, document) values \
         ({id}, 'global', 1, '{global}'), ({id}, 'device/phone', 1, '{phone}'), \
         ({id}, 'device/tablet', 1, '{tablet}');
         update accounts set signed_in_at = 1700000000 where id = {id}"
    );
    workspace.execute_sql(&statements).await;

    let mut expected = account.clone();
    let app = workspace.run_json(&["app", "list"]).remove(0);
    let details = workspace.run_json(&["account", "list", "alice"]).remove(0);
    expected["signed_in_at"] = json!("2023-11-14T22:13:20Z");
    expected["user_id"] = json!("@alice:ring.example");
    expected["sessions"] = json!({ "count": 2, "last_used_at": "2023-11-14T22:13:21Z" });
    expected["rules"] = json!({ "global": 2, "device/phone": 1 });
    expected["apps"] = json!([{
        "id": app["id"],
        "client_id": "cli:Command line",
        "name": "Command line",
        "scopes": ["push", "read"],
        "tokens": 2,
        "since": details["apps"][0]["since"],
    }]);
    assert_eq!(details, expected);
    let app = app["id"].as_str().unwrap();
    let since = details["apps"][0]["since"].as_str().unwrap();
    let output = workspace.run(&["account", "list", "alice"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        lines,
        [
            format!("id             {id}"),
            "name           alice".to_owned(),
            "user id        @alice:ring.example".to_owned(),
            "e-mail         alice@example.org".to_owned(),
            "role           user".to_owned(),
            format!("created        {}", account["created_at"].as_str().unwrap()),
            "last sign-in   2023-11-14T22:13:20Z".to_owned(),
            "sessions       2, last used 2023-11-14T22:13:21Z".to_owned(),
            format!(
                "app            {app} (Command line) since {since}: 2 tokens, scopes push read"
            ),
            "rules          device/phone: 1".to_owned(),
            "rules          global: 2".to_owned(),
            "state          active".to_owned(),
        ]
    );
    let message = workspace.run_failing(&["account", "show", "bob"]);
    assert_eq!(message, "belfry: there is no account \"bob\"; run `belfry account list`\n");
}

on_both_engines! {
    crate::commands::create_workspace:
    an_admin_is_added_with_its_role,
    any_role_except_the_last_admins_can_be_changed,
    an_account_is_shown_with_its_sessions_apps_and_rules,
}
