//! A running server notices changes by commands.

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use super::Workspace;
use crate::support::process::belfry;
use crate::support::{Process, on_both_engines};

/// Far more than the second within which a server notices a change.
const DEADLINE: Duration = Duration::from_mins(1);

/// A way to name the database.
#[derive(Clone, Copy, Debug)]
enum Source {
    FlagBefore,
    FlagAfter,
    Variable,
    File,
}

/// A workspace with a server, whose commands name the database in every possible way.
struct ServedWorkspace {
    workspace: Workspace,
    server: Process,
    client: Client,
}

impl Workspace {
    /// Returns the flag and its value for a database other than the default one.
    fn database_flag(&self) -> [&str; 2] {
        match self.flags()[..] {
            [flag, url] => [flag, url],
            _ => ["--data", "elsewhere"],
        }
    }
}

impl ServedWorkspace {
    fn start(workspace: Workspace) -> Self {
        let server = Process::start(workspace.path(), &workspace.database_flag());
        Self { workspace, server, client: Client::new() }
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    fn run(&self, source: Source, arguments: &[&str]) -> String {
        let output = self.command(source, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{source:?} {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self, source: Source, arguments: &[&str]) -> Command {
        let flag = self.workspace.database_flag();
        let name = flag[0].trim_start_matches('-');
        let new_command = |arguments: &[&str]| belfry(self.workspace.path(), arguments);
        match source {
            Source::FlagBefore => new_command(&[&flag, arguments].concat()),
            Source::FlagAfter => new_command(&[arguments, &flag].concat()),
            Source::Variable => {
                let mut command = new_command(arguments);
                command.env(format!("BELFRY_{}", name.to_uppercase()), flag[1]);
                command
            }
            Source::File => {
                let text = format!("{name} = '{}'", flag[1]);
                std::fs::write(self.workspace.path().join("other.toml"), text).unwrap();
                let mut command = new_command(arguments);
                command.env("BELFRY_CONFIG", "other.toml");
                command
            }
        }
    }

    async fn status(&self, token: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/pushrules/", self.server.url);
        self.client.get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
    }

    async fn wait_for_status(&self, token: &str, expected: u16) {
        let start = Instant::now();
        while self.status(token).await != expected {
            assert!(
                start.elapsed() < DEADLINE,
                "the server did not notice the change to {expected}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn sign_in(&self, password: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/login", self.server.url);
        let body = json!({ "type": "m.login.password", "user": "alice", "password": password });
        self.client.post(url).json(&body).send().await.unwrap().status().as_u16()
    }
}

async fn a_server_notices_changes_by_commands(workspace: Workspace) {
    let served = ServedWorkspace::start(workspace);
    let password = |printed: &str| {
        let password = printed.lines().find_map(|line| line.strip_prefix("password: "));
        password.unwrap_or_else(|| panic!("{printed}")).to_owned()
    };
    let old = password(&served.run(Source::Variable, &["account", "add", "alice"]));
    let issue = ["token", "issue", "alice", "--scopes", "push"];
    let token = served.run(Source::File, &issue).trim_end().to_owned();
    let other = served.run(Source::FlagBefore, &issue).trim_end().to_owned();
    for token in [&token, &other] {
        assert_eq!(served.status(token).await, 200, "the token is cached now");
    }
    assert_eq!(served.sign_in(&old).await, 200);

    served.run(Source::FlagBefore, &["account", "disable", "alice"]);
    served.wait_for_status(&token, 403).await;
    assert_eq!(served.sign_in(&old).await, 403);
    served.run(Source::File, &["account", "enable", "alice"]);
    served.wait_for_status(&token, 200).await;

    served.run(Source::Variable, &["token", "revoke", &token]);
    served.wait_for_status(&token, 401).await;
    assert_eq!(served.status(&other).await, 200, "the other token is still valid");

    let keep = ["account", "password", "alice", "--keep-tokens"];
    let new = password(&served.run(Source::FlagAfter, &keep));
    assert_eq!(served.sign_in(&old).await, 403);
    assert_eq!(served.sign_in(&new).await, 200);
    assert_eq!(served.status(&other).await, 200, "the token is still valid");

    let apps = served.run(Source::FlagBefore, &["app", "list"]);
    let app = apps.lines().find(|line| line.contains("\tCommand line\t")).unwrap();
    let app = app.split('\t').next().unwrap();
    served.run(Source::Variable, &["app", "disable", app]);
    served.wait_for_status(&other, 401).await;
    served.run(Source::File, &["app", "enable", app]);
    served.wait_for_status(&other, 200).await;

    served.run(Source::FlagBefore, &["account", "password", "alice"]);
    served.wait_for_status(&other, 401).await;

    let third = served.run(Source::FlagAfter, &issue).trim_end().to_owned();
    served.wait_for_status(&third, 200).await;
    served.run(Source::File, &["app", "delete", app]);
    served.wait_for_status(&third, 401).await;
    let fourth = served.run(Source::FlagBefore, &issue).trim_end().to_owned();
    served.wait_for_status(&fourth, 200).await;
    served.run(Source::Variable, &["account", "delete", "alice"]);
    served.wait_for_status(&fourth, 401).await;
    assert_eq!(served.sign_in(&new).await, 403);
    assert!(!served.workspace.path().join("data").exists(), "the default database was created");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_notices_changes_by_commands_on_sqlite() {
    a_server_notices_changes_by_commands(Workspace::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_notices_changes_by_commands_on_postgres() {
    if let Some(workspace) = Workspace::postgres().await {
        a_server_notices_changes_by_commands(workspace).await;
    }
}

/// Requests app tokens until the response has this status, because the server notices a change of
/// the secret with a delay.
async fn wait_for_token_status(served: &ServedWorkspace, id: &str, secret: &str, expected: u16) {
    let url = format!("{}/oauth/token", served.server.url);
    let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let start = Instant::now();
    loop {
        let response = served.client.post(&url).form(&form).send().await.unwrap();
        if response.status().as_u16() == expected {
            return;
        }
        assert!(start.elapsed() < DEADLINE, "{} instead of {expected}", response.status());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn a_server_accepts_the_secrets_that_commands_print(workspace: Workspace) {
    let served = ServedWorkspace::start(workspace);
    let json = |source, arguments: &[&str]| -> Value {
        let printed = served.run(source, &[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap()
    };
    let add = ["app", "add", "Tusky", "--redirect-uri", "https://app.example/cb"];
    let app = json(Source::FlagAfter, &add);
    let [id, client_id, first] =
        ["id", "client_id", "client_secret"].map(|key| app[key].as_str().unwrap());
    wait_for_token_status(&served, client_id, first, 200).await;

    let rotated = json(Source::Variable, &["app", "secret", id]);
    let second = rotated["client_secret"].as_str().unwrap();
    wait_for_token_status(&served, client_id, second, 200).await;
    wait_for_token_status(&served, client_id, first, 200).await;

    let rotated = json(Source::File, &["app", "secret", id, "--keep-old", "0"]);
    let third = rotated["client_secret"].as_str().unwrap();
    wait_for_token_status(&served, client_id, third, 200).await;
    wait_for_token_status(&served, client_id, second, 401).await;
    wait_for_token_status(&served, client_id, first, 401).await;
}

on_both_engines! {
    crate::commands::start:
    a_server_accepts_the_secrets_that_commands_print,
}
