//! The commands, with and without a running server, on both database engines.

mod files;
mod missing;
mod with_server;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::process::{belfry, run, run_successfully};
use crate::support::{Process, TestDatabase};

/// A directory to run commands in, and the flags for the database.
struct Workspace {
    folder: TempDir,
    database: Option<TestDatabase>,
}

impl Workspace {
    fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: None }
    }

    async fn postgres() -> Option<Self> {
        let database = TestDatabase::postgres().await?;
        Some(Self { folder: tempfile::tempdir().unwrap(), database: Some(database) })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn flags(&self) -> Vec<&str> {
        let url = self.database.as_ref().and_then(TestDatabase::url);
        url.map_or_else(Vec::new, |url| vec!["--database", url])
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        run_successfully(self.path(), &[arguments, &self.flags()].concat())
    }

    /// Runs a command that must fail, and returns its message.
    #[track_caller]
    fn fail(&self, arguments: &[&str]) -> String {
        let output = run(self.path(), &[arguments, &self.flags()].concat());
        assert_eq!(output.status.code(), Some(1), "belfry {arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Runs every command while a server uses the same data.
fn all_commands_work(workspace: &Workspace) {
    let _server = Process::start(workspace.path(), &workspace.flags());

    let added = workspace.run(&["account", "add", "alice", "--email", "Alice@Example.org"]);
    assert!(added.starts_with("account alice added, id "), "{added}");
    let password = added.lines().nth(1).unwrap().strip_prefix("password: ").unwrap();
    assert_eq!(password.len(), 23, "{password}");

    let listed = workspace.run(&["account", "list"]);
    let fields: Vec<&str> = listed.trim_end().split('\t').collect();
    assert_eq!((fields[0], fields[2], fields[4]), ("alice", "alice@example.org", "active"));

    assert_eq!(workspace.run(&["account", "disable", "alice"]), "account alice disabled\n");
    assert!(workspace.run(&["account", "list"]).ends_with("\tdisabled\n"));
    assert_eq!(workspace.run(&["account", "enable", "alice"]), "account alice enabled\n");
    let changed = workspace.run(&["account", "password", "alice"]);
    assert!(changed.contains("\npassword: ") && !changed.contains(password), "{changed}");

    let issued = workspace.run(&["token", "issue", "alice", "--scopes", "read write push"]);
    let token = issued.trim_end();
    assert_eq!(token.len(), 64, "{token}");
    workspace.run(&["token", "issue", "alice", "--app", "My bot"]);

    let apps = workspace.run(&["app", "list"]);
    let titles: Vec<&str> = apps.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(titles, ["Command line", "My bot"]);
    let id = apps.split('\t').next().unwrap();
    assert!(workspace.run(&["app", "show", id]).contains("name           Command line\n"));
    assert!(workspace.run(&["app", "disable", id]).ends_with("(Command line) disabled\n"));
    assert!(workspace.run(&["app", "show", id]).ends_with("state          disabled\n"));
    let error = workspace.fail(&["token", "issue", "alice"]);
    let expected =
        format!("belfry: the app \"Command line\" is disabled; see belfry app enable {id}\n");
    assert_eq!(error, expected);
    assert!(workspace.run(&["app", "enable", id]).ends_with("(Command line) enabled\n"));

    assert_eq!(workspace.run(&["token", "revoke", token]), "token revoked\n");
    assert_eq!(workspace.run(&["token", "revoke", token]), "token revoked\n");

    let deleted = workspace.run(&["app", "delete", id]);
    let expected =
        format!("app {id} (Command line) deleted: 1 tokens, 0 codes, 0 authorization requests\n");
    assert_eq!(deleted, expected);
    let error = workspace.fail(&["app", "delete", id]);
    assert_eq!(error, format!("belfry: there is no app {id:?}; see belfry app list\n"));
    assert_eq!(
        workspace.run(&["account", "delete", "alice"]),
        "account alice deleted: 0 sessions, 1 tokens, 0 codes, 0 rulesets, 0 authorization requests\n"
    );
    let error = workspace.fail(&["account", "delete", "alice"]);
    assert_eq!(error, "belfry: there is no account \"alice\"; see belfry account list\n");
    let added = workspace.run(&["account", "add", "alice"]);
    assert!(added.starts_with("account alice added"), "the operator may reuse a name: {added}");
    assert_eq!(
        workspace.fail(&["token", "revoke", "x"]),
        "belfry: no such token: it is incomplete, or it was deleted with its app or account\n"
    );
}

#[test]
fn every_command_works_beside_a_server_on_sqlite() {
    all_commands_work(&Workspace::sqlite());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_works_beside_a_server_on_postgres() {
    if let Some(workspace) = Workspace::postgres().await {
        all_commands_work(&workspace);
    }
}

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

/// A new password must end all access that the old one granted.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_revokes_sessions_and_tokens_unless_tokens_are_kept() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["account", "add", "bob"]);
    let server = Process::start(workspace.path(), &workspace.flags());
    let tokens = ["alice", "bob"].map(|name| workspace.run(&["token", "issue", name]));
    let status = async |token: &str| {
        let url = format!("{}/api/v1/accounts/verify_credentials", server.url);
        let request = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
        request.send().await.unwrap().status().as_u16()
    };
    let [alice, bob] = &tokens;
    assert_eq!((status(alice).await, status(bob).await), (200, 200), "both tokens are cached now");

    let output = workspace.run(&["account", "password", "alice", "--keep-tokens"]);
    assert!(output.starts_with("password of alice changed, its sessions ended\n"), "{output}");
    assert_eq!((status(alice).await, status(bob).await), (200, 200));

    let output = workspace.run(&["account", "password", "alice"]);
    assert!(
        output.starts_with("password of alice changed, its sessions and tokens ended\n"),
        "{output}"
    );
    assert_eq!((status(alice).await, status(bob).await), (401, 200));
}

#[test]
fn commands_work_without_a_server() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    assert!(workspace.run(&["account", "list"]).starts_with("alice\t"));
}

#[test]
fn account_names_are_validated_and_unique() {
    let workspace = Workspace::sqlite();
    for name in ["Alice", "a-", ".b", "", "älice", "a b", &"a".repeat(31)] {
        let message = workspace.fail(&["account", "add", name]);
        assert!(message.starts_with("belfry: the name "), "{name}: {message}");
    }
    workspace.run(&["account", "add", &"a".repeat(30)]);
    workspace.run(&["account", "add", "a.b-c"]);
    workspace.run(&["account", "add", "_0z", "--email", "a@b.example"]);
    assert_eq!(workspace.fail(&["account", "add", "_0z"]), "belfry: the name is already taken\n");
    let email_again = workspace.fail(&["account", "add", "bob", "--email", "A@B.example"]);
    assert_eq!(email_again, "belfry: the e-mail address is already taken\n");
}

#[test]
fn the_account_of_an_application_service_is_added_by_the_server_alone() {
    let workspace = Workspace::sqlite();
    let settings = "[[application_services]]\nid = 'irc'\nas_token = 't'\n\
                    sender_localpart = 'bot'\n";
    std::fs::write(workspace.path().join("belfry.toml"), settings).unwrap();
    let message = workspace.fail(&["account", "add", "bot"]);
    assert!(message.contains("sender_localpart of the application service \"irc\""), "{message}");
    drop(Process::start(workspace.path(), &[]));
    assert!(workspace.run(&["account", "list"]).starts_with("bot\t"));
}

#[test]
fn an_unknown_account_or_app_is_reported_with_the_command_that_lists_them() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let no_account = "belfry: there is no account \"bob\"; see belfry account list\n";
    assert_eq!(workspace.fail(&["account", "disable", "bob"]), no_account);
    assert_eq!(workspace.fail(&["account", "password", "bob"]), no_account);
    assert_eq!(workspace.fail(&["token", "issue", "bob"]), no_account);
    let no_app = "belfry: there is no app \"7\"; see belfry app list\n";
    assert_eq!(workspace.fail(&["app", "show", "7"]), no_app);
}

#[test]
fn an_unknown_scope_is_rejected() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let message = workspace.fail(&["token", "issue", "alice", "--scopes", "read everything"]);
    assert!(message.contains("everything"), "{message}");
}

