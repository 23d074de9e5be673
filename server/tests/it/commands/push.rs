//! `belfry push …`, next to a server that delivers to a push service on this machine.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Workspace;
use crate::delivery::{NOTIFY, PUSHERS, SUBSCRIPTION, notify_body, pusher_body, subscription_body};
use crate::evaluation::APPLICATION_SERVICE_SETTINGS;
use crate::support::process::run_belfry;
use crate::support::push_service::PushRequest;
use crate::support::{PushService, ServerProcess, TestDatabase, on_both_engines};

const PUSH_SETTINGS: &str =
    "[push]\ncontact = 'mailto:ops@ring.example'\nallowed_networks = ['127.0.0.0/8']\n";

/// A workspace with a server that delivers, and an account `alice`.
pub(super) struct DeliveringWorkspace {
    pub(super) workspace: Workspace,
    server: Option<ServerProcess>,
}

pub(super) async fn start_delivering(database: TestDatabase) -> DeliveringWorkspace {
    DeliveringWorkspace::start(super::create_workspace(database).await)
}

impl DeliveringWorkspace {
    pub(super) fn start(workspace: Workspace) -> Self {
        workspace.run(&["key", "new", "belfry.key"]);
        workspace.configure(&format!(
            "secret_key_file = 'belfry.key'\nserver_name = 'ring.example'\n\
             {APPLICATION_SERVICE_SETTINGS}{PUSH_SETTINGS}"
        ));
        workspace.run(&["account", "add", "alice"]);
        let mut fixture = Self { workspace, server: None };
        fixture.restart();
        fixture
    }

    pub(super) fn stop(&mut self) {
        self.server = None;
    }

    pub(super) fn restart(&mut self) {
        self.stop();
        let server = ServerProcess::start(self.workspace.path(), &self.workspace.flags());
        self.server = Some(server);
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.as_ref().unwrap().url)
    }

    /// Sends a JSON body with a token, and returns the response.
    async fn post(&self, path: &str, token: &str, body: &Value) -> Value {
        let request = reqwest::Client::new().post(self.url(path)).bearer_auth(token).json(body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {response:?}");
        response.json().await.unwrap()
    }

    fn issue_token(&self, name: &str) -> String {
        let issue = ["token", "issue", name, "--scopes", "read push", "--app", "Tusky"];
        self.workspace.run(&issue).trim_end().to_owned()
    }

    /// Adds a subscription of an account. Returns its id.
    pub(super) async fn subscribe(&self, name: &str, endpoint: &str) -> String {
        let body = subscription_body(endpoint);
        self.post(SUBSCRIPTION, &self.issue_token(name), &body).await["id"].to_string()
    }

    /// Sets a pusher for alice. `changes` replaces members of the default body.
    async fn set_pusher(&self, changes: &Value, url: &str) {
        let body = pusher_body(changes, url);
        self.post(&format!("{PUSHERS}/set"), &self.issue_token("alice"), &body).await;
    }

    fn receivers(&self) -> Vec<Value> {
        self.workspace.run_json(&["push", "list", "alice"])
    }

    /// Runs `belfry push test` for alice, which must fail. Returns its output and its message.
    #[track_caller]
    pub(super) fn run_failing_test(&self, arguments: &[&str]) -> (String, String) {
        let arguments = [&["push", "test", "alice"], arguments, &self.workspace.flags()].concat();
        let output = run_belfry(self.workspace.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (stdout, stderr)
    }
}

/// Responds with the status in the path, and asks to wait an hour before the next message.
fn respond_by_path(request: &PushRequest) -> Response {
    let status = request.path.trim_start_matches('/').parse().unwrap();
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("retry-after", "3600")]).into_response()
}

