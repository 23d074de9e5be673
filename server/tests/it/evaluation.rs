//! RoomEvaluation over HTTP and on the command line: one user's, explained, and those of many.

mod cache;
mod command;
mod evaluate;
mod explain;
mod huge;
mod many;
mod strange;

use axum::http::StatusCode;
use belfry::config::{Config, LimitMode};
use serde_json::{Value, json};

use crate::support::{Answer, Caller, Service, TestDatabase};

const EXPLAIN: &str = "POST /_service/client/api/v1/pushrules/explain";
const EVALUATE: &str = "POST /_service/app/v1/evaluate";

/// A product's own code, which may act for everybody.
const PRODUCT: &str = "[[application_services]]\nid = 'product'\nas_token = 'token of product'\n\
    sender_localpart = 'product'\nnamespaces.users = [{ regex = '@.*' }]\n";

/// A service with the product, where no test is stopped by limits.
async fn with_product() -> (Service, Caller) {
    with_settings(PRODUCT).await
}

async fn with_settings(settings: &str) -> (Service, Caller) {
    on(TestDatabase::sqlite(), settings).await
}

async fn on(database: TestDatabase, settings: &str) -> (Service, Caller) {
    let mut config: Config = toml::from_str(settings).unwrap();
    config.limits.mode = LimitMode::Off;
    let service = Service::on(database, config).await;
    let product = service.anyone().bearing("token of product");
    (service, product)
}

fn message(body: &str) -> Value {
    json!({
        "type": "m.room.message", "room_id": "!r:x", "sender": "@bob:elsewhere.example",
        "content": { "msgtype": "m.text", "body": body },
    })
}

/// A content rule that is silent about a word.
fn silent(pattern: &str) -> Value {
    json!({ "actions": [], "pattern": pattern })
}

fn id(name: &str) -> String {
    format!("@{name}:ring.example")
}

fn members(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "user_id": id(name) })).collect()
}

impl Caller {
    async fn ask(&self, what: &str, body: &Value) -> Answer {
        self.call(what, body.to_string()).await
    }

    /// What an explanation says.
    async fn explained(&self, body: &Value) -> Value {
        self.ask(EXPLAIN, body).await.expect(StatusCode::OK)
    }

    /// The groups of an evaluation: the id of the rule, and who is in it.
    async fn groups(&self, body: &Value) -> Vec<(Option<String>, Vec<String>)> {
        let answer = self.ask(EVALUATE, body).await.expect(StatusCode::OK);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let group = |group: &Value| {
            let users = group["users"].as_array().unwrap().iter().map(text).collect();
            (group["rule"]["rule_id"].as_str().map(str::to_owned), users)
        };
        answer["groups"].as_array().unwrap().iter().map(group).collect()
    }
}

fn group(rule: &str, names: &[&str]) -> (Option<String>, Vec<String>) {
    (Some(rule.to_owned()), names.iter().map(|name| id(name)).collect())
}
