//! Clients that read rules, write rules and request tokens, and record which writes were
//! acknowledged.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::TIMEOUT;
use crate::support::process::run_successfully;

/// Number of concurrent clients, each with a rule.
const CLIENTS: usize = 6;

pub(super) struct Load {
    shared: Arc<Shared>,
    clients: JoinSet<AcknowledgedWrites>,
    account_token: String,
}

/// The counters and the stop flag that all clients share.
#[derive(Default)]
struct Shared {
    is_stopped: AtomicBool,
    successes: AtomicU64,
    /// Descriptions of requests that failed.
    failures: Mutex<Vec<String>>,
}

struct AcknowledgedWrites {
    rule_path: String,
    pattern: String,
    tokens: Vec<String>,
}

/// A client that sends requests through nginx.
struct Worker {
    rule_path: String,
    account_token: String,
    url: String,
    client: Client,
    shared: Arc<Shared>,
    app_credentials: [(&'static str, String); 2],
}

const RULES_PATH: &str = "/_matrix/client/v3/pushrules/";

impl Load {
    /// Starts clients that send requests to nginx at this URL, with an account in this database.
    pub(super) async fn start(url: &str, database: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let run_on_database = |arguments: &[&str]| {
            run_successfully(dir.path(), &[arguments, &["--database", database]].concat())
        };
        run_on_database(&["account", "add", "alice"]);
        let account_token =
            run_on_database(&["token", "issue", "alice", "--scopes", "push"]).trim().to_owned();
        let (shared, mut clients) = (Arc::<Shared>::default(), JoinSet::new());
        for number in 0..CLIENTS {
            // Each client has its own app, because an app may have only 100 app tokens.
            let app = json!({ "client_name": "App", "redirect_uris": "https://app.example/" });
            let response = Client::new().post(format!("{url}/api/v1/apps")).json(&app).send().await;
            let app: Value = response.unwrap().json().await.unwrap();
            let worker = Worker {
                rule_path: format!("{RULES_PATH}global/content/{number}"),
                account_token: account_token.clone(),
                url: url.to_owned(),
                client: Client::builder().timeout(TIMEOUT).build().unwrap(),
                shared: Arc::clone(&shared),
                app_credentials: ["client_id", "client_secret"]
                    .map(|key| (key, app[key].as_str().unwrap().to_owned())),
            };
            clients.spawn(worker.run());
        }
        Self { shared, clients, account_token }
    }

    /// Waits until this many more requests have succeeded.
    pub(super) async fn wait_for_requests(&self, increase: u64) {
        let count = || self.shared.successes.load(Ordering::Relaxed);
        let start = Instant::now();
        let before = count();
        while count() < before + increase {
            assert!(start.elapsed() < TIMEOUT, "no progress: {:?}", self.shared.failures);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops the clients and asserts that the nodes have every acknowledged write. Returns the
    /// failed requests.
    pub(super) async fn stop_and_verify(self, node_urls: &[String]) -> Vec<String> {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        let writes = self.clients.join_all().await;
        let client = Client::new();
        let mut node_urls = node_urls.iter().cycle();
        for AcknowledgedWrites { rule_path, pattern, tokens } in writes {
            for _ in 0..3 {
                let url = format!("{}{rule_path}", node_urls.next().unwrap());
                wait_for_pattern(&client, &url, &self.account_token, &pattern).await;
            }
            assert!(!tokens.is_empty());
            for token in tokens.iter().rev().take(100) {
                let url = format!("{}/api/v1/apps/verify_credentials", node_urls.next().unwrap());
                let status = client.get(url).bearer_auth(token).send().await.unwrap().status();
                assert_eq!(status, 200, "a token was lost");
            }
        }
        std::mem::take(&mut self.shared.failures.lock().unwrap())
    }
}

/// Waits until the rule has this pattern. A node may return an older, cached pattern until it is
/// notified of the write.
async fn wait_for_pattern(client: &Client, url: &str, token: &str, pattern: &str) {
    let start = Instant::now();
    loop {
        let response = client.get(url).bearer_auth(token).send().await.unwrap();
        let rule: Value = response.json().await.unwrap();
        if rule["pattern"] == pattern {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{rule} instead of {pattern}: a write was lost");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Worker {
    /// Sends requests until the load is stopped.
    async fn run(self) -> AcknowledgedWrites {
        let token = &self.account_token;
        let mut writes = AcknowledgedWrites {
            rule_path: self.rule_path.clone(),
            pattern: String::new(),
            tokens: vec![],
        };
        let mut number = 0_u64;
        while !self.shared.is_stopped.load(Ordering::Relaxed) {
            number += 1;
            let pattern = format!("pattern {number}");
            let body = json!({ "actions": ["notify"], "pattern": pattern });
            let put_request =
                self.client.put(format!("{}{}", self.url, self.rule_path)).bearer_auth(token);
            if self.send("PUT", put_request.json(&body)).await.is_some() {
                writes.pattern = pattern;
            }
            let get_request =
                self.client.get(format!("{}{RULES_PATH}", self.url)).bearer_auth(token);
            self.send("GET", get_request).await;
            let mut form = vec![("grant_type", "client_credentials")];
            form.extend(self.app_credentials.iter().map(|(key, value)| (*key, value.as_str())));
            let token_request = self.client.post(format!("{}/oauth/token", self.url)).form(&form);
            if let Some(body) = self.send("POST", token_request).await {
                writes.tokens.push(body["access_token"].as_str().unwrap().to_owned());
            }
        }
        writes
    }

    /// Returns the body of a successful response. Other responses are recorded as failures.
    async fn send(&self, method: &str, request: reqwest::RequestBuilder) -> Option<Value> {
        let failure = match request.send().await {
            Ok(response) if response.status() == 200 => match response.json().await {
                Ok(body) => {
                    self.shared.successes.fetch_add(1, Ordering::Relaxed);
                    return Some(body);
                }
                Err(error) => format!("{method}: {error}"),
            },
            Ok(response) => {
                let status = response.status();
                format!("{method}: {status} {}", response.text().await.unwrap_or_default())
            }
            Err(error) => format!("{method}: {error:?}"),
        };
        self.shared.failures.lock().unwrap().push(failure);
        None
    }
}
