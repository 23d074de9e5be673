//! Snapshots of rule evaluations: `explain` for one user, `evaluate` for many.

use belfry::config::Config;
use serde_json::{Value, json};

use super::{Cases, assert_snapshot};
use crate::support::{Service, TestClient};

const EXPLAIN: &str = "POST /_service/client/api/v1/pushrules/explain";
const EVALUATE: &str = "POST /_service/app/v1/evaluate";

const APPLICATION_SERVICE: &str = "[[application_services]]\nid = 'chat'\n\
    as_token = 'token of chat'\nsender_localpart = 'chat'\n\
    namespaces.users = [{ regex = '@.*' }]\n";

fn message(body: &str) -> Value {
    json!({
        "type": "m.room.message", "room_id": "!r:example.org", "sender": "@bob:example.org",
        "content": { "msgtype": "m.text", "body": body },
    })
}

async fn put_content_rule(client: &TestClient, word: &str, actions: &Value) {
    let body = json!({ "actions": actions, "pattern": word });
    client.put_rule_ok(&format!("global/content/{word}"), &body).await;
}

#[tokio::test]
async fn explain_matches_its_snapshot() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    put_content_rule(&alice, "cake", &json!(["notify", { "set_tweak": "highlight" }])).await;
    put_content_rule(&alice, "pie", &json!([])).await;
    put_content_rule(&alice, "tea", &json!([])).await;
    alice.put_rule_ok("global/content/tea/enabled", &json!(false)).await;
    let mut cases = Cases(Vec::new());
    let room = json!({ "member_count": 5, "display_name": "Alice" });
    let mut own_event = message("cake");
    own_event["sender"] = json!("@alice:ring.example");
    for (case, event) in [
        ("a rule of the user matches", message("There is cake!")),
        ("no rule matches", json!({ "type": "m.other", "sender": "@bob:example.org" })),
        ("an event of the user", own_event),
    ] {
        let body = json!({ "event": event, "room": room });
        cases.add(case, alice.exchange(EXPLAIN, body.to_string()).await);
    }
    assert_snapshot("explain", &cases);
}

#[tokio::test]
async fn evaluate_matches_its_snapshot() {
    let config: Config = toml::from_str(APPLICATION_SERVICE).unwrap();
    let service = Service::start_with(config).await;
    for name in ["ann", "ben", "cat"] {
        service.add_account(name).await;
    }
    let sound = json!({ "set_tweak": "sound", "value": "default" });
    put_content_rule(&service.user_client("dora").await, "cake", &json!(["notify", sound])).await;
    put_content_rule(&service.user_client("emma").await, "cake", &json!([])).await;
    let names = ["ann", "ben", "cat", "dora", "emma"];
    let mut members: Value =
        names.iter().map(|name| json!({ "user_id": format!("@{name}:ring.example") })).collect();
    members[2]["display_name"] = json!("for");
    let mut body = json!({
        "event": message("Cake for Ben!"), "room": { "member_count": 6 }, "members": members,
    });
    let chat = service.anonymous_client().with_token("token of chat");
    let mut cases = Cases(Vec::new());
    cases.add("users to notify", chat.exchange(EVALUATE, body.to_string()).await);
    body["all"] = json!(true);
    cases.add("all users", chat.exchange(EVALUATE, body.to_string()).await);
    let alice = service.user_client("alice").await;
    cases.add("user token", alice.exchange(EVALUATE, body.to_string()).await);
    assert_snapshot("evaluate", &cases);
}
