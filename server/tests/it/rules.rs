//! The push rules over HTTP, as the contract has them, and every decision where it is silent.

mod application_services;
mod bounds;
mod builtin;
mod callers;
mod devices;
mod endpoints;
mod fields;
mod malformed;
mod nodes;
mod parallel;
mod paths;
mod placement;

use axum::http::StatusCode;
use belfry::config::LimitMode;
use serde_json::{Value, json};

use crate::support::service::config;
use crate::support::{Answer, Caller, Service};

/// The five kinds, in the order of evaluation.
pub(crate) const KINDS: [&str; 5] = ["override", "content", "room", "sender", "underride"];

/// A service where no test is stopped by limits.
pub(crate) async fn service() -> Service {
    Service::with(config(|config| config.limits.mode = LimitMode::Off)).await
}

/// A path of the push rules, at the address that the contract gives.
pub(crate) fn at(path: &str) -> String {
    format!("/_service/client/api/v1/pushrules/{path}")
}

impl Caller {
    /// Shows a path of the push rules, which must succeed.
    #[track_caller]
    pub(crate) fn shown(&self, path: &str) -> impl Future<Output = Value> {
        let (caller, path) = (self.clone(), path.to_owned());
        async move { caller.get(&at(&path)).await.expect(StatusCode::OK) }
    }

    /// Puts something at a path of the push rules.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call(&format!("PUT {}", at(path)), body.to_string()).await
    }

    /// Puts something at a path of the push rules, which must succeed with `{}`.
    pub(crate) async fn puts(&self, path: &str, body: &Value) {
        let answer = self.put(path, body).await;
        assert_eq!(answer.expect(StatusCode::OK), json!({}), "PUT {path} {body}");
    }

    /// Deletes a rule.
    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(&format!("DELETE {}", at(path)), "").await
    }

    /// The ids of the user's own rules of a kind, in order.
    pub(crate) async fn own(&self, path: &str) -> Vec<String> {
        ids(&self.shown(path).await, false)
    }
}

/// The ids of an array of rules, built-in ones or others.
pub(crate) fn ids(rules: &Value, builtin: bool) -> Vec<String> {
    let rules = rules.as_array().unwrap().iter().filter(|rule| rule["default"] == builtin);
    rules.map(|rule| rule["rule_id"].as_str().unwrap().to_owned()).collect()
}

/// The least that a rule of a kind needs.
pub(crate) fn least(kind: &str) -> Value {
    match kind {
        "content" => json!({ "actions": ["notify"], "pattern": "cake" }),
        _ => json!({ "actions": ["notify"] }),
    }
}
