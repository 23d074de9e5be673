//! Push rules on two nodes that share one PostgreSQL database.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{pushrules_path, rule_ids};
use crate::support::{ServerProcess, TestDatabase, process};

/// Fails a test that would otherwise wait forever. A write normally reaches the other node within
/// milliseconds.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Two nodes with a private database, and the token of an account.
struct Nodes {
    dir: TempDir,
    database_url: String,
    servers: [ServerProcess; 2],
    token: String,
    client: Client,
}

impl Nodes {
    async fn start() -> Option<Self> {
        let database = TestDatabase::postgres().await?;
        let database_url = database.url().unwrap().to_owned();
        let dir = tempfile::tempdir().unwrap();
        let arguments = ["--database", &database_url, "--limits", "off"];
        let servers = [
            ServerProcess::start(dir.path(), &arguments),
            ServerProcess::start(dir.path(), &arguments),
        ];
        process::run_successfully(
            dir.path(),
            &["account", "add", "alice", "--database", &database_url],
        );
        let token = issue_token(&dir, &database_url);
        Some(Self { dir, database_url, servers, token, client: Client::new() })
    }

    fn url(&self, node: usize, path: &str) -> String {
        format!("{}{}", self.servers[node].url, pushrules_path(path))
    }

    async fn get(&self, node: usize, path: &str) -> (StatusCode, Value) {
        let request = self.client.get(self.url(node, path)).bearer_auth(&self.token);
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn put(&self, node: usize, path: &str) {
        let body = json!({ "actions": ["notify"] });
        let request = self.client.put(self.url(node, path)).bearer_auth(&self.token).json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    }

    async fn post(&self, node: usize, path: &str, body: &Value) -> StatusCode {
        let request = self.client.post(self.url(node, path)).bearer_auth(&self.token).json(body);
        request.send().await.unwrap().status()
    }

    /// Repeats a request until the response is as expected.
    async fn wait_for(
        &self,
        node: usize,
        path: &str,
        is_expected: impl Fn(StatusCode, &Value) -> bool,
    ) {
        let poll = async {
            loop {
                let (status, body) = self.get(node, path).await;
                if is_expected(status, &body) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let poll_result = tokio::time::timeout(TIMEOUT, poll).await;
        poll_result.unwrap_or_else(|_| panic!("node {node} still has the old state of {path:?}"));
    }
}

fn issue_token(dir: &TempDir, database_url: &str) -> String {
    let arguments = ["token", "issue", "alice", "--scopes", "push", "--database", database_url];
    process::run_successfully(dir.path(), &arguments).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_written_on_one_node_is_returned_by_the_other() {
    let Some(nodes) = Nodes::start().await else { return };
    // Fills the caches, so that they have to be invalidated.
    for node in [0, 1] {
        assert_eq!(nodes.get(node, "").await.0, 200);
    }
    for round in 0..20 {
        let writer = round % 2;
        let reader = 1 - round % 2;
        nodes.put(writer, &format!("global/room/r{round}")).await;
        let is_first = |_: StatusCode, body: &Value| {
            body["global"]["room"][0]["rule_id"] == format!("r{round}")
        };
        nodes.wait_for(reader, "", is_first).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_written_on_one_node_can_be_changed_on_the_other_immediately() {
    let Some(nodes) = Nodes::start().await else { return };
    for node in [0, 1] {
        assert_eq!(nodes.get(node, "").await.0, 200);
    }
    for round in 0..20 {
        let writer = round % 2;
        let other_node = 1 - round % 2;
        let path = format!("global/room/r{round}");
        nodes.put(writer, &path).await;
        let enabled_url = nodes.url(other_node, &format!("{path}/enabled"));
        let request = nodes.client.put(enabled_url).bearer_auth(&nodes.token).json(&json!(false));
        assert_eq!(request.send().await.unwrap().status(), 200, "round {round}");
        let request = nodes.client.delete(nodes.url(writer, &path)).bearer_auth(&nodes.token);
        assert_eq!(request.send().await.unwrap().status(), 200, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_revoked_on_one_node_is_rejected_by_the_other() {
    let Some(mut nodes) = Nodes::start().await else { return };
    for round in 0..5 {
        nodes.token = issue_token(&nodes.dir, &nodes.database_url);
        for node in [0, 1] {
            assert_eq!(nodes.get(node, "").await.0, 200, "round {round}");
        }
        let logout_url = format!("{}/_matrix/client/v3/logout", nodes.servers[round % 2].url);
        let response =
            nodes.client.post(logout_url).bearer_auth(&nodes.token).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let is_rejected = |status: StatusCode, body: &Value| {
            status == 401 && body["errcode"] == "M_UNKNOWN_TOKEN"
        };
        let (status, body) = nodes.get(round % 2, "").await;
        assert!(is_rejected(status, &body), "the same node rejects it immediately: {body}");
        nodes.wait_for(1 - round % 2, "", is_rejected).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_rule_of_64_concurrent_clients_on_two_nodes_is_lost() {
    let Some(nodes) = Nodes::start().await else { return };
    let nodes = std::sync::Arc::new(nodes);
    let mut clients = JoinSet::new();
    for client in 0..64 {
        let nodes = std::sync::Arc::clone(&nodes);
        clients.spawn(async move {
            for rule in (client..1000).step_by(64) {
                nodes.put(rule / 64 % 2, &format!("global/room/r{rule}")).await;
            }
        });
    }
    clients.join_all().await;
    for node in [0, 1] {
        let has_all_rules = |_: StatusCode, body: &Value| {
            let mut numbers: Vec<usize> = rule_ids(&body["global"]["room"], false)
                .iter()
                .map(|id| id[1..].parse().unwrap())
                .collect();
            numbers.sort_unstable();
            numbers == (0..1000).collect::<Vec<_>>()
        };
        nodes.wait_for(node, "", has_all_rules).await;
    }
    let path = "global/room/";
    assert_eq!(nodes.get(0, path).await, nodes.get(1, path).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_on_one_node_deletes_what_the_other_has_just_stored() {
    let Some(nodes) = Nodes::start().await else { return };
    for (node, round) in [(0, 0), (1, 1)] {
        nodes.put(1 - node, &format!("device/new_{round}/room/a")).await;
        assert_eq!(nodes.post(node, "reset", &json!({})).await, 200);
        let export = nodes.get(node, "export").await.1;
        assert_eq!((&export["device"], &export["global"]["room"]), (&json!({}), &json!([])));
    }
}
