//! A server process that delivers notifications, and can be restarted.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{NOTIFICATIONS, SUBSCRIPTION, process_settings, subscription_body};
use crate::support::ServerProcess;
use crate::support::process::run_successfully;

/// The file of the sealing key in the directory of a [`DeliveringProcess`].
pub(crate) const KEY_FILE: &str = "belfry.key";

/// A server process with the accounts `alice` and `bob`, in its own directory.
pub(crate) struct DeliveringProcess {
    dir: TempDir,
    /// The flags that select the database; none for SQLite in the directory.
    flags: Vec<String>,
    server: Option<ServerProcess>,
}

impl DeliveringProcess {
    pub(crate) fn start() -> Self {
        let mut process = Self::stopped(Vec::new());
        for name in ["alice", "bob"] {
            process.run(&["account", "add", name]);
        }
        process.restart();
        process
    }

    /// Creates the directory of a server with an empty database, and does not start it.
    pub(crate) fn stopped(flags: Vec<String>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!("secret_key_file = '{KEY_FILE}'\n{}", process_settings());
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        Self { dir, flags, server: None }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn flags(&self) -> impl Iterator<Item = &str> {
        self.flags.iter().map(String::as_str)
    }

    /// Runs a command, which must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let arguments: Vec<&str> = arguments.iter().copied().chain(self.flags()).collect();
        run_successfully(self.path(), &arguments)
    }

    /// Runs a command that prints lines of JSON.
    #[track_caller]
    pub(crate) fn run_json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(&[arguments, &["--json"]].concat());
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Starts the server, after killing the previous process if it still runs.
    pub(crate) fn restart(&mut self) {
        self.server = None;
        let log_level = ["--log-level", "trace", "--limits", "off"];
        let arguments: Vec<&str> = log_level.into_iter().chain(self.flags()).collect();
        self.server = Some(ServerProcess::start(self.path(), &arguments));
    }

    pub(crate) fn server(&mut self) -> &mut ServerProcess {
        self.server.as_mut().unwrap()
    }

    /// Stops the server with SIGTERM, and waits until it exits.
    pub(crate) fn stop(&mut self) {
        self.server().signal("TERM");
        assert_eq!(self.server().wait(), Some(0));
    }

    pub(crate) fn kill(&mut self) {
        self.server = None;
    }

    /// Sends a JSON body with a token, and returns the response.
    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.server.as_ref().unwrap().url);
        let request = reqwest::Client::new().post(url).bearer_auth(token).json(body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {response:?}");
        response.json().await.unwrap()
    }

    /// Sends a JSON body with the token of the application service, and returns the response.
    /// `target` is the method and path.
    pub(crate) async fn post_as_product(&self, target: &str, body: &Value) -> Value {
        self.post(target.strip_prefix("POST ").unwrap(), "token of product", body).await
    }

    pub(crate) fn issue_token(&self, name: &str) -> String {
        self.run(&["token", "issue", name, "--scopes", "read push"]).trim_end().to_owned()
    }

    /// Adds a subscription of an account. Returns the response.
    pub(crate) async fn subscribe(&self, name: &str, endpoint: &str) -> Value {
        self.post(SUBSCRIPTION, &self.issue_token(name), &subscription_body(endpoint)).await
    }

    /// Sends a mention, which must be accepted for one subscription of an account.
    pub(crate) async fn mention(&self, name: &str, id: u64) {
        let account = format!("@{name}:ring.example");
        let body =
            json!({ "account": account, "type": "mention", "id": id.to_string(), "title": "t" });
        let response = self.post_as_product(NOTIFICATIONS, &body).await;
        assert_eq!(response, json!({ "accepted": 1 }), "{name}");
    }

    /// Returns the deliveries to an account, oldest first.
    pub(crate) fn delivery_log(&self, name: &str) -> Vec<Value> {
        self.run_json(&["push", "log", name])
    }

    /// Waits until no delivery to an account is waiting, and returns all of them, oldest first.
    pub(crate) async fn wait_for_outcomes(&self, name: &str) -> Vec<Value> {
        self.wait_for_deliveries(name, |delivery| delivery["outcome"].is_string()).await
    }

    /// Waits until every delivery to an account meets a condition, and returns all of them.
    pub(crate) async fn wait_for_deliveries(
        &self,
        name: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        for _ in 0..300 {
            let log = self.delivery_log(name);
            if log.iter().all(&condition) {
                return log;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{:#?}", self.delivery_log(name));
    }
}