#[test]
fn a_password_can_come_from_standard_input_and_is_not_printed() {
    let workspace = Workspace::sqlite();
    let add = |name: &str, password: &str| {
        let mut child = belfry(workspace.path(), &["account", "add", name, "--password-stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (success, printed) = add("alice", "correct horse battery\n");
    assert!(success && !printed.contains("password"), "{printed}");
    let (success, _) = add("bob", "short\n");
    assert!(!success, "a password of five characters was accepted");
}

#[test]
fn global_flags_are_accepted_before_and_after_the_command() {
    let workspace = Workspace::sqlite();
    workspace.run(&["--data", "here", "account", "add", "alice"]);
    assert!(workspace.run(&["account", "list", "--data", "here"]).starts_with("alice\t"));
    let missing = workspace.fail(&["account", "list", "--data", "there"]);
    assert!(missing.contains("there/belfry.db: it does not exist"), "{missing}");

    std::fs::write(workspace.path().join("other.toml"), "data = 'here'").unwrap();
    assert!(workspace.run(&["--config", "other.toml", "account", "list"]).starts_with("alice\t"));
    assert!(workspace.run(&["account", "--config", "other.toml", "list"]).starts_with("alice\t"));
}

#[test]
fn config_check_prints_the_effective_settings_and_changes_nothing() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "base_url = 'https://ring.example'")
        .unwrap();
    let output = workspace.run(&["config", "check"]);
    assert!(output.contains("base_url       https://ring.example\n"), "{output}");
    assert!(output.contains("database       SQLite in data/belfry.db\n"), "{output}");
    assert!(output.ends_with("the settings are valid\n"), "{output}");
    assert!(!workspace.path().join("data").exists());
}

#[test]
fn config_check_reports_what_is_wrong_and_where() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "\nlisen = '0.0.0.0:80'").unwrap();
    let message = workspace.fail(&["config", "check"]);
    let expected = "belfry: unknown key `lisen`; did you mean `listen`? (belfry.toml, line 2)\n";
    assert_eq!(message, expected);
    assert_eq!(workspace.fail(&["serve"]), expected, "serve rejects it, too");
    let missing = workspace.fail(&["config", "check", "--config", "nowhere.toml"]);
    assert!(missing.starts_with("belfry: cannot read nowhere.toml: "), "{missing}");
}

