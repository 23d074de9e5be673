//! Accounts and origins that fail, next to others that must get their messages.
//!
//! In these tests, time is real, and the server is a process that is also restarted.

use std::collections::HashMap;
use std::future::pending;
use std::iter::repeat_n;
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::process::DeliveringProcess;
use super::{NOTIFICATIONS, PUSHERS, SUBSCRIPTION, notify_body, pusher_body, subscription_body};
use crate::support::PushService;
use crate::support::push_service::PushRequest;

/// Fails a test whose messages are delayed as long as the pauses of a lane that fails.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Accounts that use the origins under attack.
const OTHERS: [&str; 3] = ["ben", "cat", "dan"];

/// Number of events for each of the other accounts, about five a second.
const EVENTS: usize = 17;
const EVENT_INTERVAL: Duration = Duration::from_millis(200);

/// Number of attempts that a device may get while the other accounts get their messages. Its pauses
/// double, so the last of these attempts is minutes after the first.
const MAX_ATTEMPTS: usize = 8;

/// The response to a message of the attacker.
#[derive(Debug, Clone, Copy)]
enum Attack {
    Status(u16),
    /// The status 429 with this `Retry-After`.
    RetryAfter(&'static str),
    Silence,
}

const ATTACKS: [Attack; 6] = [
    Attack::Status(403),
    Attack::Status(404),
    Attack::Status(429),
    Attack::RetryAfter("600"),
    Attack::Status(502),
    Attack::Silence,
];

impl Attack {
    /// Starts an origin that responds in this way to devices of attackers, and accepts the messages
    /// of others.
    async fn start(self) -> PushService {
        PushService::start_async(move |request| async move {
            if attacking_device(&request).is_none() {
                return "{}".into_response();
            }
            match self {
                Self::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
                Self::RetryAfter(seconds) => {
                    let headers = [(header::RETRY_AFTER, seconds)];
                    (StatusCode::TOO_MANY_REQUESTS, headers).into_response()
                }
                Self::Silence => pending().await,
            }
        })
        .await
    }
}

/// Returns the device of an attacker to which a message is sent: the path of a subscription or the
/// push key of a pusher.
fn attacking_device(request: &PushRequest) -> Option<String> {
    if request.path == "/mallory" {
        return Some(request.path.clone());
    }
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let push_key = body["notification"]["devices"][0]["pushkey"].as_str()?;
    push_key.starts_with("mallory").then(|| push_key.to_owned())
}

fn count_of_others(origin: &PushService) -> usize {
    let requests = origin.requests();
    requests.iter().filter(|request| attacking_device(request).is_none()).count()
}

/// Returns the highest number of attempts of a device of an attacker.
fn max_attempts(origin: &PushService) -> usize {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for device in origin.requests().iter().filter_map(attacking_device) {
        *counts.entry(device).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

struct Installation {
    process: DeliveringProcess,
    /// Number of events so far, and of those for the other accounts.
    events: usize,
    events_of_others: usize,
}

impl Installation {
    /// Starts a server with the other accounts, which have a pusher for each origin and have got a
    /// message there.
    async fn start(origins: &[PushService]) -> Self {
        let process = DeliveringProcess::start();
        let mut installation = Self { process, events: 0, events_of_others: 0 };
        for name in OTHERS {
            installation.add_pushers(name, origins.iter().map(|origin| origin.url.clone())).await;
        }
        installation.send_to_others(origins, 1).await;
        installation
    }

    /// Adds an account with a pusher for each URL.
    async fn add_pushers(&self, name: &str, urls: impl IntoIterator<Item = String>) {
        self.process.run(&["account", "add", name]);
        let token = self.process.issue_token(name);
        for (number, url) in urls.into_iter().enumerate() {
            let body = pusher_body(&json!({ "pushkey": format!("{name}{number}") }), &url);
            self.process.post(&format!("{PUSHERS}/set"), &token, &body).await;
        }
    }

    /// Reports an event to accounts, and returns the number of accepted messages.
    async fn notify(&mut self, names: &[&str]) -> usize {
        self.events += 1;
        let body = notify_body(&format!("${}", self.events), names);
        let response = self.process.post_as_product(super::NOTIFY, &body).await;
        usize::try_from(response["accepted"].as_u64().unwrap()).unwrap()
    }

    /// Sends events to the other accounts, and waits until all of them are delivered.
    async fn send_to_others(&mut self, origins: &[PushService], events: usize) {
        self.events_of_others += events;
        for _ in 0..events {
            assert_eq!(self.notify(&OTHERS).await, origins.len() * OTHERS.len());
            tokio::time::sleep(EVENT_INTERVAL).await;
        }
        let start = Instant::now();
        for name in OTHERS {
            let is_delivered = |delivery: &Value| delivery["outcome"] == "delivered";
            loop {
                let log = self.process.run_json(&["push", "log", name, "--limit", "10000"]);
                assert_eq!(log.len(), self.events_of_others * origins.len(), "{name}");
                if log.iter().all(is_delivered) {
                    break;
                }
                let waiting: Vec<&Value> = log.iter().filter(|row| !is_delivered(row)).collect();
                assert!(start.elapsed() < TIMEOUT, "{name}: {waiting:#?}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        for origin in origins {
            let expected = self.events_of_others * OTHERS.len();
            assert_eq!(count_of_others(origin), expected, "each message arrives once");
        }
    }

    /// Sends events to the others, also after a restart, and asserts that the attacker's messages
    /// still wait when those of the others have arrived.
    async fn assert_others_are_not_delayed(&mut self, origins: &[PushService]) {
        for is_restarted in [false, true] {
            if is_restarted {
                self.process.restart();
            }
            self.send_to_others(origins, EVENTS).await;
            for (attack, origin) in ATTACKS.iter().zip(origins) {
                let attempts = max_attempts(origin);
                assert!((1..=MAX_ATTEMPTS).contains(&attempts), "{attack:?}: {attempts} attempts");
            }
        }
    }

    /// Asserts that an account has waiting messages, and that none was delivered.
    fn assert_wait(&self, name: &str) {
        let outcomes: Vec<Value> =
            self.process.delivery_log(name).iter().map(|row| row["outcome"].clone()).collect();
        assert!(outcomes.iter().any(Value::is_null), "{name}: {outcomes:?}");
        assert!(!outcomes.contains(&json!("delivered")), "{name}");
    }
}

async fn start_attacks() -> Vec<PushService> {
    let mut origins = Vec::new();
    for attack in ATTACKS {
        origins.push(attack.start().await);
    }
    origins
}

/// The devices of an account fail with 100 messages, at an origin that others use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_failing_devices_of_an_account_delay_nobody_else_at_their_origin() {
    let origins = start_attacks().await;
    let mut installation = Installation::start(&origins).await;
    let attackers = ["mallory0", "mallory1", "mallory2", "mallory3", "mallory4", "mallory5"];
    for (name, origin) in attackers.iter().zip(&origins) {
        installation.add_pushers(name, repeat_n(origin.url.clone(), 20)).await;
    }
    for _ in 0..5 {
        assert_eq!(installation.notify(&attackers).await, attackers.len() * 20);
    }
    installation.assert_others_are_not_delayed(&origins).await;
    for name in attackers {
        installation.assert_wait(name);
    }
}

/// A single device fails with 100 messages. Its protocol is Web Push, for which 403 and 404 have
/// another meaning than for push gateways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_device_delays_nobody_else_at_its_origin() {
    let origins = start_attacks().await;
    let mut installation = Installation::start(&origins).await;
    for origin in &origins {
        let token = installation.process.issue_token("alice");
        let body = subscription_body(&format!("{}/mallory", origin.url));
        installation.process.post(SUBSCRIPTION, &token, &body).await;
    }
    let mut accepted = 0;
    for id in 1..=100 {
        let body = json!({
            "account": "@alice:ring.example", "type": "mention", "id": id.to_string(), "title": "t",
        });
        let response = installation.process.post_as_product(NOTIFICATIONS, &body).await;
        accepted += response["accepted"].as_u64().unwrap();
    }
    // The device that does not exist was deleted after its first message.
    assert!((501..=600).contains(&accepted), "{accepted}");
    installation.assert_others_are_not_delayed(&origins).await;
    installation.assert_wait("alice");
}

/// The origins of three accounts refuse connections, do not respond, or have names without an
/// address. They delay neither an origin that has accepted messages before, also not after a
/// restart, nor a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_dead_origins_delay_no_others() {
    let origin = PushService::start().await;
    let origins = [origin];
    let mut installation = Installation::start(&origins).await;
    let mut silent = Vec::new();
    let mut urls = Vec::new();
    for number in 0..20 {
        // Networks of their own, because the number of connections to each is limited.
        let listener = TcpListener::bind((format!("127.0.1.{number}"), 0)).await.unwrap();
        urls.push(format!("http://{}", listener.local_addr().unwrap()));
        silent.push(listener);
        let refusing = TcpListener::bind((format!("127.0.2.{number}"), 0)).await.unwrap();
        urls.push(format!("http://{}", refusing.local_addr().unwrap()));
        urls.push(format!("https://host{number}.invalid"));
    }
    let attackers = ["mallory0", "mallory1", "mallory2"];
    for (name, urls) in attackers.iter().zip(urls.chunks(20)) {
        installation.add_pushers(name, urls.iter().cloned()).await;
    }
    for _ in 0..5 {
        assert_eq!(installation.notify(&attackers).await, urls.len());
    }
    for is_restarted in [false, true] {
        if is_restarted {
            installation.process.restart();
        }
        installation.send_to_others(&origins, EVENTS).await;
        let new_origin = PushService::start().await;
        let account = if is_restarted { "bob" } else { "alice" };
        installation.process.subscribe(account, &new_origin.url).await;
        installation.process.mention(account, 1).await;
        new_origin.wait_for(1).await;
    }
    for name in attackers {
        installation.assert_wait(name);
    }
}

/// Slow responses are not failures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: takes a minute"]
async fn an_origin_that_responds_in_five_seconds_gets_every_message_in_time() {
    let origin = PushService::start_async(|_| async {
        tokio::time::sleep(Duration::from_millis(5200)).await;
        StatusCode::CREATED.into_response()
    })
    .await;
    let process = DeliveringProcess::start();
    process.subscribe("alice", &origin.url).await;
    for id in 1..=10 {
        let body = json!({
            "account": "@alice:ring.example", "type": "mention", "id": id.to_string(), "title": "t",
            "ttl_ms": 60_000,
        });
        let response = process.post_as_product(NOTIFICATIONS, &body).await;
        assert_eq!(response, json!({ "accepted": 1 }));
    }
    let deadline = Instant::now() + 2 * TIMEOUT;
    let log = loop {
        let log = process.delivery_log("alice");
        if log.iter().all(|delivery| delivery["outcome"].is_string()) || Instant::now() > deadline {
            break log;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    for delivery in &log {
        let result = (&delivery["outcome"], &delivery["attempts"]);
        assert_eq!(result, (&json!("delivered"), &json!(1)), "{delivery:#?}");
    }
    assert_eq!((log.len(), origin.requests().len()), (10, 10));
}
