//! `POST notify`: an event for many members, delivered to their pushers.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DeliveringService, NOTIFY, notify_body};
use crate::evaluation::work_budget::{expensive_event, expensive_rule, work_exceeded_count};
use crate::support::PushService;

async fn start_gateway() -> PushService {
    use axum::response::IntoResponse;
    PushService::start_with(|_| r#"{"rejected":[]}"#.into_response()).await
}

#[tokio::test]
async fn a_push_gateway_gets_the_notification_of_the_specification() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    let data = json!({ "url": format!("{}/_matrix/push/v1/notify", gateway.url), "x": 1 });
    fixture.set_pusher("alice", &json!({ "data": data }), &gateway.url).await;
    let mut body = notify_body("$1", &["alice", "bob"]);
    body["members"][0]["counts"] = json!({ "unread": 2, "missed_calls": 0 });
    let response = fixture.product.send(NOTIFY, body.to_string()).await;
    let response = response.expect_json(StatusCode::OK);
    assert_eq!(response["accepted"], 1);
    assert_eq!(response["groups"][0]["users"], json!(["@alice:ring.example"]));

    let requests = gateway.wait_for(1).await;
    assert_eq!(requests[0].path, "/_matrix/push/v1/notify");
    assert_eq!(requests[0].header("content-type"), "application/json");
    let notification = requests[0].json()["notification"].clone();
    let expected = json!({
        "event_id": "$1", "room_id": "!r:x", "type": "m.room.message",
        "sender": "@bob:elsewhere.example", "sender_display_name": "Bob", "room_name": "Cake",
        "prio": "high", "content": { "msgtype": "m.text", "body": "hello" },
        "counts": { "unread": 2 },
        "devices": [{
            "app_id": "org.example.app", "pushkey": "key1",
            "pushkey_ts": fixture.service.now().as_second(), "data": { "x": 1 },
            "tweaks": { "sound": "default" },
        }],
    });
    assert_eq!(notification, expected);
}

#[tokio::test]
async fn event_id_only_sends_ids_and_counts() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    let url = format!("{}/_matrix/push/v1/notify", gateway.url);
    let data = json!({ "url": url, "format": "event_id_only" });
    fixture.set_pusher("alice", &json!({ "data": data }), &gateway.url).await;
    fixture.notify("$1", &["alice"]).await;
    let notification = gateway.wait_for(1).await[0].json()["notification"].clone();
    let mut names: Vec<&String> = notification.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["counts", "devices", "event_id", "room_id"]);
}

#[tokio::test]
async fn two_pushers_with_different_profile_tags_get_different_results() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    let work = json!({ "pushkey": "work", "profile_tag": "work" });
    let client = fixture.set_pusher("alice", &work, &gateway.url).await;
    fixture.set_pusher("alice", &json!({ "pushkey": "private" }), &gateway.url).await;
    let rule = json!({ "actions": [], "conditions": [] }).to_string();
    let request_line = "PUT /_matrix/client/v3/pushrules/device/work/override/silent";
    client.send(request_line, rule).await.expect_json(StatusCode::OK);

    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 1);
    let requests = gateway.wait_for(1).await;
    assert_eq!(requests[0].json()["notification"]["devices"][0]["pushkey"], "private");

    let rule = json!({ "actions": ["notify", { "set_tweak": "highlight" }], "conditions": [] });
    client.send(request_line, rule.to_string()).await.expect_json(StatusCode::OK);
    assert_eq!(fixture.notify("$2", &["alice"]).await["accepted"], 2);
    let requests = gateway.wait_for(3).await;
    let mut results: Vec<(Value, Value)> = requests[1..]
        .iter()
        .map(|request| request.json()["notification"]["devices"][0].clone())
        .map(|device| (device["pushkey"].clone(), device["tweaks"].clone()))
        .collect();
    results.sort_by_key(|(pushkey, _)| pushkey.to_string());
    let expected = [
        (json!("private"), json!({ "sound": "default" })),
        (json!("work"), json!({ "highlight": true })),
    ];
    assert_eq!(results, expected);
}