#[test]
fn help_names_every_flag_with_its_variable_and_default() {
    let workspace = Workspace::sqlite();
    let help = workspace.run(&["serve", "--help"]);
    for (flag, variable, default) in [
        ("--listen <ADDR>", "BELFRY_LISTEN", "127.0.0.1:8080"),
        ("--data <DIR>", "BELFRY_DATA", "./data"),
        ("--database <URL>", "BELFRY_DATABASE", "SQLite"),
        ("--redis <URL>", "BELFRY_REDIS", "in this process"),
        ("--base-url <URL>", "BELFRY_BASE_URL", "http://LISTEN"),
        ("--limits <MODE>", "BELFRY_LIMITS", "enforce"),
        ("--config <FILE>", "BELFRY_CONFIG", "./belfry.toml"),
    ] {
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [flag, variable, default] {
            assert!(words.contains(part), "{part} is not in the help:\n{help}");
        }
    }
}

#[test]
fn environment_variables_that_are_not_unicode_do_not_panic() {
    let workspace = Workspace::sqlite();
    let not_unicode = OsStr::from_bytes(b"\xff");
    let check = |variable: &OsStr| {
        let mut command = belfry(workspace.path(), &["config", "check"]);
        command.env(variable, not_unicode).output().unwrap()
    };
    assert!(check(OsStr::new("X")).status.success());
    assert!(check(not_unicode).status.success());
    let rejected = check(OsStr::new("BELFRY_DATA"));
    assert_eq!(rejected.status.code(), Some(2), "{rejected:?}");
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_misspelt_one_causes_a_warning() {
    let workspace = Workspace::sqlite();
    let mut command = belfry(workspace.path(), &["config", "check"]);
    let output = command.env("BELFRY_LISTEN", "").env("BELFRY_DATABSE", "x").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("listen         127.0.0.1:8080\n"), "{printed}");
    let expected =
        "belfry: warning: unknown variable BELFRY_DATABSE; did you mean BELFRY_DATABASE?\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

/// As in `belfry account list | head -1`.
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
        &["config", "check"],
        &["explain", "event.json", "--account", "alice"],
        &["explain", "event.json", "--account", "alice", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = belfry(workspace.path(), arguments).stdout(writer).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && message.is_empty(), "{arguments:?}: {message}");
    }
}
