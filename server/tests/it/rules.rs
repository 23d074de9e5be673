//! Push rules API over HTTP.

mod application_services;
mod authorization;
mod builtin;
mod devices;
mod endpoints;
mod fields;
mod limits;
mod malformed;
mod many;
mod nodes;
mod parallel;
mod paths;
mod placement;
mod timed;

use axum::http::StatusCode;
use belfry::config::RateLimitMode;
use serde_json::{Value, json};

use crate::support::service::{config_with, unlimited_config};
use crate::support::{Service, TestClient, TestDatabase, TestResponse};

/// The five kinds, in the order of evaluation.
pub(crate) const KINDS: [&str; 5] = ["override", "content", "room", "sender", "underride"];

/// Starts a service without rate limits, on SQLite.
pub(crate) async fn start_unlimited() -> Service {
    Service::start_with(config_with(|config| config.limits.mode = RateLimitMode::Off)).await
}

/// Starts a service without rate limits on this database.
async fn start_unlimited_on(database: TestDatabase) -> Service {
    Service::start_on(database, unlimited_config()).await
}

/// Returns the path of a push rules resource under the default prefix.
pub(crate) fn pushrules_path(path: &str) -> String {
    format!("/_service/client/api/v1/pushrules/{path}")
}

impl TestClient {
    /// Gets a push rules resource, which must succeed.
    #[track_caller]
    pub(crate) fn get_rules(&self, path: &str) -> impl Future<Output = Value> {
        let client = self.clone();
        let path = path.to_owned();
        async move { client.get(&pushrules_path(&path)).await.expect_json(StatusCode::OK) }
    }

    /// Puts a rule, or its `enabled` or `actions`.
    pub(crate) async fn put_rule(&self, path: &str, body: &Value) -> TestResponse {
        self.send(&format!("PUT {}", pushrules_path(path)), body.to_string()).await
    }

    /// Puts a rule, or its `enabled` or `actions`, which must succeed with `{}`.
    pub(crate) async fn put_rule_ok(&self, path: &str, body: &Value) {
        let response = self.put_rule(path, body).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({}), "PUT {path} {body}");
    }

    pub(crate) async fn delete_rule(&self, path: &str) -> TestResponse {
        self.send(&format!("DELETE {}", pushrules_path(path)), "").await
    }

    /// Returns the ids of the user rules at this path, in order.
    pub(crate) async fn user_rule_ids(&self, path: &str) -> Vec<String> {
        rule_ids(&self.get_rules(path).await, false)
    }
}

/// Returns the ids of the built-in rules in an array, or of the user rules unless `is_builtin`.
pub(crate) fn rule_ids(rules: &Value, is_builtin: bool) -> Vec<String> {
    let matching_rules =
        rules.as_array().unwrap().iter().filter(|rule| rule["default"] == is_builtin);
    matching_rules.map(|rule| rule["rule_id"].as_str().unwrap().to_owned()).collect()
}

/// Returns a body with only the required fields of a kind.
pub(crate) fn minimal_rule(kind: &str) -> Value {
    match kind {
        "content" => json!({ "actions": ["notify"], "pattern": "cake" }),
        _ => json!({ "actions": ["notify"] }),
    }
}
