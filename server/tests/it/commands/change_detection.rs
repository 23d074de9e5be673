//! A running server detects changes by commands.

use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;

use super::Workspace;
use crate::support::{ServerProcess, on_both_engines};

/// Far longer than the second that a server takes to detect a change.
const TIMEOUT: Duration = Duration::from_mins(1);

struct ServedWorkspace {
    workspace: Workspace,
    server: ServerProcess,
    client: Client,
}

impl ServedWorkspace {
    fn start(workspace: Workspace) -> Self {
        let server = ServerProcess::start(workspace.path(), &workspace.flags());
        Self { workspace, server, client: Client::new() }
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

async fn a_server_detects_changes_by_commands(workspace: Workspace) {
    let served_workspace = ServedWorkspace::start(workspace);
    let find_password = |output: &str| {
        let password = output.lines().find_map(|line| line.strip_prefix("password: "));
        password.unwrap_or_else(|| panic!("{output}")).to_owned()
    };
    let old_password = find_password(&served_workspace.workspace.run(&["account", "add", "alice"]));
    let issue_token = ["token", "issue", "alice", "--scopes", "push"];
    let token = served_workspace.workspace.run(&issue_token).trim_end().to_owned();
    let other_token = served_workspace.workspace.run(&issue_token).trim_end().to_owned();
    for token in [&token, &other_token] {
        assert_eq!(served_workspace.token_status(token).await, 200, "the token is cached now");
    }
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 200);

    served_workspace.workspace.run(&["account", "disable", "alice"]);
    served_workspace.wait_for_status(&token, 403).await;
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 403);
    served_workspace.workspace.run(&["account", "enable", "alice"]);
    served_workspace.wait_for_status(&token, 200).await;

    served_workspace.workspace.run(&["token", "revoke", &token]);
    served_workspace.wait_for_status(&token, 401).await;
    assert_eq!(
        served_workspace.token_status(&other_token).await,
        200,
        "the other token is still valid"
    );

    let keep_tokens = ["account", "password", "alice", "--keep-tokens"];
    let new_password = find_password(&served_workspace.workspace.run(&keep_tokens));
    assert_eq!(served_workspace.sign_in_status(&old_password).await, 403);
    assert_eq!(served_workspace.sign_in_status(&new_password).await, 200);
    assert_eq!(served_workspace.token_status(&other_token).await, 200, "the token is still valid");

    let apps = served_workspace.workspace.run(&["app", "list"]);
    let app = apps.lines().find(|line| line.contains("\tCommand line\t")).unwrap();
    let app = app.split('\t').next().unwrap();
    served_workspace.workspace.run(&["app", "disable", app]);
    served_workspace.wait_for_status(&other_token, 401).await;
    served_workspace.workspace.run(&["app", "enable", app]);
    served_workspace.wait_for_status(&other_token, 200).await;

    served_workspace.workspace.run(&["account", "password", "alice"]);
    served_workspace.wait_for_status(&other_token, 401).await;

    let third_token = served_workspace.workspace.run(&issue_token).trim_end().to_owned();
    served_workspace.wait_for_status(&third_token, 200).await;
    served_workspace.workspace.run(&["app", "delete", app]);
    served_workspace.wait_for_status(&third_token, 401).await;
    let fourth_token = served_workspace.workspace.run(&issue_token).trim_end().to_owned();
    served_workspace.wait_for_status(&fourth_token, 200).await;
    served_workspace.workspace.run(&["account", "delete", "alice"]);
    served_workspace.wait_for_status(&fourth_token, 401).await;
    assert_eq!(served_workspace.sign_in_status(&new_password).await, 403);
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
    let run_json = |arguments: &[&str]| served_workspace.workspace.run_json(arguments).remove(0);
    let add = ["app", "add", "Tusky", "--redirect-uri", "https://app.example/cb"];
    let app = run_json(&add);
    let [id, client_id, first_secret] =
        ["id", "client_id", "client_secret"].map(|key| app[key].as_str().unwrap());
    wait_for_token_status(&served_workspace, client_id, first_secret, 200).await;

    let rotation = run_json(&["app", "secret", id]);
    let second_secret = rotation["client_secret"].as_str().unwrap();
    wait_for_token_status(&served_workspace, client_id, second_secret, 200).await;
    wait_for_token_status(&served_workspace, client_id, first_secret, 200).await;

    let rotation = run_json(&["app", "secret", id, "--keep-old", "0"]);
    let third_secret = rotation["client_secret"].as_str().unwrap();
    wait_for_token_status(&served_workspace, client_id, third_secret, 200).await;
    wait_for_token_status(&served_workspace, client_id, second_secret, 401).await;
    wait_for_token_status(&served_workspace, client_id, first_secret, 401).await;
}

on_both_engines! {
    crate::commands::create_workspace:
    a_server_accepts_the_secrets_that_commands_print,
    a_server_detects_changes_by_commands,
}
