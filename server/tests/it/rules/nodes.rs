//! Two processes on one PostgreSQL: what one writes the other shows, and nothing is lost.

use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{at, ids};
use crate::support::{Process, TestDatabase, process};

/// Within this time a node has heard of another's write.
const SECOND: Duration = Duration::from_secs(1);

/// So long a single node may take on a busy machine before it is said to be deaf.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two servers and the token of an account, on a database of their own.
struct Nodes {
    folder: TempDir,
    url: String,
    servers: [Process; 2],
    token: String,
    client: Client,
}

impl Nodes {
    async fn start() -> Option<Self> {
        let database = TestDatabase::postgres().await?;
        let url = database.url().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        let serve = ["--database", &url, "--limits", "off"];
        let servers =
            [Process::start(folder.path(), &serve), Process::start(folder.path(), &serve)];
        process::run_well(folder.path(), &["account", "add", "alice", "--database", &url]);
        let token = issue(&folder, &url);
        Some(Self { folder, url, servers, token, client: Client::new() })
    }

    fn at(&self, node: usize, path: &str) -> String {
        format!("{}{}", self.servers[node].url, at(path))
    }

    async fn get(&self, node: usize, path: &str) -> (StatusCode, Value) {
        let call = self.client.get(self.at(node, path)).bearer_auth(&self.token);
        let answer = call.send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    async fn put(&self, node: usize, path: &str) {
        let body = json!({ "actions": ["notify"] });
        let call = self.client.put(self.at(node, path)).bearer_auth(&self.token).json(&body);
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    }

    /// Asks a node until it answers as wanted, and says when it was asked that.
    async fn until(
        &self,
        node: usize,
        path: &str,
        wanted: impl Fn(StatusCode, &Value) -> bool,
    ) -> Duration {
        let began = Instant::now();
        loop {
            let asked = began.elapsed();
            let (status, body) = self.get(node, path).await;
            if wanted(status, &body) {
                return asked;
            }
            assert!(asked < PATIENCE, "node {node} does not know after {asked:?}: {body}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A machine that is busy with other things may delay one round, and not most of them.
fn mostly_within_a_second(mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("the other node knew after {times:?}");
    assert!(times[times.len() / 2] < SECOND, "{times:?}");
}

fn issue(folder: &TempDir, url: &str) -> String {
    let arguments = ["token", "issue", "alice", "--scopes", "push", "--database", url];
    process::run_well(folder.path(), &arguments).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_written_through_one_node_is_read_through_the_other_within_a_second() {
    let Some(nodes) = Nodes::start().await else { return };
    // Warm: without that, nothing would have to be forgotten.
    for node in [0, 1] {
        assert_eq!(nodes.get(node, "").await.0, 200);
    }
    let mut times = Vec::new();
    for round in 0..20 {
        let (writer, reader) = (round % 2, 1 - round % 2);
        nodes.put(writer, &format!("global/room/r{round}")).await;
        let there = |_: StatusCode, body: &Value| {
            body["global"]["room"][0]["rule_id"] == format!("r{round}")
        };
        times.push(nodes.until(reader, "", there).await);
    }
    mostly_within_a_second(times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_written_through_one_node_can_be_changed_through_the_other_at_once() {
    let Some(nodes) = Nodes::start().await else { return };
    for node in [0, 1] {
        assert_eq!(nodes.get(node, "").await.0, 200);
    }
    for round in 0..20 {
        let (writer, other) = (round % 2, 1 - round % 2);
        let rule = format!("global/room/r{round}");
        nodes.put(writer, &rule).await;
        let enabled = nodes.at(other, &format!("{rule}/enabled"));
        let call = nodes.client.put(enabled).bearer_auth(&nodes.token).json(&json!(false));
        assert_eq!(call.send().await.unwrap().status(), 200, "round {round}");
        let call = nodes.client.delete(nodes.at(writer, &rule)).bearer_auth(&nodes.token);
        assert_eq!(call.send().await.unwrap().status(), 200, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_revoked_through_one_node_is_refused_by_the_other_within_a_second() {
    let Some(mut nodes) = Nodes::start().await else { return };
    let mut times = Vec::new();
    for round in 0..5 {
        nodes.token = issue(&nodes.folder, &nodes.url);
        for node in [0, 1] {
            assert_eq!(nodes.get(node, "").await.0, 200, "round {round}");
        }
        let logout = format!("{}/_matrix/client/v3/logout", nodes.servers[round % 2].url);
        let answer = nodes.client.post(logout).bearer_auth(&nodes.token).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let unknown = |status: StatusCode, body: &Value| {
            status == 401 && body["errcode"] == "M_UNKNOWN_TOKEN"
        };
        let (status, body) = nodes.get(round % 2, "").await;
        assert!(unknown(status, &body), "the same node refuses it at once: {body}");
        times.push(nodes.until(1 - round % 2, "", unknown).await);
    }
    mostly_within_a_second(times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_1000_rules_put_by_64_clients_of_two_nodes_none_is_lost() {
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
        let all = |_: StatusCode, body: &Value| {
            let mut found: Vec<usize> = ids(&body["global"]["room"], false)
                .iter()
                .map(|id| id[1..].parse().unwrap())
                .collect();
            found.sort_unstable();
            found == (0..1000).collect::<Vec<_>>()
        };
        nodes.until(node, "", all).await;
    }
    let path = "global/room/";
    assert_eq!(nodes.get(0, path).await, nodes.get(1, path).await);
}
