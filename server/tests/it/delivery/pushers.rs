//! The pushers of Matrix clients.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DeliveringService, PUSHERS, client_keys, pusher_body};
use crate::support::{PushService, Service, recorded_events};

const URL: &str = "https://gateway.example";

#[tokio::test]
async fn a_pusher_is_set_listed_replaced_and_deleted() {
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    assert_eq!(client.pushers().await, json!([]));
    let data = json!({
        "url": format!("{URL}/_matrix/push/v1/notify"), "format": "event_id_only", "x": { "y": 1 },
    });
    let body = pusher_body(&json!({ "data": data, "profile_tag": "work" }), URL);
    assert_eq!(client.set_pusher(&body).await.expect_json(StatusCode::OK), json!({}));
    let mut expected = body.clone();
    expected["org.matrix.msc3881.enabled"] = true.into();
    assert_eq!(client.pushers().await, json!([expected]));

    let change = json!({ "lang": "de", "org.matrix.msc3881.enabled": false });
    let replaced = pusher_body(&change, URL);
    client.set_pusher(&replaced).await.expect_json(StatusCode::OK);
    assert_eq!(client.pushers().await, json!([replaced]));
    let other = pusher_body(&json!({ "pushkey": "key2" }), URL);
    client.set_pusher(&other).await.expect_json(StatusCode::OK);
    assert_eq!(client.pushers().await.as_array().unwrap().len(), 2);

    let delete = json!({ "app_id": "org.example.app", "pushkey": "key1", "kind": null });
    for _ in 0..2 {
        client.set_pusher(&delete).await.expect_json(StatusCode::OK);
        let pushers = client.pushers().await;
        assert_eq!(
            (pushers.as_array().unwrap().len(), &pushers[0]["pushkey"]),
            (1, &json!("key2"))
        );
    }
}

#[tokio::test]
async fn an_invalid_pusher_is_rejected_with_the_reason() {
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    let data = |url: &str| json!({ "url": url });
    for (changes, code, problem) in [
        (json!({ "kind": "email" }), "M_INVALID_PARAM", "email"),
        (json!({ "app_id": "x".repeat(65) }), "M_INVALID_PARAM", "app_id"),
        (json!({ "pushkey": "x".repeat(513) }), "M_INVALID_PARAM", "pushkey"),
        (json!({ "data": {} }), "M_MISSING_PARAM", "data.url"),
        (json!({ "data": data("https://gateway.example/other") }), "M_INVALID_PARAM", "path"),
        (
            json!({ "data": data("http://gateway.example/_matrix/push/v1/notify") }),
            "M_INVALID_PARAM",
            "data.url",
        ),
        (
            json!({ "data": data("https://192.168.0.1/_matrix/push/v1/notify") }),
            "M_INVALID_PARAM",
            "data.url",
        ),
        (
            json!({ "data": { "url": format!("{URL}/_matrix/push/v1/notify"), "x": "y".repeat(9000) } }),
            "M_INVALID_PARAM",
            "data",
        ),
        (json!({ "profile_tag": "a/b" }), "M_INVALID_PARAM", "profile_tag"),
    ] {
        let response = client.set_pusher(&pusher_body(&changes, URL)).await;
        let error = response.expect_json(StatusCode::BAD_REQUEST);
        assert_eq!(error["errcode"], code, "{changes}: {error}");
        assert!(error["error"].as_str().unwrap().contains(problem), "{changes}: {error}");
    }
    let mut body = pusher_body(&json!({}), URL);
    body.as_object_mut().unwrap().remove("lang");
    let error = client.set_pusher(&body).await.expect_json(StatusCode::BAD_REQUEST);
    assert_eq!(error["errcode"], "M_MISSING_PARAM");
    assert_eq!(client.pushers().await, json!([]));
}

/// A device that changes its user keeps its push key.
#[tokio::test]
async fn without_append_a_pusher_replaces_other_accounts_pushers_with_its_push_key() {
    let fixture = DeliveringService::start().await;
    let alice = fixture.set_pusher("alice", &json!({}), URL).await;
    let bob = fixture.set_pusher("bob", &json!({ "append": true }), URL).await;
    assert_eq!(alice.pushers().await.as_array().unwrap().len(), 1);
    bob.set_pusher(&pusher_body(&json!({}), URL)).await.expect_json(StatusCode::OK);
    assert_eq!(alice.pushers().await, json!([]));
    assert_eq!(bob.pushers().await.as_array().unwrap().len(), 1);
    let events = fixture.service.store().audit_events(recorded_events(), 100).await.unwrap();
    let takeovers = events.iter().filter(|event| event.kind == "receiver_takeover");
    let accounts: BTreeSet<&str> = takeovers.filter_map(|event| event.account.as_deref()).collect();
    assert_eq!(accounts, BTreeSet::from(["alice", "bob"]), "both accounts have the event");
}

