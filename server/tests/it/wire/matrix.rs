//! Snapshots of the Matrix client endpoints other than push rules.

use serde_json::json;

use crate::support::Service;

const CLIENT_API: &str = "/_matrix/client/v3";

#[tokio::test]
async fn versions_match_their_snapshot() {
    let service = Service::start().await;
    let versions = service.anonymous_client().exchange("GET /_matrix/client/versions", "").await;
    versions.assert_snapshot("matrix_versions");
}

#[tokio::test]
async fn login_flows_match_their_snapshot() {
    let service = Service::start().await;
    let flows = service.anonymous_client().exchange(&format!("GET {CLIENT_API}/login"), "").await;
    flows.assert_snapshot("matrix_login_flows");
}

#[tokio::test]
async fn login_matches_its_snapshot() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse alice",
    });
    let login = service
        .anonymous_client()
        .exchange(&format!("POST {CLIENT_API}/login"), body.to_string())
        .await;
    login.assert_snapshot("matrix_login");
}

#[tokio::test]
async fn registration_stages_match_their_snapshot() {
    let service = Service::start().await;
    let register = format!("POST {CLIENT_API}/register");
    let body = json!({ "username": "alice", "password": "correct horse" });
    let stages = service.anonymous_client().exchange(&register, body.to_string()).await;
    stages.assert_snapshot("matrix_registration_stages");
}

#[tokio::test]
async fn registration_matches_its_snapshot() {
    let service = Service::start().await;
    let register = format!("POST {CLIENT_API}/register");
    let auth = json!({ "type": "m.login.dummy" });
    let body = json!({ "username": "alice", "password": "correct horse", "auth": auth });
    let account = service.anonymous_client().exchange(&register, body.to_string()).await;
    account.assert_snapshot("matrix_registration");
}

#[tokio::test]
async fn whoami_matches_its_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let whoami = alice.exchange(&format!("GET {CLIENT_API}/account/whoami"), "").await;
    whoami.assert_snapshot("matrix_whoami");
}
