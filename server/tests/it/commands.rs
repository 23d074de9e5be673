//! The commands, beside a running server and alone, on both engines.

mod beside;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::support::process::{belfry, run, run_well};
use crate::support::{Process, TestDatabase};

/// A folder to run commands in, and the flags that name the database.
struct Desk {
    folder: TempDir,
    database: Option<TestDatabase>,
}

impl Desk {
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
    fn well(&self, arguments: &[&str]) -> String {
        run_well(self.path(), &[arguments, &self.flags()].concat())
    }

    /// The message of a command that must fail.
    #[track_caller]
    fn badly(&self, arguments: &[&str]) -> String {
        let output = run(self.path(), &[arguments, &self.flags()].concat());
        assert_eq!(output.status.code(), Some(1), "belfry {arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Every command, with a server running on the same data.
fn all_commands_work(desk: &Desk) {
    let _server = Process::start(desk.path(), &desk.flags());

    let added = desk.well(&["account", "add", "alice", "--email", "Alice@Example.org"]);
    assert!(added.starts_with("account alice added, id "), "{added}");
    let password = added.lines().nth(1).unwrap().strip_prefix("password: ").unwrap();
    assert_eq!(password.len(), 23, "{password}");

    let listed = desk.well(&["account", "list"]);
    let fields: Vec<&str> = listed.trim_end().split('\t').collect();
    assert_eq!((fields[0], fields[2], fields[4]), ("alice", "alice@example.org", "active"));

    assert_eq!(desk.well(&["account", "disable", "alice"]), "account alice disabled\n");
    assert!(desk.well(&["account", "list"]).ends_with("\tdisabled\n"));
    assert_eq!(desk.well(&["account", "enable", "alice"]), "account alice enabled\n");
    let changed = desk.well(&["account", "password", "alice"]);
    assert!(changed.contains("\npassword: ") && !changed.contains(password), "{changed}");

    let issued = desk.well(&["token", "issue", "alice", "--scopes", "read write push"]);
    let token = issued.trim_end();
    assert_eq!(token.len(), 51, "{token}");
    desk.well(&["token", "issue", "alice", "--app", "My bot"]);

    let apps = desk.well(&["app", "list"]);
    let titles: Vec<&str> = apps.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(titles, ["Command line", "My bot"]);
    let id = apps.split('\t').next().unwrap();
    assert!(desk.well(&["app", "show", id]).contains("name           Command line\n"));
    assert!(desk.well(&["app", "disable", id]).ends_with("(Command line) disabled\n"));
    assert!(desk.well(&["app", "show", id]).ends_with("state          disabled\n"));
    let refused = desk.badly(&["token", "issue", "alice"]);
    let why = format!("belfry: the app \"Command line\" is disabled; see belfry app enable {id}\n");
    assert_eq!(refused, why);
    assert!(desk.well(&["app", "enable", id]).ends_with("(Command line) enabled\n"));

    assert_eq!(desk.well(&["token", "revoke", token]), "token revoked\n");
    assert_eq!(desk.well(&["token", "revoke", token]), "token revoked\n");
    assert_eq!(desk.badly(&["token", "revoke", "x"]), "belfry: there is no such token\n");
}

#[test]
fn every_command_works_beside_a_server_on_sqlite() {
    all_commands_work(&Desk::sqlite());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_works_beside_a_server_on_postgres() {
    if let Some(desk) = Desk::postgres().await {
        all_commands_work(&desk);
    }
}

// Attack 71.
#[tokio::test(flavor = "multi_thread")]
async fn another_password_ends_what_the_old_one_opened_unless_tokens_are_kept() {
    let desk = Desk::sqlite();
    desk.well(&["account", "add", "alice"]);
    desk.well(&["account", "add", "bob"]);
    let server = Process::start(desk.path(), &desk.flags());
    let tokens = ["alice", "bob"].map(|name| desk.well(&["token", "issue", name]));
    let status = async |token: &str| {
        let url = format!("{}/api/v1/accounts/verify_credentials", server.url);
        let call = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
        call.send().await.unwrap().status().as_u16()
    };
    let [alice, bob] = &tokens;
    assert_eq!((status(alice).await, status(bob).await), (200, 200), "and both are in memory now");

    let said = desk.well(&["account", "password", "alice", "--keep-tokens"]);
    assert!(said.starts_with("password of alice changed, its sessions ended\n"), "{said}");
    assert_eq!((status(alice).await, status(bob).await), (200, 200));

    let said = desk.well(&["account", "password", "alice"]);
    assert!(
        said.starts_with("password of alice changed, its sessions and tokens ended\n"),
        "{said}"
    );
    assert_eq!((status(alice).await, status(bob).await), (401, 200));
}

#[test]
fn commands_work_without_a_server() {
    let desk = Desk::sqlite();
    desk.well(&["account", "add", "alice"]);
    assert!(desk.well(&["account", "list"]).starts_with("alice\t"));
}

#[test]
fn a_name_is_checked_and_taken_once() {
    let desk = Desk::sqlite();
    for name in ["Alice", "a-b", "", "älice", "a b", &"a".repeat(31)] {
        let message = desk.badly(&["account", "add", name]);
        assert!(message.starts_with("belfry: the name "), "{name}: {message}");
    }
    desk.well(&["account", "add", &"a".repeat(30)]);
    desk.well(&["account", "add", "_0z", "--email", "a@b.example"]);
    assert_eq!(desk.badly(&["account", "add", "_0z"]), "belfry: the name is already taken\n");
    let email_again = desk.badly(&["account", "add", "bob", "--email", "A@B.example"]);
    assert_eq!(email_again, "belfry: the e-mail address is already taken\n");
}

#[test]
fn what_is_not_there_is_said_with_a_way_to_look() {
    let desk = Desk::sqlite();
    let no_account = "belfry: there is no account \"bob\"; see belfry account list\n";
    assert_eq!(desk.badly(&["account", "disable", "bob"]), no_account);
    assert_eq!(desk.badly(&["account", "password", "bob"]), no_account);
    assert_eq!(desk.badly(&["token", "issue", "bob"]), no_account);
    let no_app = "belfry: there is no app \"7\"; see belfry app list\n";
    assert_eq!(desk.badly(&["app", "show", "7"]), no_app);
}

#[test]
fn an_unknown_scope_is_refused() {
    let desk = Desk::sqlite();
    desk.well(&["account", "add", "alice"]);
    let message = desk.badly(&["token", "issue", "alice", "--scopes", "read everything"]);
    assert!(message.contains("everything"), "{message}");
}

#[test]
fn a_password_can_come_from_standard_input_and_is_not_printed() {
    let desk = Desk::sqlite();
    let add = |name: &str, password: &str| {
        let mut child = belfry(desk.path(), &["account", "add", name, "--password-stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (good, printed) = add("alice", "correct horse battery\n");
    assert!(good && !printed.contains("password"), "{printed}");
    let (good, _) = add("bob", "short\n");
    assert!(!good, "a password of five characters was taken");
}

#[test]
fn data_and_config_hold_before_and_after_the_command() {
    let desk = Desk::sqlite();
    desk.well(&["--data", "here", "account", "add", "alice"]);
    assert!(desk.well(&["account", "list", "--data", "here"]).starts_with("alice\t"));
    assert_eq!(desk.well(&["account", "list", "--data", "there"]), "");

    std::fs::write(desk.path().join("other.toml"), "data = 'here'").unwrap();
    assert!(desk.well(&["--config", "other.toml", "account", "list"]).starts_with("alice\t"));
    assert!(desk.well(&["account", "--config", "other.toml", "list"]).starts_with("alice\t"));
}

#[test]
fn config_check_says_what_is_in_force_and_changes_nothing() {
    let desk = Desk::sqlite();
    std::fs::write(desk.path().join("belfry.toml"), "base_url = 'https://ring.example'").unwrap();
    let said = desk.well(&["config", "check"]);
    assert!(said.contains("base_url       https://ring.example\n"), "{said}");
    assert!(said.contains("database       SQLite in data/belfry.db\n"), "{said}");
    assert!(said.ends_with("the settings are valid\n"), "{said}");
    assert!(!desk.path().join("data").exists());
}

#[test]
fn config_check_says_what_is_wrong_and_where() {
    let desk = Desk::sqlite();
    std::fs::write(desk.path().join("belfry.toml"), "\nlisen = '0.0.0.0:80'").unwrap();
    let message = desk.badly(&["config", "check"]);
    let expected = "belfry: belfry.toml: line 2: unknown key `lisen`; did you mean `listen`?\n";
    assert_eq!(message, expected);
    assert_eq!(desk.badly(&["serve"]), expected, "and serve refuses it, too");
    let missing = desk.badly(&["config", "check", "--config", "nowhere.toml"]);
    assert!(missing.starts_with("belfry: cannot read nowhere.toml: "), "{missing}");
}

#[test]
fn help_names_every_flag_with_its_variable_and_default() {
    let desk = Desk::sqlite();
    let help = desk.well(&["serve", "--help"]);
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
