//! `belfry account import`.

use std::io::Write;
use std::process::Stdio;

use reqwest::Client;
use serde_json::{Value, json};

use super::Workspace;
use crate::support::ServerProcess;
use crate::support::process::belfry_command;

/// The hash of `correct horse`, from crypt(3).
const BCRYPT_HASH: &str = "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";

/// The exit status and the output streams of a command.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Workspace {
    /// Writes these lines to `accounts.jsonl` and imports the file.
    fn import(&self, lines: &[Value]) -> Outcome {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        self.import_text(&lines.join("\n"), &[])
    }

    fn import_text(&self, text: &str, flags: &[&str]) -> Outcome {
        std::fs::write(self.path().join("accounts.jsonl"), text).unwrap();
        let arguments = [&["account", "import", "accounts.jsonl"], flags, &self.flags()].concat();
        let output = belfry_command(self.path(), &arguments).output().unwrap();
        Outcome {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn account_names(&self) -> Vec<String> {
        let output = self.run(&["account", "list"]);
        output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }
}

fn outcome(status: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome { status, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

/// Returns accounts for several batches, each with a rule.
fn many_accounts() -> Vec<Value> {
    let account_line = |number: u32| {
        json!({
            "name": format!("n{number:05}"),
            "email": format!("n{number}@example.org"),
            "password_hash": BCRYPT_HASH,
            "created_at": "2024-01-31T12:00:00Z",
            "push_rules": {"content": [{"rule_id": "cake", "pattern": "cake", "actions": ["notify"]}]},
        })
    };
    (1..=2_000).map(account_line).collect()
}

/// Imports while a server is running, and uses the accounts immediately.
async fn assert_accounts_are_imported(workspace: Workspace) {
    let server = ServerProcess::start(workspace.path(), &workspace.flags());
    let url = |path: &str| format!("{}/_matrix/client/v3/{path}", server.url);
    let mut lines = many_accounts();

    let valid_line =
        std::mem::replace(&mut lines[1776], json!({"name": "n01777", "role": "owner"}));
    let rejected_import = workspace.import(&lines);
    let message = "belfry: accounts.jsonl, line 1777: role must be \"user\" or \"admin\"\n\
                   belfry: 1 line is invalid; nothing was imported\n";
    assert_eq!(rejected_import, outcome(1, "", message));
    assert_eq!(workspace.account_names(), [""; 0]);

    lines[1776] = valid_line;
    let first_import = workspace.import(&lines);
    assert_eq!(first_import, outcome(0, "2000 accounts added, 0 skipped, 0 rejected\n", ""));
    assert_eq!(workspace.account_names().len(), 2_000);

    // The password works, and the rules exist.
    let client = Client::new();
    let body = json!({"type": "m.login.password", "user": "n01777", "password": "correct horse"});
    let login_response = client.post(url("login")).json(&body).send().await.unwrap();
    let login: Value = login_response.json().await.unwrap();
    let token = login["access_token"].as_str().unwrap();
    let rule_request = client.get(url("pushrules/global/content/cake")).bearer_auth(token);
    let rule: Value = rule_request.send().await.unwrap().json().await.unwrap();
    let expected = json!({
        "rule_id": "cake", "default": false, "enabled": true, "actions": ["notify"],
        "pattern": "cake",
    });
    assert_eq!(rule, expected);
    let event = json!({"type": "m.room.message", "room_id": "!r:x", "sender": "@bob:x",
                       "content": {"msgtype": "m.text", "body": "cake for all"}});
    let explain_request =
        client.post(url("pushrules/explain")).bearer_auth(token).json(&json!({"event": event}));
    let explain_response = explain_request.send().await.unwrap();
    let explanation: Value = explain_response.json().await.unwrap();
    assert_eq!(explanation["rule"]["rule_id"], "cake", "{explanation}");

    // A second import skips all accounts.
    let list_before = workspace.run(&["account", "list"]);
    let second_import = workspace.import(&lines);
    assert_eq!(second_import.stdout, "0 accounts added, 2000 skipped, 0 rejected\n");
    assert_eq!(second_import.status, 0);
    assert_eq!(
        second_import.stderr.lines().next(),
        Some("line 1: n00001 skipped, the account exists")
    );
    assert_eq!(second_import.stderr.lines().count(), 21, "the other messages are omitted");
    let last_message = second_import.stderr.lines().last();
    assert_eq!(last_message, Some("and 1980 more skipped, the accounts exist"));
    assert_eq!(workspace.run(&["account", "list"]), list_before);

    let events = workspace.run(&["audit", "--account", "n00001"]);
    let fields: Vec<&str> = events.trim_end().split('\t').skip(1).collect();
    let expected =
        ["account_add", "success", "1", "n00001", "-", "command-line", "-", "-", "import"];
    assert_eq!(fields, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_imported_on_sqlite() {
    assert_accounts_are_imported(Workspace::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_imported_on_postgres() {
    if let Some(workspace) = Workspace::postgres().await {
        assert_accounts_are_imported(workspace).await;
    }
}

#[test]
fn every_field_of_an_imported_account_is_stored() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "first"]);
    let import_outcome = workspace.import(&[
        json!({"name": "alice", "email": "Alice@Example.org", "role": "admin",
               "created_at": "2024-01-31T12:00:00Z", "disabled": true}),
        json!({"name": "bob"}),
    ]);
    assert_eq!(import_outcome.stdout, "2 accounts added, 0 skipped, 0 rejected\n");
    let database = rusqlite::Connection::open(workspace.path().join("data/belfry.db")).unwrap();
    let row_text = |name: &str| {
        let select = "select email, unverified_email, password, role, created_at, signed_in_at, \
                      disabled_at is not null from accounts where name = $1";
        let row = database.query_row(select, [name], |row| {
            let columns = (0..7).map(|index| row.get::<_, rusqlite::types::Value>(index));
            columns.collect::<rusqlite::Result<Vec<_>>>()
        });
        format!("{:?}", row.unwrap())
    };
    assert_eq!(
        row_text("alice"),
        "[Text(\"alice@example.org\"), Null, Text(\"!\"), Text(\"admin\"), Integer(1706702400), \
         Null, Integer(1)]"
    );
    let bob = row_text("bob");
    assert!(bob.starts_with("[Null, Null, Text(\"!\"), Text(\"user\"), Integer("), "{bob}");
    assert!(bob.ends_with(", Null, Integer(0)]"), "{bob}");
    for (name, detail) in [("alice", "import, role admin"), ("bob", "import")] {
        let events = workspace.run(&["audit", "--account", name]);
        assert!(events.ends_with(&format!("\t{detail}\n")), "{events}");
    }
}

#[test]
fn accounts_that_cannot_be_added_are_rejected_and_others_are_added() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice", "--email", "alice@example.org"]);
    workspace.run(&["account", "add", "gone"]);
    workspace.run(&["account", "delete", "gone"]);
    let import_outcome = workspace.import(&[
        json!({"name": "alice"}),
        json!({"name": "bob", "email": "ALICE@example.org"}),
        json!({"name": "gone"}),
        json!({"name": "carol"}),
    ]);
    let messages = "line 1: alice skipped, the account exists\n\
                    line 2: bob rejected, the e-mail address is already taken\n\
                    line 3: gone rejected, the name belonged to an account that was deleted\n\
                    belfry: some accounts were rejected; see the messages above\n";
    assert_eq!(import_outcome, outcome(1, "1 account added, 1 skipped, 2 rejected\n", messages));
    assert_eq!(workspace.account_names(), ["alice", "carol"]);
}

#[test]
fn the_whole_file_is_validated_before_the_import() {
    let workspace = Workspace::sqlite();
    let text = "{\"name\":\"alice\"}\n\n{\"name\":\"b ob\"}\n{\"name\":\"alice\"}\nx";
    // The file is read before the database, which does not exist yet.
    let invalid_outcome = workspace.import_text(text, &[]);
    let messages = "belfry: accounts.jsonl, line 3: name must contain only the letters a to z, \
                    digits and . _ = - /\n\
                    belfry: accounts.jsonl, line 4: name is the same as on line 1; delete or change \
                    one of them\n\
                    belfry: accounts.jsonl, line 5: must be a JSON object like {\"name\":\"alice\",\
                    \"email\":\"alice@example.org\"}\n\
                    belfry: 3 lines are invalid; nothing was imported\n";
    assert_eq!(invalid_outcome, outcome(1, "", messages));
    let long_text = format!("{{\"name\":\"alice\"}}\n{}", " ".repeat(9 * 1024 * 1024));
    let message = "belfry: accounts.jsonl, line 2 is longer than 8 MiB\n";
    assert_eq!(workspace.import_text(&long_text, &[]), outcome(1, "", message));

    let valid_outcome =
        workspace.import_text("{\"name\":\"alice\"}\n\n{\"name\":\"bob\"}", &["--dry-run"]);
    assert_eq!(valid_outcome, outcome(0, "2 accounts are valid; nothing was imported\n", ""));
    assert!(!workspace.path().join("data").exists(), "a dry run does not need a database");
    let Outcome { status, stderr, .. } = workspace.import_text("{\"name\":\"alice\"}", &[]);
    assert!(status == 1 && stderr.contains("does not exist"), "{stderr}");
    let message = workspace.run_failing(&["account", "import", "nowhere.jsonl"]);
    assert_eq!(
        message,
        "belfry: cannot read nowhere.jsonl: No such file or directory (os error 2)\n"
    );
}

#[test]
fn accounts_are_read_from_standard_input() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    for (file, name) in [("-", "bob"), ("/dev/stdin", "carol")] {
        let mut child = belfry_command(workspace.path(), &["account", "import", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = format!("{{\"name\":\"{name}\"}}");
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let expected = "1 account added, 0 skipped, 0 rejected\n";
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{file}");
    }
    assert_eq!(workspace.account_names(), ["alice", "bob", "carol"]);
}

#[test]
fn configured_restrictions_apply_to_imports() {
    let workspace = Workspace::sqlite();
    let settings = "[[application_services]]\nid = 'irc'\nas_token = 't'\n\
                    sender_localpart = 'bot'\nnamespaces.users = [{ regex = '@irc_.*' }]\n\
                    [rules]\nmax_rules = 1\n";
    std::fs::write(workspace.path().join("belfry.toml"), settings).unwrap();
    let rules = json!({"room": [{"rule_id": "a", "actions": []}, {"rule_id": "b", "actions": []}]});
    let lines = [
        json!({"name": "irc_ann"}),
        json!({"name": "bot"}),
        json!({"name": "bob", "push_rules": rules}),
    ];
    let messages = "belfry: accounts.jsonl, line 2: name is the sender_localpart of the application \
                    service \"irc\", and belfry serve creates its account; delete the line\n\
                    belfry: accounts.jsonl, line 3: push_rules: an account may have at most 1 rules; \
                    delete some\n\
                    belfry: 2 lines are invalid; nothing was imported\n";
    assert_eq!(workspace.import(&lines), outcome(1, "", messages));
}

/// The keys are untrusted input from the source system.
#[test]
fn push_rule_keys_cannot_control_the_terminal() {
    let workspace = Workspace::sqlite();
    let key = "\u{1b}[31mk\u{9b}\u{202e}\nbelfry: done";
    let invalid_outcome =
        workspace.import(&[json!({"name": "bob", "push_rules": {"global": {key: []}}})]);
    let lines: Vec<&str> = invalid_outcome.stderr.lines().collect();
    let [message, "belfry: 1 line is invalid; nothing was imported"] = *lines else {
        panic!("{}", invalid_outcome.stderr)
    };
    assert!(message.contains(r"\u{1b}[31mk\u{9b}\u{202e}\u{a}belfry: done"), "{message}");
}
