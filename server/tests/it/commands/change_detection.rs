//! A running server detects changes by commands.

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use super::Workspace;
use crate::support::process::belfry_command;
use crate::support::{ServerProcess, on_both_engines};

/// Far longer than the second that a server takes to detect a change.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A way to name the database.
#[derive(Clone, Copy, Debug)]
enum DatabaseSource {
    FlagBefore,
    FlagAfter,
    Variable,
    File,
}

/// A workspace with a server, whose commands name the database in every possible way.
struct ServedWorkspace {
    workspace: Workspace,
    server: ServerProcess,
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
        let server = ServerProcess::start(workspace.path(), &workspace.database_flag());
        Self { workspace, server, client: Client::new() }
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    fn run(&self, source: DatabaseSource, arguments: &[&str]) -> String {
        let output = self.build_command(source, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{source:?} {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn build_command(&self, source: DatabaseSource, arguments: &[&str]) -> Command {
        let flag = self.workspace.database_flag();
        let name = flag[0].trim_start_matches('-');
        let new_command = |arguments: &[&str]| belfry_command(self.workspace.path(), arguments);
        match source {
            DatabaseSource::FlagBefore => new_command(&[&flag, arguments].concat()),
            DatabaseSource::FlagAfter => new_command(&[arguments, &flag].concat()),
            DatabaseSource::Variable => {
                let mut command = new_command(arguments);
                command.env(format!("BELFRY_{}", name.to_uppercase()), flag[1]);
                command
            }
            DatabaseSource::File => {
                let settings = format!("{name} = '{}'", flag[1]);
                std::fs::write(self.workspace.path().join("other.toml"), settings).unwrap();
                let mut command = new_command(arguments);
                command.env("BELFRY_CONFIG", "other.toml");
                command
            }
        }
    }

    async fn token_status(&self, token: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/pushrules/", self.server.url);
        self.client.get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
    }

    async fn wait_for_status(&self, token: &str, expected: u16) {
        let start = Instant::now();
        while self.token_status(token).await != expected {
            assert!(
                start.elapsed() < TIMEOUT,
                "the server did not detect the change to {expected}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn sign_in_status(&self, password: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/login", self.server.url);
        let body = json!({ "type": "m.login.password", "user": "alice", "password": password });
        self.client.post(url).json(&body).send().await.unwrap().status().as_u16()
    }
}

async fn assert_a_server_detects_changes_by_commands(workspace: Workspace) {
    let served_workspace = ServedWorkspace::start(workspace);
    let find_password = |output: &str| {
        let password = output.lines().find_map(|line| line.strip_prefix("password: "));
        password.unwrap_or_else(|| panic!("{output}")).to_owned()
    };
    let old_password = find_password(
        &served_workspace.run(DatabaseSource::Variable, &["account", "add", "alice"]),
    );
    let issue_token = ["token", "issue", "alice", "--scopes", "push"];
    let token = served_workspace.run(DatabaseSource::File, &issue_token).trim_end().to_owned();
    let other_token =
        served_workspace.run(DatabaseSource::FlagBefore, &issue_token).trim_end().to_owned();
    for token in [&token, &other_token] {
        assert_eq!(served_workspace.token_status(token).await, 200, "the token is cached now");
    }
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 200);

    served_workspace.run(DatabaseSource::FlagBefore, &["account", "disable", "alice"]);
    served_workspace.wait_for_status(&token, 403).await;
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 403);
    served_workspace.run(DatabaseSource::File, &["account", "enable", "alice"]);
    served_workspace.wait_for_status(&token, 200).await;

    served_workspace.run(DatabaseSource::Variable, &["token", "revoke", &token]);
    served_workspace.wait_for_status(&token, 401).await;
    assert_eq!(
        served_workspace.token_status(&other_token).await,
        200,
        "the other token is still valid"
    );

    let keep_tokens = ["account", "password", "alice", "--keep-tokens"];
    let new_password =
        find_password(&served_workspace.run(DatabaseSource::FlagAfter, &keep_tokens));
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 403);
    assert_eq!(served_workspace.sign_in_status(&new_password).await, 200);
    assert_eq!(served_workspace.token_status(&other_token).await, 200, "the token is still valid");

    let apps = served_workspace.run(DatabaseSource::FlagBefore, &["app", "list"]);
    let app = apps.lines().find(|line| line.contains("\tCommand line\t")).unwrap();
    let app = app.split('\t').next().unwrap();
    served_workspace.run(DatabaseSource::Variable, &["app", "disable", app]);
    served_workspace.wait_for_status(&other_token, 401).await;
    served_workspace.run(DatabaseSource::File, &["app", "enable", app]);
    served_workspace.wait_for_status(&other_token, 200).await;

    served_workspace.run(DatabaseSource::FlagBefore, &["account", "password", "alice"]);
    served_workspace.wait_for_status(&other_token, 401).await;

    let third_token =
        served_workspace.run(DatabaseSource::FlagAfter, &issue_token).trim_end().to_owned();
    served_workspace.wait_for_status(&third_token, 200).await;
    served_workspace.run(DatabaseSource::File, &["app", "delete", app]);
    served_workspace.wait_for_status(&third_token, 401).await;
    let fourth_token =
        served_workspace.run(DatabaseSource::FlagBefore, &issue_token).trim_end().to_owned();
    served_workspace.wait_for_status(&fourth_token, 200).await;
    served_workspace.run(DatabaseSource::Variable, &["account", "delete", "alice"]);
    served_workspace.wait_for_status(&fourth_token, 401).await;
    assert_eq!(served_workspace.sign_in_status(&new_password).await, 403);
    assert!(
        !served_workspace.workspace.path().join("data").exists(),
        "the default database was created"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_detects_changes_by_commands_on_sqlite() {
    assert_a_server_detects_changes_by_commands(Workspace::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_detects_changes_by_commands_on_postgres() {
    if let Some(workspace) = Workspace::postgres().await {
        assert_a_server_detects_changes_by_commands(workspace).await;
    }
}

/// Requests app tokens until the response has this status, because the server detects a change of
/// the secret with a delay.
async fn wait_for_token_status(
    served_workspace: &ServedWorkspace,
    client_id: &str,
    secret: &str,
    expected: u16,
) {
    let url = format!("{}/oauth/token", served_workspace.server.url);
    let form =
        [("grant_type", "client_credentials"), ("client_id", client_id), ("client_secret", secret)];
    let start = Instant::now();
    loop {
        let response = served_workspace.client.post(&url).form(&form).send().await.unwrap();
        if response.status().as_u16() == expected {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{} instead of {expected}", response.status());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn a_server_accepts_the_secrets_that_commands_print(workspace: Workspace) {
    let served_workspace = ServedWorkspace::start(workspace);
    let run_json = |source, arguments: &[&str]| -> Value {
        let output = served_workspace.run(source, &[arguments, &["--json"]].concat());
        serde_json::from_str(&output).unwrap()
    };
    let add = ["app", "add", "Tusky", "--redirect-uri", "https://app.example/cb"];
    let app = run_json(DatabaseSource::FlagAfter, &add);
    let [id, client_id, first_secret] =
        ["id", "client_id", "client_secret"].map(|key| app[key].as_str().unwrap());
    wait_for_token_status(&served_workspace, client_id, first_secret, 200).await;

    let rotation = run_json(DatabaseSource::Variable, &["app", "secret", id]);
    let second_secret = rotation["client_secret"].as_str().unwrap();
    wait_for_token_status(&served_workspace, client_id, second_secret, 200).await;
    wait_for_token_status(&served_workspace, client_id, first_secret, 200).await;

    let rotation = run_json(DatabaseSource::File, &["app", "secret", id, "--keep-old", "0"]);
    let third_secret = rotation["client_secret"].as_str().unwrap();
    wait_for_token_status(&served_workspace, client_id, third_secret, 200).await;
    wait_for_token_status(&served_workspace, client_id, second_secret, 401).await;
    wait_for_token_status(&served_workspace, client_id, first_secret, 401).await;
}

on_both_engines! {
    crate::commands::create_workspace:
    a_server_accepts_the_secrets_that_commands_print,
}
