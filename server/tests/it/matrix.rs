//! Matrix client-server API apart from push rules: versions, login, registration, account data.

mod account;
mod endpoints;
mod login;
mod register;
mod register_application_service;

use serde_json::{Value, json};

use crate::support::{TestClient, TestResponse};

const CLIENT_API: &str = "/_matrix/client/v3";

async fn post(client: &TestClient, path: &str, body: &Value) -> TestResponse {
    client.send(&format!("POST {CLIENT_API}/{path}"), body.to_string()).await
}

fn password_login(user: &str, password: &str) -> Value {
    let identifier = json!({ "type": "m.id.user", "user": user });
    json!({ "type": "m.login.password", "identifier": identifier, "password": password })
}

fn registration(name: &str) -> Value {
    json!({ "username": name, "password": "correct horse", "auth": { "type": "m.login.dummy" } })
}