#[tokio::test]
async fn a_user_can_be_notified_only_of_replies_to_their_messages() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    let alice = fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    let replies = json!({
        "kind": "im.nheko.msc3664.related_event_match", "rel_type": "m.in_reply_to",
        "key": "sender", "pattern": "@alice:ring.example",
    });
    for (path, rule) in [
        ("override/nothing_else", json!({ "actions": [], "conditions": [] })),
        ("override/replies", json!({ "actions": ["notify"], "conditions": [replies] })),
    ] {
        let request_line = format!("PUT /_matrix/client/v3/pushrules/global/{path}");
        alice.send(&request_line, rule.to_string()).await.expect_json(StatusCode::OK);
    }
    let message_of = |name: &str| json!({ "sender": format!("@{name}:ring.example") });
    for (event_id, related_events, accepted) in [
        ("$1", Value::Null, 0),
        ("$2", json!({ "m.in_reply_to": message_of("carol") }), 0),
        ("$3", json!({ "m.thread": message_of("alice") }), 0),
        ("$4", json!({ "m.in_reply_to": message_of("alice") }), 1),
    ] {
        let mut body = notify_body(event_id, &["alice"]);
        if !related_events.is_null() {
            body["related_events"] = related_events.clone();
        }
        let response = fixture.product.send(NOTIFY, body.to_string()).await;
        assert_eq!(response.expect_json(StatusCode::OK)["accepted"], accepted, "{event_id}");
        // The reason for the same event is the same.
        let explanation = alice
            .send("POST /_matrix/client/v3/pushrules/explain", body.to_string())
            .await
            .expect_json(StatusCode::OK);
        assert_eq!(explanation["notify"], accepted == 1, "{event_id}");
    }
    let requests = gateway.wait_for(1).await;
    assert_eq!(requests[0].json()["notification"]["event_id"], "$4");
}

#[tokio::test]
async fn pushers_with_the_same_profile_tag_are_evaluated_once() {
    let fixture = DeliveringService::start().await;
    for (number, tag) in ["work", "work", "work", "home", "watch"].iter().enumerate() {
        let pusher = json!({ "pushkey": number.to_string(), "profile_tag": tag });
        fixture.set_pusher("alice", &pusher, "https://gateway.example").await;
    }
    let alice = fixture.service.user_client("alice").await;
    let mut body = notify_body("$1", &["alice"]);
    body["event"]["content"] = expensive_event()["content"].clone();
    // An evaluation of the rule exceeds the user's work budget, and is counted.
    let mut evaluations = 0;
    for (scope, new_evaluations) in [("global", 1), ("device/work", 2)] {
        alice.put_rule_ok(&format!("{scope}/override/slow"), &expensive_rule()).await;
        body["event"]["event_id"] = scope.into();
        let response = fixture.product.send(NOTIFY, body.to_string()).await;
        assert_eq!(response.expect_json(StatusCode::OK)["accepted"], 5);
        evaluations += new_evaluations;
        assert_eq!(work_exceeded_count(&fixture.service).await, evaluations.to_string(), "{scope}");
    }
}

#[tokio::test]
async fn a_repeated_event_is_delivered_once_and_new_members_get_it() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    for name in ["alice", "carol"] {
        fixture.set_pusher(name, &json!({ "pushkey": name }), &gateway.url).await;
    }
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 1);
    fixture.wait_until_idle().await;
    assert_eq!(fixture.notify("$1", &["alice", "carol"]).await["accepted"], 2);
    fixture.wait_until_idle().await;
    let keys: Vec<Value> = gateway
        .requests()
        .iter()
        .map(|request| request.json()["notification"]["devices"][0]["pushkey"].clone())
        .collect();
    assert_eq!(keys, ["alice", "carol"]);
}

