//! Snapshots of the Matrix client endpoints other than push rules.

use serde_json::{Value, json};

use crate::support::Service;

#[tokio::test]
async fn matrix_responses_match_their_snapshots() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    let account = json!({ "username": "alice", "password": "correct horse" });
    let mut register = account.clone();
    register["auth"] = json!({ "type": "m.login.dummy" });
    let login = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse",
    });
    for (snapshot, request, body) in [
        ("matrix_versions", "GET /_matrix/client/versions", Value::Null),
        ("matrix_login_flows", "GET /_matrix/client/v3/login", Value::Null),
        ("matrix_registration_stages", "POST /_matrix/client/v3/register", account),
        ("matrix_registration", "POST /_matrix/client/v3/register", register),
        ("matrix_login", "POST /_matrix/client/v3/login", login),
    ] {
        anonymous.exchange(request, body.to_string()).await.assert_snapshot(snapshot);
    }
    let alice = service.user_client("alice").await;
    let whoami = alice.exchange("GET /_matrix/client/v3/account/whoami", "").await;
    whoami.assert_snapshot("matrix_whoami");
}