async fn receivers_are_listed_without_their_urls(fixture: DeliveringWorkspace) {
    let workspace = &fixture.workspace;
    let service = PushService::start().await;
    workspace.run(&["account", "add", "bob"]);
    assert_eq!(workspace.run(&["push", "list"]), "");
    let id = fixture.subscribe("alice", &format!("{}/secret", service.url)).await;
    fixture.set_pusher(&json!({ "profile_tag": "home" }), &service.url).await;
    fixture.subscribe("bob", &format!("{}/secret", service.url)).await;

    let receivers = fixture.receivers();
    let subscription = receivers.iter().find(|receiver| receiver["id"] == id.as_str()).unwrap();
    let account = workspace.run_json(&["account", "show", "alice"]).remove(0);
    let expected = json!({
        "account": "alice",
        "account_id": account["id"],
        "id": id,
        "kind": "mastodon",
        "app": "Tusky",
        "device": null,
        "profile_tag": null,
        "origin": service.url,
        "vapid_key": workspace.run_json(&["push", "list", "--keys"])[0]["public_key"],
        "state": "active",
        "created_at": subscription["created_at"],
        "succeeded_at": null,
        "failed_at": null,
        "failure": null,
    });
    assert_eq!(*subscription, expected);
    let pusher = receivers.iter().find(|receiver| receiver["kind"] == "gateway").unwrap();
    let names = ["app", "device", "profile_tag"].map(|name| pusher[name].as_str().unwrap());
    assert_eq!(names, ["Example", "Phone", "home"]);

    let table = workspace.run(&["push", "list", "alice"]);
    let line = format!("alice\t{id}\tmastodon\tTusky\t{}\tactive\tnever\tnever\t-\n", service.url);
    assert!(
        table.contains(&line) && table.contains("\tgateway\tExample (Phone, profile_tag home)\t"),
        "{table}"
    );
    let all = workspace.run(&["push", "list"]);
    assert!(all.starts_with(&table) && all.lines().count() == 3, "{all}");
    assert_eq!(workspace.run(&["push", "list", "--limit", "1"]).lines().count(), 1);
    let json = workspace.run(&["push", "list", "--json"]);
    assert!(!format!("{all}{json}").contains("secret"), "{all}{json}");
}