#[tokio::test]
async fn a_member_listed_twice_gets_one_message() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    // More than are loaded together.
    let names: Vec<String> = (0..100).map(|number| format!("person_{number}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.insert(0, "alice");
    names.push("alice");
    assert_eq!(fixture.notify("$1", &names).await["accepted"], 1);
    fixture.wait_until_idle().await;
    assert_eq!(gateway.requests().len(), 1);
}

#[tokio::test]
async fn a_disabled_pusher_and_a_silent_user_get_no_message() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    let disabled = json!({ "org.matrix.msc3881.enabled": false });
    fixture.set_pusher("alice", &disabled, &gateway.url).await;
    let client = fixture.set_pusher("carol", &json!({ "pushkey": "c" }), &gateway.url).await;
    let master = "PUT /_matrix/client/v3/pushrules/global/override/.m.rule.master/enabled";
    client.send(master, r#"{"enabled":true}"#).await.expect_json(StatusCode::OK);
    let response = fixture.notify("$1", &["alice", "carol"]).await;
    assert_eq!(response["accepted"], 0);
    assert_eq!(response["groups"][0]["users"], json!(["@alice:ring.example"]));
}

#[tokio::test]
async fn a_full_queue_accepts_nothing_of_a_request() {
    let gateway = start_gateway().await;
    let database = crate::support::TestDatabase::sqlite();
    let fixture = DeliveringService::start_on(database, |config| config.push.max_waiting = 2).await;
    let names = ["alice", "bob", "carol"];
    let origins = [&gateway.url, "https://gateway1.example", "https://gateway2.example"];
    for (name, origin) in names.into_iter().zip(origins) {
        fixture.set_pusher(name, &json!({ "pushkey": name }), origin).await;
    }
    let body = notify_body("$1", &names).to_string();
    let error = fixture.product.send(NOTIFY, body).await;
    error.expect_json(StatusCode::SERVICE_UNAVAILABLE);
    assert!(error.headers.contains_key("retry-after"));
    assert_eq!(fixture.service.store().queue_status().await.unwrap().waiting, 0);
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 1);
}

