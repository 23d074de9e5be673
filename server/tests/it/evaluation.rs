//! Rule evaluation over HTTP and on the command line, for one user and for many.

mod cache;
mod command;
mod evaluate;
mod explain;
mod huge;
pub(crate) mod many;
mod timed;
pub(crate) mod work_budget;

use axum::http::StatusCode;
use belfry::config::{Config, RateLimitMode};
use serde_json::{Value, json};

use crate::support::{Service, TestClient, TestDatabase, TestResponse};

pub(crate) const EXPLAIN: &str = "POST /_service/client/api/v1/pushrules/explain";
pub(crate) const EVALUATE: &str = "POST /_service/app/v1/evaluate";

pub(crate) const APPLICATION_SERVICE_SETTINGS: &str = "[[application_services]]\nid = 'product'\n\
    as_token = 'token of product'\nsender_localpart = 'product'\n\
    namespaces.users = [{ regex = '@.*' }]\n";

/// Returns a service without rate limits, and a client with its application service's token.
async fn start_with_application_service() -> (Service, TestClient) {
    start_with_settings(APPLICATION_SERVICE_SETTINGS).await
}

async fn start_with_settings(settings: &str) -> (Service, TestClient) {
    start_on(TestDatabase::sqlite(), settings).await
}

async fn start_on(database: TestDatabase, settings: &str) -> (Service, TestClient) {
    let mut config: Config = toml::from_str(settings).unwrap();
    config.limits.mode = RateLimitMode::Off;
    let service = Service::start_on(database, config).await;
    let application_service = service.anonymous_client().with_token("token of product");
    (service, application_service)
}

fn message_event(body: &str) -> Value {
    json!({
        "type": "m.room.message", "room_id": "!r:x", "sender": "@bob:elsewhere.example",
        "content": { "msgtype": "m.text", "body": body },
    })
}

/// Returns a content rule that does not notify.
fn silent_rule(pattern: &str) -> Value {
    json!({ "actions": [], "pattern": pattern })
}

fn user_id(name: &str) -> String {
    format!("@{name}:ring.example")
}

pub(crate) fn members(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "user_id": user_id(name) })).collect()
}

impl TestClient {
    async fn send_json(&self, endpoint: &str, body: &Value) -> TestResponse {
        self.send(endpoint, body.to_string()).await
    }

    /// Returns the response to an explain request.
    async fn explain(&self, body: &Value) -> Value {
        self.send_json(EXPLAIN, body).await.expect_json(StatusCode::OK)
    }

    /// Evaluates an event and returns the groups: the rule's ID, and the users.
    async fn evaluate(&self, body: &Value) -> Vec<(Option<String>, Vec<String>)> {
        let response = self.send_json(EVALUATE, body).await.expect_json(StatusCode::OK);
        let to_string = |value: &Value| value.as_str().unwrap().to_owned();
        let to_pair = |group: &Value| {
            let users = group["users"].as_array().unwrap().iter().map(to_string).collect();
            (group["rule"]["rule_id"].as_str().map(str::to_owned), users)
        };
        response["groups"].as_array().unwrap().iter().map(to_pair).collect()
    }
}

fn rule_group(rule: &str, names: &[&str]) -> (Option<String>, Vec<String>) {
    (Some(rule.to_owned()), names.iter().map(|name| user_id(name)).collect())
}