/// The app of a pusher gets the text of all messages that notify the user.
#[tokio::test]
async fn only_the_scope_push_sets_and_acknowledges_pushers() {
    let fixture = DeliveringService::start().await;
    let body = pusher_body(&json!({}), URL);
    let acknowledgement = json!({ "app_id": "org.example.app", "ack_token": "x" });
    for (scopes, is_allowed) in [
        ("read", false),
        ("write", false),
        ("read write follow profile", false),
        ("write:notifications", false),
        ("push", true),
        ("read write push", true),
    ] {
        let client = fixture.service.user_client_with_scopes("alice", scopes).await;
        for (endpoint, body, status) in
            [("set", &body, StatusCode::OK), ("ack", &acknowledgement, StatusCode::BAD_REQUEST)]
        {
            let path = format!("POST {PUSHERS}/{endpoint}");
            let response = client.send(&path, body.to_string()).await;
            if is_allowed {
                response.expect_json(status);
                continue;
            }
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"push\"";
            assert_eq!(response.header("www-authenticate"), challenge);
            let error = response.expect_json(StatusCode::FORBIDDEN);
            let message = "This token lacks the scope push";
            assert_eq!(error, json!({ "errcode": "M_FORBIDDEN", "error": message }), "{scopes}");
        }
    }
    let login = json!({
        "type": "m.login.password", "identifier": { "type": "m.id.user", "user": "alice" },
        "password": "correct horse alice",
    });
    let response = fixture.service.anonymous_client().with_json();
    let response = response.send("POST /_matrix/client/v3/login", login.to_string()).await;
    let token = response.expect_json(StatusCode::OK)["access_token"].clone();
    let client = fixture.service.anonymous_client().with_token(token.as_str().unwrap());
    client.set_pusher(&body).await.expect_json(StatusCode::OK);
}

/// Otherwise an app that may only read could take over the devices of other apps.
#[tokio::test]
async fn only_the_token_that_set_a_pusher_sees_its_address() {
    let fixture = DeliveringService::start().await;
    let data = json!({ "url": format!("{URL}/_matrix/push/v1/notify"), "secret": "x" });
    let owner = fixture.set_pusher("alice", &json!({ "data": data }), URL).await;
    let mut expected = pusher_body(&json!({ "data": data }), URL);
    expected["org.matrix.msc3881.enabled"] = true.into();
    assert_eq!(owner.pushers().await, json!([expected]));
    let path = format!("{PUSHERS}?user_id=@alice:ring.example");
    let listed = fixture.product.get(&path).await.expect_json(StatusCode::OK);
    assert_eq!(listed["pushers"], json!([expected]));

    expected["pushkey"] = "".into();
    expected["data"] = json!({ "url": "" });
    for scopes in ["read", "read:notifications", "push", "read write push"] {
        let other = fixture.service.user_client_with_scopes("alice", scopes).await;
        assert_eq!(other.pushers().await, json!([expected]), "{scopes}");
    }
    // A pusher as it is listed cannot be set, neither by the user nor by somebody else.
    for name in ["alice", "mallory"] {
        let client = fixture.service.user_client(name).await;
        for kind in [json!("http"), json!(null)] {
            expected["kind"] = kind;
            let error = client.set_pusher(&expected).await.expect_json(StatusCode::BAD_REQUEST);
            assert_eq!(error["errcode"], "M_INVALID_PARAM", "{error}");
        }
    }
    assert_eq!(owner.pushers().await[0]["pushkey"], "key1");

    // A new token of the app that knows the push key takes the pusher over.
    let renewing = fixture.set_pusher("alice", &json!({}), URL).await;
    assert_eq!(renewing.pushers().await[0]["pushkey"], "key1");
    assert_eq!(owner.pushers().await[0]["pushkey"], "");
}