#[tokio::test]
async fn members_are_named_by_user_id_or_account_id_and_unknown_ones_are_returned() {
    let gateway = start_gateway().await;
    let fixture = DeliveringService::start().await;
    fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    let alice = fixture.service.store().account_by_name("alice").await.unwrap().unwrap();
    let account_id = alice.id.to_string();
    let bob = fixture.service.user_client("bob").await;
    let rule = json!({ "actions": [], "pattern": "hello" }).to_string();
    let path = "/_matrix/client/v3/pushrules/global/content/hello";
    bob.send(&format!("PUT {path}"), rule).await.expect_json(StatusCode::OK);
    let long_id = format!("@{}:ring.example", "a".repeat(300));
    let ids = [&account_id, "alice", "1", "@alice:x", "@zoe:ring.example", "", &long_id];
    let mut body = notify_body("$1", &["bob"]);
    body["event"]["content"]["m.mentions"] = json!({ "user_ids": ["@alice:ring.example"] });
    body["members"] =
        ids.iter().chain(&["@bob:ring.example"]).map(|id| json!({ "user_id": id })).collect();
    let response = fixture.product.send(NOTIFY, body.to_string()).await.expect_json(StatusCode::OK);
    assert_eq!(
        response["unknown"],
        json!(["alice", "1", "@alice:x", "@zoe:ring.example", "", &long_id[..255]])
    );
    assert_eq!(response["accepted"], 1);
    assert_eq!(response["groups"].as_array().unwrap().len(), 1);
    assert_eq!(response["groups"][0]["users"], json!([account_id]));
    assert_eq!(response["groups"][0]["rule"]["rule_id"], ".m.rule.is_user_mention");

    let names: Vec<String> = (0..150).map(|number| format!("nobody_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let response = fixture.notify("$2", &names).await;
    assert_eq!(response["unknown"].as_array().unwrap().len(), 100);
}

/// A product repeats a request whose response is lost, which happens when the server is busy.
#[tokio::test]
async fn a_repeated_event_is_accepted_by_a_full_origin_or_queue() {
    // They accept connections and never respond.
    let silent_origins = [
        tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap(),
        tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap(),
    ];
    let database = crate::support::TestDatabase::sqlite();
    let fixture = DeliveringService::start_on(database, |config| config.push.max_waiting = 6).await;
    for (name, origin) in ["alice", "bob"].into_iter().zip(&silent_origins) {
        let url = format!("http://{}", origin.local_addr().unwrap());
        fixture.set_pusher(name, &json!({ "pushkey": name }), &url).await;
    }
    for _ in 0..5 {
        assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 1);
    }
    for (event_id, accepted) in [("$2", 1), ("$3", 1), ("$4", 0), ("$1", 1), ("$3", 1)] {
        assert_eq!(fixture.notify(event_id, &["alice"]).await["accepted"], accepted, "{event_id}");
    }
    for event_id in ["$1", "$2", "$3"] {
        assert_eq!(fixture.notify(event_id, &["alice", "bob"]).await["accepted"], 2);
    }
    let body = notify_body("$1", &["alice", "bob"]).to_string();
    let response = fixture.product.send(NOTIFY, body).await.expect_json(StatusCode::OK);
    assert_eq!(response["accepted"], 2, "the queue is full");
}

/// Messages for devices that do not work must not fill the queue of the others.
#[tokio::test]
async fn a_half_full_queue_accepts_only_messages_to_origins_that_do_not_fail() {
    let mut dead_urls = Vec::new();
    for _ in 0..2 {
        // Nothing listens on this port.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        dead_urls.push(format!("http://{}", listener.local_addr().unwrap()));
    }
    let gateway = start_gateway().await;
    let database = crate::support::TestDatabase::sqlite();
    let fixture =
        DeliveringService::start_on(database, |config| config.push.max_waiting = 100).await;
    for (name, url) in [("alice", &dead_urls[0]), ("bob", &gateway.url), ("carol", &dead_urls[1])] {
        fixture.set_pusher(name, &json!({ "pushkey": name }), url).await;
    }
    fixture.notify("$0", &["alice", "carol"]).await;
    for name in ["alice", "carol"] {
        fixture.wait_for_attempts(name, 1).await;
    }
    let mut accepted = 2;
    for number in 1..40 {
        let response = fixture.notify(&format!("${number}"), &["alice", "carol"]).await;
        accepted += response["accepted"].as_u64().unwrap();
    }
    assert_eq!(accepted, 50);
    for number in 1..=10 {
        assert_eq!(fixture.notify(&format!("${number}"), &["bob"]).await["accepted"], 1);
    }
    gateway.wait_for(10).await;
}

/// Otherwise, a slow database would also stop evaluations.
#[tokio::test(flavor = "multi_thread")]
async fn no_evaluation_slot_is_held_while_messages_are_stored() {
    let gateway = start_gateway().await;
    let database = crate::support::TestDatabase::sqlite();
    let belfry_store::Database::Sqlite(path) = database.database.clone() else { unreachable!() };
    let fixture = DeliveringService::start_on(database, |_| {}).await;
    fixture.set_pusher("alice", &json!({}), &gateway.url).await;
    let lock = rusqlite::Connection::open(path).unwrap();
    lock.execute_batch("begin immediate").unwrap();
    let state = &fixture.service.state;
    let has_free_slots = async {
        while state.evaluator.metrics.evaluated_users.get() == 0
            || state.evaluator.pool.queue_length() > 0
        {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        lock.execute_batch("rollback").unwrap();
    };
    let (response, ()) = tokio::join!(fixture.notify("$1", &["alice"]), has_free_slots);
    assert_eq!(response["accepted"], 1);
}

/// Otherwise, a push service that does not respond would silence whole rooms.
#[tokio::test]
async fn deliveries_to_a_full_origin_are_omitted() {
    // Accepts connections and never responds.
    let dead = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead_url = format!("http://{}", dead.local_addr().unwrap());
    let gateway = start_gateway().await;
    let database = crate::support::TestDatabase::sqlite();
    let fixture = DeliveringService::start_on(database, |config| config.push.max_waiting = 4).await;
    for (name, url) in
        [("alice", &dead_url), ("bob", &dead_url), ("carol", &dead_url), ("dave", &gateway.url)]
    {
        fixture.set_pusher(name, &json!({ "pushkey": name }), url).await;
    }
    let names = ["alice", "bob", "carol", "dave"];
    assert_eq!(fixture.notify("$1", &names).await["accepted"], 3);
    assert_eq!(fixture.notify("$2", &["carol", "dave"]).await["accepted"], 1);
    let events: Vec<Value> = gateway
        .wait_for(2)
        .await
        .iter()
        .map(|request| request.json()["notification"]["event_id"].clone())
        .collect();
    assert_eq!(events, ["$1", "$2"]);
}