async fn a_test_reaches_the_receivers_of_an_account(fixture: DeliveringWorkspace) {
    let workspace = &fixture.workspace;
    let service = PushService::start().await;
    let id = fixture.subscribe("alice", &format!("{}/subscription", service.url)).await;
    fixture.set_pusher(&json!({}), &service.url).await;
    let output = workspace.run(&["push", "test", "alice"]);
    let line = format!("{id} Tusky, {}: delivered, status 201\n", service.url);
    assert!(output.contains(&line) && output.contains(" Example (Phone), "), "{output}");
    assert_eq!(output.matches(": delivered, status 201\n").count(), 2, "{output}");
    let requests = service.requests();
    assert_eq!(requests.len(), 2);
    let gateway_request =
        requests.iter().find(|request| request.path.starts_with("/_matrix")).unwrap();
    let content = gateway_request.json()["notification"]["content"].to_string();
    assert!(content.contains("sent this notification as a test"), "{content}");
    assert!(fixture.receivers().iter().all(|receiver| receiver["succeeded_at"].is_string()));

    assert_eq!(workspace.run(&["push", "test", "alice", &id]), line);
    assert_eq!(service.requests().len(), 3);
    assert_eq!(service.requests()[2].path, "/subscription");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_is_not_delivered_reports_the_reason() {
    let fixture = DeliveringWorkspace::start(Workspace::sqlite());
    for (status, result) in [
        (410, "not delivered, receiver removed: status 410; the client must subscribe again"),
        (
            413,
            "not delivered: status 413; the push service does not accept this message: ask its \
             operator",
        ),
    ] {
        let service = PushService::start_with(respond_by_path).await;
        let id = fixture.subscribe("alice", &format!("{}/{status}", service.url)).await;
        let (output, message) = fixture.run_failing_test(&[&id, "--wait", "60s"]);
        assert_eq!(output, format!("{id} Tusky, {}: {result}\n", service.url));
        assert_eq!(message, "belfry: 1 test not delivered\n");
    }
    assert_eq!(fixture.receivers().len(), 1, "the receiver with 410 is gone");

    let service = PushService::start_with(respond_by_path).await;
    let id = fixture.subscribe("alice", &format!("{}/503", service.url)).await;
    let (output, _) = fixture.run_failing_test(&[&id, "--wait", "60s"]);
    let expected_text = ": not delivered after 1 attempt: status 503; next attempt at 2";
    assert!(output.contains(expected_text), "{output}");
    assert!(output.ends_with("Z; the push service has a problem: wait, or ask its operator\n"));
    let (output, _) = fixture.run_failing_test(&[&id]);
    assert!(
        output.contains(": not sent yet: earlier messages failed, next attempt at 2"),
        "{output}"
    );
    assert_eq!(service.requests().len(), 1);
    let receiver = fixture.receivers().into_iter().find(|row| row["id"] == id.as_str()).unwrap();
    assert_eq!(receiver["failure"], "status 503");
    assert!(receiver["failed_at"].is_string() && receiver["succeeded_at"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_gets_no_messages_is_not_tested() {
    let fixture = DeliveringWorkspace::start(Workspace::sqlite());
    let service = PushService::start().await;
    let test_only_receiver = |state: &str, reason: &str| {
        let receiver = fixture.receivers().pop().unwrap();
        assert_eq!(receiver["state"], state);
        let id = receiver["id"].as_str().unwrap();
        let (output, _) = fixture.run_failing_test(&[]);
        assert!(output.contains(&format!(": not sent: {reason}")), "{output}");
        fixture.workspace.run(&["push", "remove", id]);
    };
    fixture.set_pusher(&json!({ "enabled": false }), &service.url).await;
    test_only_receiver("disabled", "the client has disabled the pusher");
    let (key, auth) = crate::delivery::client_keys();
    let data = json!({ "url": format!("{}/x", service.url), "auth": auth });
    let web_push = json!({ "kind": "webpush", "pushkey": key, "data": data });
    fixture.set_pusher(&web_push, &service.url).await;
    test_only_receiver("unacknowledged", "its client has not acknowledged it yet");
    fixture.subscribe("alice", &service.url).await;
    fixture.workspace.run(&["app", "disable", "cli:Tusky"]);
    test_only_receiver("ended", "its account or app is disabled, or its token is no longer valid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_needs_a_server_and_a_receiver() {
    let mut fixture = DeliveringWorkspace::start(Workspace::sqlite());
    let service = PushService::start().await;
    let (_, message) = fixture.run_failing_test(&[]);
    assert_eq!(message, "belfry: alice has no receivers: a client must subscribe first\n");
    let id = fixture.subscribe("alice", &service.url).await;
    let (_, message) = fixture.run_failing_test(&["7"]);
    assert_eq!(message, "belfry: alice has no receiver 7; run `belfry push list alice`\n");
    fixture.stop();
    let (output, _) = fixture.run_failing_test(&[&id, "--wait", "1"]);
    let result = "no result within 1s: an attempt may take 10 seconds, or no server sends messages: start belfry serve with this \
                  database and push.contact";
    assert_eq!(output, format!("{id} Tusky, {}: {result}\n", service.url));
    let log = fixture.workspace.run_json(&["push", "log", "alice"]);
    assert_eq!((&log[0]["attempts"], &log[0]["outcome"]), (&json!(0), &Value::Null));
    fixture.restart();
    service.wait_for(1).await;
}

/// Waits until every delivery to alice has an outcome, and returns the log.
async fn wait_for_outcomes(workspace: &Workspace) -> Vec<Value> {
    for _ in 0..100 {
        let log = workspace.run_json(&["push", "log", "alice"]);
        if log.iter().all(|line| line["outcome"].is_string()) {
            return log;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("deliveries are still waiting");
}

async fn the_log_shows_each_delivery_with_its_rule(fixture: DeliveringWorkspace) {
    let workspace = &fixture.workspace;
    let service = PushService::start().await;
    fixture.set_pusher(&json!({}), &service.url).await;
    let path = NOTIFY.strip_prefix("POST ").unwrap();
    for event_id in ["$1", "$2"] {
        fixture.post(path, "token of product", &notify_body(event_id, &["alice"])).await;
    }
    // A test comes later and is sent to the same receiver.
    workspace.run(&["push", "test", "alice"]);
    let log = wait_for_outcomes(workspace).await;
    let events: Vec<&str> = log.iter().map(|line| line["event_id"].as_str().unwrap()).collect();
    assert!(matches!(events[..], ["$1", "$2", test] if test.starts_with("test-")), "{events:?}");
    let receiver_id = fixture.receivers()[0]["id"].clone();
    let expected = json!({
        "accepted_at": log[0]["accepted_at"],
        "event_id": "$1",
        "rule": "global/underride/.m.rule.room_one_to_one",
        "receiver_id": receiver_id,
        "attempts": 1,
        "outcome": "delivered",
        "due_at": null,
        "expires_at": log[0]["expires_at"],
        "finished_at": log[0]["finished_at"],
        "status": 201,
        "error": null,
    });
    assert_eq!(log[0], expected);
    assert!(log[0]["finished_at"].is_string() && log[2]["rule"].is_null());
    let output = workspace.run(&["push", "log", "alice", "--event", "$2"]);
    let columns: Vec<&str> = output.trim_end().split('\t').collect();
    let id = receiver_id.as_str().unwrap();
    let rule = "global/underride/.m.rule.room_one_to_one";
    assert_eq!(columns[1..], ["$2", rule, id, "1", "delivered", "201", "-"]);
    let newest = workspace.run_json(&["push", "log", "alice", "--limit", "1"]);
    assert_eq!(newest, log[2..]);
    assert_eq!(workspace.run(&["push", "log", "alice", "--event", "$3"]), "");
}

async fn a_removed_receiver_is_in_the_audit_trail(fixture: DeliveringWorkspace) {
    let workspace = &fixture.workspace;
    workspace.run(&["account", "add", "bob"]);
    let id = fixture.subscribe("alice", "https://push.example/1").await;
    let not_found = |name: &str| {
        format!("belfry: {name} has no receiver {id}; run `belfry push list {name}`\n")
    };
    let message = workspace.run_failing(&["push", "remove", &id, "--account", "bob"]);
    assert_eq!(message, not_found("bob"), "the receiver of a different account remains");
    let output = workspace.run(&["push", "remove", &id]);
    assert_eq!(output, format!("receiver {id} of alice removed\n"));
    assert_eq!(fixture.receivers(), [Value::Null; 0]);
    let message = workspace.run_failing(&["push", "remove", &id]);
    assert_eq!(message, format!("belfry: there is no receiver {id}; run `belfry push list`\n"));
    let events = workspace.run_json(&["audit", "--kind", "receiver_remove"]);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["account"], &events[0]["origin"]),
        (&json!("alice"), &json!("command-line"))
    );
}

/// Ids are random, so this is rare.
#[tokio::test(flavor = "multi_thread")]
async fn the_account_is_required_if_several_have_a_receiver_with_the_same_id() {
    let fixture = DeliveringWorkspace::start(Workspace::sqlite());
    let workspace = &fixture.workspace;
    workspace.run(&["account", "add", "bob"]);
    for name in ["alice", "bob"] {
        fixture.subscribe(name, "https://push.example/1").await;
    }
    let database = rusqlite::Connection::open(workspace.path().join("data/belfry.db")).unwrap();
    assert_eq!(database.execute("update receivers set id = 5", ()).unwrap(), 2);
    let message = workspace.run_failing(&["push", "remove", "5"]);
    let expected = "belfry: several accounts have a receiver 5: alice, bob; add --account NAME\n";
    assert_eq!(message, expected);
    workspace.run(&["push", "remove", "5", "--account", "bob"]);
    assert_eq!(workspace.run(&["push", "remove", "5"]), "receiver 5 of alice removed\n");
}

async fn a_running_server_uses_a_new_vapid_key(fixture: DeliveringWorkspace) {
    let service = PushService::start().await;
    let id = fixture.subscribe("alice", &format!("{}/old", service.url)).await;
    let key_states = |fixture: &DeliveringWorkspace| -> Vec<(String, Value, Value)> {
        let keys = fixture.workspace.run_json(&["push", "list", "--keys"]).into_iter();
        let columns = |key: Value| {
            let public_key = key["public_key"].as_str().unwrap().to_owned();
            (public_key, key["receivers"].clone(), key["state"].clone())
        };
        keys.map(columns).collect()
    };
    let old_key = key_states(&fixture).remove(0).0;
    assert_eq!(key_states(&fixture), [(old_key.clone(), json!(1), json!("newest"))]);

    let output = fixture.workspace.run(&["push", "key", "new"]);
    let new_key = key_states(&fixture).remove(1).0;
    assert!(output.starts_with(&format!("VAPID key {new_key} added\nrunning servers use it")));
    assert!(output.contains("keep it until they are gone"), "{output}");
    let expected =
        [(old_key.clone(), json!(1), json!("old")), (new_key.clone(), json!(0), json!("newest"))];
    assert_eq!(key_states(&fixture), expected);
    let table = fixture.workspace.run(&["push", "list", "--keys"]);
    assert!(table.starts_with(&format!("{old_key}\t")) && table.ends_with("\t0\tnewest\n"));
    let events = fixture.workspace.run_json(&["audit", "--kind", "vapid_key_add"]);
    let origins: Vec<&Value> = events.iter().map(|event| &event["origin"]).collect();
    assert_eq!(origins, ["server", "command-line"]);

    let subscribed_key = async |fixture: &DeliveringWorkspace| {
        let body = subscription_body(&format!("{}/other", service.url));
        let response = fixture.post(SUBSCRIPTION, &fixture.issue_token("alice"), &body).await;
        response["server_key"].as_str().unwrap().to_owned()
    };
    // The server looks for new keys every ten seconds.
    while subscribed_key(&fixture).await == old_key {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(subscribed_key(&fixture).await, new_key);
    fixture.workspace.run(&["push", "test", "alice", &id]);
    let authorization = service.requests()[0].header("crypto-key").to_owned();
    assert!(authorization.contains(&old_key), "{authorization}");
}

async fn a_missing_or_wrong_sealing_key_destroys_nothing(mut fixture: DeliveringWorkspace) {
    let service = PushService::start().await;
    fixture.subscribe("alice", &service.url).await;
    let gateway = PushService::start_with(|_| "{}".into_response()).await;
    fixture.set_pusher(&json!({}), &gateway.url).await;
    fixture.stop();
    let workspace = &fixture.workspace;
    let key_file = workspace.path().join("belfry.key");
    let right_key = std::fs::read(&key_file).unwrap();
    let start = ["serve", "--listen", "127.0.0.1:0"];

    std::fs::remove_file(&key_file).unwrap();
    let message = workspace.run_failing(&start);
    assert!(message.contains("cannot read the sealing key belfry.key"), "{message}");
    assert!(message.contains("put a copy of the file back"), "{message}");
    assert!(message.contains("`belfry push key new --replace-lost-key`"), "{message}");
    assert!(!key_file.exists());

    workspace.run(&["key", "new", "belfry.key"]);
    let message = workspace.run_failing(&start);
    assert!(
        message.contains("sealed with a different sealing key: put that key back"),
        "{message}"
    );
    assert!(message.contains("`belfry push key new --replace-lost-key`"), "{message}");
    let message = workspace.run_failing(&["push", "key", "new"]);
    let expected = "belfry: the newest VAPID key was sealed with a different sealing key: check \
                    secret_key_file; if that sealing key is lost, add --replace-lost-key\n";
    assert_eq!(message, expected);

    let new_key = std::fs::read(&key_file).unwrap();
    std::fs::write(&key_file, right_key).unwrap();
    fixture.restart();
    fixture.workspace.run(&["push", "test", "alice"]);
    assert_eq!((service.requests().len(), gateway.requests().len()), (1, 1));

    fixture.stop();
    let workspace = &fixture.workspace;
    std::fs::write(&key_file, new_key).unwrap();
    let output = workspace.run(&["push", "key", "new", "--replace-lost-key"]);
    assert!(
        output.ends_with("1 receiver removed, whose clients must subscribe again\n"),
        "{output}"
    );
    let keys = workspace.run_json(&["push", "list", "--keys"]);
    let states: Vec<&Value> = keys.iter().map(|key| &key["state"]).collect();
    assert_eq!(states, ["unreadable", "newest"]);
    fixture.restart();
    fixture.workspace.run(&["push", "test", "alice"]);
    assert_eq!(gateway.requests().len(), 2, "a push gateway needs no secrets");
    let kinds: Vec<Value> = fixture.receivers().iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(kinds, ["gateway"]);
}

/// The receivers remain if delivery is turned off.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_contact_receivers_can_be_listed_and_removed() {
    let mut fixture = DeliveringWorkspace::start(Workspace::sqlite());
    let id = fixture.subscribe("alice", "https://push.example/1").await;
    fixture.stop();
    let workspace = &fixture.workspace;
    workspace.configure("server_name = 'ring.example'");
    for arguments in
        [&["push", "test", "alice"][..], &["push", "list", "--keys"], &["push", "key", "new"]]
    {
        let message = workspace.run_failing(arguments);
        assert_eq!(
            message,
            "belfry: delivery is off: set push.contact, such as \"mailto:ops@ring.example\", and \
             restart the server\n"
        );
    }
    assert_eq!(workspace.run(&["push", "list"]).lines().count(), 1);
    assert_eq!(workspace.run(&["push", "log", "alice"]), "");
    workspace.run(&["push", "remove", &id]);
    assert_eq!(workspace.run(&["push", "list"]), "");
}

#[test]
fn invalid_arguments_are_rejected() {
    let workspace = Workspace::sqlite();
    workspace.configure(PUSH_SETTINGS);
    workspace.run(&["account", "add", "alice"]);
    for command in ["list", "log"] {
        let message = workspace.run_failing(&["push", command, "nobody"]);
        assert_eq!(message, "belfry: there is no account \"nobody\"; run `belfry account list`\n");
    }
    let message = workspace.run_failing(&["push", "remove", "1", "--account", "nobody"]);
    assert!(message.contains("there is no account \"nobody\""), "{message}");
    // The server has not started yet.
    for arguments in [&["push", "test", "alice"][..], &["push", "list", "--keys"]] {
        let message = workspace.run_failing(arguments);
        let expected = "belfry: cannot read the sealing key data/belfry.key: No such file";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("`belfry serve` creates it"), "{message}");
    }
    for arguments in [
        &["push", "remove", "x"][..],
        &["push", "test", "alice", "--wait", "soon"],
        &["push", "log", "alice", "--limit", "0"],
        &["push", "key", "new", "--json"],
        &["push", "list", "alice", "--keys"],
    ] {
        let output = run_belfry(workspace.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

on_both_engines! {
    crate::commands::push::start_delivering:
    a_missing_or_wrong_sealing_key_destroys_nothing,
    receivers_are_listed_without_their_urls,
    a_test_reaches_the_receivers_of_an_account,
    the_log_shows_each_delivery_with_its_rule,
    a_removed_receiver_is_in_the_audit_trail,
    a_running_server_uses_a_new_vapid_key,
}