#[tokio::test]
async fn a_web_push_pusher_gets_no_messages_before_its_acknowledgement() {
    let push_service = PushService::start().await;
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    let (pushkey, auth) = client_keys();
    let body = json!({
        "kind": "org.matrix.msc4174.webpush", "app_id": "web", "pushkey": pushkey,
        "app_display_name": "Web", "device_display_name": "Browser", "lang": "en",
        "data": { "url": push_service.url, "auth": auth },
    });
    client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    let listed = client.pushers().await;
    assert_eq!((&listed[0]["activated"], &listed[0]["kind"]), (&json!(false), &body["kind"]));
    assert_eq!(listed[0]["data"], json!({ "url": push_service.url }), "the secret is not listed");
    push_service.wait_for(1).await;
    assert_eq!(fixture.notify("$1", &["alice"]).await["accepted"], 0);

    let ack = format!("POST {PUSHERS}/ack");
    let acknowledge = async |app_id: &str, token: &str| {
        let body = json!({ "app_id": app_id, "ack_token": token }).to_string();
        client.send(&ack, body).await
    };
    let error = acknowledge("web", "wrong").await.expect_json(StatusCode::BAD_REQUEST);
    assert_eq!(error["errcode"], "M_UNKNOWN_ACTIVATION_TOKEN");
    let error = acknowledge("other", "wrong").await.expect_json(StatusCode::NOT_FOUND);
    assert_eq!(error["errcode"], "M_NOT_FOUND");

    // Set again before the acknowledgement: a new token is sent.
    client.set_pusher(&body).await.expect_json(StatusCode::CREATED);
    push_service.wait_for(2).await;
}

/// Anyone may know the push key of a Web Push pusher, and an HTTP pusher is activated without an
/// acknowledgement, so it must not replace one.
#[tokio::test]
async fn an_http_pusher_cannot_take_over_a_web_push_pusher() {
    let fixture = DeliveringService::start().await;
    let [alice, mallory] =
        [fixture.service.user_client("alice").await, fixture.service.user_client("mallory").await];
    let (pushkey, auth) = client_keys();
    let data = json!({ "url": "https://push.example/", "auth": auth });
    let web_push = json!({ "kind": "webpush", "pushkey": pushkey, "data": data });
    alice.set_pusher(&pusher_body(&web_push, URL)).await.expect_json(StatusCode::CREATED);
    let gateway = pusher_body(&json!({ "pushkey": pushkey }), URL);
    mallory.set_pusher(&gateway).await.expect_json(StatusCode::OK);
    assert_eq!(alice.pushers().await[0]["pushkey"], pushkey);
}

#[tokio::test]
async fn capabilities_and_versions_announce_web_push() {
    let fixture = DeliveringService::start().await;
    let client = fixture.service.user_client("alice").await;
    let key = fixture.service.state.vapid_key().unwrap();
    let get = async |path: &str| -> Value {
        client.get(&format!("/_matrix/client/{path}")).await.expect_json(StatusCode::OK)
    };
    let capabilities = get("v3/capabilities").await;
    for name in ["m.webpush", "org.matrix.msc4174.webpush"] {
        let expected = json!({ "enabled": true, "vapid": key });
        assert_eq!(capabilities["capabilities"][name], expected);
    }
    assert_eq!(get("versions").await["unstable_features"]["org.matrix.msc4174"], true);

    let service = Service::start().await;
    let client = service.user_client("alice").await;
    let versions = client.get("/_matrix/client/versions").await.expect_json(StatusCode::OK);
    assert_eq!(versions["unstable_features"], json!({}));
    let capabilities = client.get("/_matrix/client/v3/capabilities").await;
    let expected = json!({
        "m.change_password": { "enabled": false },
        "im.nheko.msc3664.related_event_match": { "enabled": true },
    });
    assert_eq!(capabilities.expect_json(StatusCode::OK)["capabilities"], expected);
    let response = client.set_pusher(&pusher_body(&json!({}), URL)).await;
    response.expect_json(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(client.pushers().await, json!([]));
}

#[tokio::test]
async fn a_revoked_token_has_no_pushers() {
    let fixture = DeliveringService::start().await;
    let first = fixture.set_pusher("alice", &json!({}), URL).await;
    let second = fixture.set_pusher("alice", &json!({ "pushkey": "key2" }), URL).await;
    assert_eq!(second.pushers().await.as_array().unwrap().len(), 2);
    first.send("POST /_matrix/client/v3/logout", "{}").await.expect_json(StatusCode::OK);
    assert_eq!(second.pushers().await.as_array().unwrap().len(), 1);
}

/// Otherwise, the app would get messages for longer than the user allowed it.
#[tokio::test]
async fn a_pusher_that_a_service_renews_is_deleted_with_the_users_token() {
    let fixture = DeliveringService::start().await;
    let client = fixture.set_pusher("alice", &json!({}), URL).await;
    let renewal = pusher_body(&json!({ "lang": "de" }), URL).to_string();
    let path = format!("POST {PUSHERS}/set?user_id=@alice:ring.example");
    fixture.product.send(&path, renewal).await.expect_json(StatusCode::OK);
    assert_eq!(client.pushers().await[0]["lang"], "de");
    client.send("POST /_matrix/client/v3/logout", "{}").await.expect_json(StatusCode::OK);
    let other = fixture.service.user_client("alice").await;
    assert_eq!(other.pushers().await, json!([]));
}
