//! `POST …/app/v1/evaluate`.

use axum::http::StatusCode;
use serde_json::json;

use super::{
    APPLICATION_SERVICE_SETTINGS, EVALUATE, members, message_event, rule_group, silent_rule,
    start_with_application_service, start_with_settings, user_id,
};
use crate::support::any_events;

#[tokio::test]
async fn notified_users_are_grouped_by_rule() {
    let (service, application_service) = start_with_application_service().await;
    for name in ["ann", "ben", "cat"] {
        service.user_client(name).await;
    }
    let dora = service.user_client("dora").await;
    dora.put_rule_ok("global/content/cake", &silent_rule("cake")).await;
    let emma = service.user_client("emma").await;
    emma.put_rule_ok("global/content/cake", &json!({ "actions": ["notify"], "pattern": "cake" }))
        .await;

    let mut body = json!({
        "event": message_event("Cake for Ben!"), "room": { "member_count": 6 },
        "members": members(&["ann", "ben", "cat", "dora", "emma"]),
    });
    body["members"][2]["display_name"] = json!("for");
    let response = application_service.send_json(EVALUATE, &body).await.expect_json(StatusCode::OK);

    let highlight = json!([
        "notify", { "set_tweak": "sound", "value": "default" }, { "set_tweak": "highlight" }
    ]);
    let tweaks = json!({ "sound": "default", "highlight": true });
    let rule = |kind: &str, id: &str| json!({ "scope": "global", "kind": kind, "rule_id": id });
    let expected = json!({ "groups": [
        {
            "notify": true, "rule": rule("underride", ".m.rule.message"),
            "actions": ["notify"], "tweaks": {}, "users": [user_id("ann")],
        },
        {
            "notify": true, "rule": rule("content", ".m.rule.contains_user_name"),
            "actions": highlight, "tweaks": tweaks, "users": [user_id("ben")],
        },
        {
            "notify": true, "rule": rule("override", ".m.rule.contains_display_name"),
            "actions": highlight, "tweaks": tweaks, "users": [user_id("cat")],
        },
        {
            "notify": true, "rule": rule("content", "cake"),
            "actions": ["notify"], "tweaks": {}, "users": [user_id("emma")],
        },
    ] });
    assert_eq!(response, expected);

    body["all"] = json!(true);
    let all_groups = application_service.evaluate(&body).await;
    assert_eq!(all_groups.len(), 5);
    assert_eq!(all_groups[3], rule_group("cake", &["dora"]));
}

#[tokio::test]
async fn long_actions_are_omitted_from_the_response() {
    let (service, application_service) = start_with_application_service().await;
    let names = ["ann", "ben", "cat"];
    for name in names {
        let sound = json!({ "set_tweak": "sound", "value": name.repeat(20_000) });
        let rule = json!({ "actions": [sound, { "set_tweak": "highlight" }, "notify"] });
        service.user_client(name).await.put_rule_ok("global/room/!r:x", &rule).await;
    }
    let body = json!({ "event": message_event("hello"), "members": members(&names) });
    let response = application_service.send_json(EVALUATE, &body).await.expect_json(StatusCode::OK);
    let expected = json!({ "groups": [{
        "notify": true, "rule": { "scope": "global", "kind": "room", "rule_id": "!r:x" },
        "actions": [{ "set_tweak": "highlight" }, "notify"], "tweaks": { "highlight": true },
        "users": names.map(user_id),
    }] });
    assert_eq!(response, expected);
}

#[tokio::test]
async fn the_all_flag_includes_every_member_and_the_sender() {
    let (service, application_service) = start_with_application_service().await;
    for name in ["ann", "ben"] {
        service.user_client(name).await;
    }
    let mut event = message_event("hello");
    event["sender"] = json!(user_id("ann"));
    let mut body = json!({ "event": event, "members": members(&["ann", "ben"]), "all": true });
    let sender_group = (None, vec![user_id("ann")]);
    assert_eq!(
        application_service.evaluate(&body).await,
        [sender_group, rule_group(".m.rule.message", &["ben"])]
    );
    body["all"] = json!(false);
    assert_eq!(
        application_service.evaluate(&body).await,
        [rule_group(".m.rule.message", &["ben"])]
    );
}

#[tokio::test]
async fn members_other_than_enabled_users_in_the_namespace_are_omitted() {
    let settings = APPLICATION_SERVICE_SETTINGS.replace("@.*", "@in_.*");
    let (service, application_service) = start_with_settings(&settings).await;
    for name in ["in_ann", "in_off", "outside"] {
        service.add_account(name).await;
    }
    let account_to_disable = service.store().account_by_name("in_off").await.unwrap().unwrap();
    let body = json!({
        "event": message_event("hello"), "all": true,
        "members": [
            { "user_id": user_id("in_ann") }, { "user_id": user_id("outside") }, { "user_id": user_id("product") },
            { "user_id": user_id("in_off") }, { "user_id": user_id("in_nobody") }, { "user_id": "" },
            { "user_id": "@in_ann:elsewhere.example" }, { "user_id": "in_ann" },
            { "user_id": "@in_\0:ring.example" }, { "user_id": "@in_ann" },
        ],
    });
    let enabled_members = rule_group(".m.rule.message", &["in_ann", "product", "in_off"]);
    assert_eq!(application_service.evaluate(&body).await, [enabled_members]);

    service
        .store()
        .set_account_disabled_at(&any_events(), account_to_disable.id, Some(service.now()))
        .await
        .unwrap();
    let remaining_members = rule_group(".m.rule.message", &["in_ann", "product"]);
    assert_eq!(application_service.evaluate(&body).await, [remaining_members]);

    service.add_account("in_nobody").await;
    let members_with_new_account =
        rule_group(".m.rule.message", &["in_ann", "product", "in_nobody"]);
    assert_eq!(application_service.evaluate(&body).await, [members_with_new_account]);
}

#[tokio::test]
async fn a_member_is_evaluated_separately_for_each_device() {
    let (service, application_service) = start_with_application_service().await;
    let ann = service.user_client("ann").await;
    ann.put_rule_ok("device/phone/content/cake", &silent_rule("cake")).await;
    let member = |tag: &str| json!({ "user_id": user_id("ann"), "profile_tag": tag });
    let body = json!({
        "event": message_event("cake"), "all": true,
        "members": [member("phone"), member("tablet"), { "user_id": user_id("ann") }],
    });
    let groups = application_service.evaluate(&body).await;
    assert_eq!(
        groups,
        [rule_group("cake", &["ann"]), rule_group(".m.rule.message", &["ann", "ann"])]
    );
}

#[tokio::test]
async fn an_application_service_token_is_required() {
    let (service, application_service) = start_with_application_service().await;
    let alice = service.user_client("alice").await;
    let body = json!({ "event": message_event("cake"), "members": [] });
    let response = alice.send_json(EVALUATE, &body).await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    let app_token = service.issue_token(None, "read").await;
    let response =
        service.anonymous_client().with_token(app_token.reveal()).send_json(EVALUATE, &body).await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    let response = service.anonymous_client().send_json(EVALUATE, &body).await;
    assert_eq!(response.status_and_errcode(), (401, "M_MISSING_TOKEN".into()));
    let response =
        service.anonymous_client().with_token("made up").send_json(EVALUATE, &body).await;
    assert_eq!(response.status_and_errcode(), (401, "M_UNKNOWN_TOKEN".into()));

    let response = application_service.send_json("POST /_matrix/app/v1/evaluate", &body).await;
    assert_eq!(response.expect_json(StatusCode::OK), json!({ "groups": [] }));
    let response = application_service.get("/_matrix/app/v1/evaluate").await;
    assert_eq!(response.status_and_errcode(), (405, "M_UNRECOGNIZED".into()));
}

#[tokio::test]
async fn an_invalid_body_is_rejected() {
    let (_service, application_service) = start_with_application_service().await;
    for (body, errcode) in [
        ("", "M_NOT_JSON"),
        (r#"{"event":{},"members":[{"user_id":"@a:x"}"#, "M_NOT_JSON"),
        ("[]", "M_BAD_JSON"),
        (r#"{"members":[]}"#, "M_MISSING_PARAM"),
        (r#"{"event":{},"members":[{}]}"#, "M_MISSING_PARAM"),
        (r#"{"event":{},"members":[{"user_id":1}]}"#, "M_BAD_JSON"),
        (r#"{"event":{},"members":[{"user_id":"@a:x","user_id":"@b:x"}]}"#, "M_BAD_JSON"),
        (r#"{"event":{},"members":[],"all":"yes"}"#, "M_BAD_JSON"),
        (r#"{"event":{},"members":[{"user_id":"@a:x","profile_tag":""}]}"#, "M_INVALID_PARAM"),
    ] {
        let response = application_service.send(EVALUATE, body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.to_owned()), "{body}");
    }
}

#[tokio::test]
async fn evaluate_bodies_have_a_separate_size_limit() {
    let (_service, application_service) = start_with_settings(APPLICATION_SERVICE_SETTINGS).await;
    let body = json!({ "event": message_event("x"), "members": members(&["ann"]) }).to_string();
    let pad_body = |bytes: usize| format!("{body}{}", " ".repeat(bytes - body.len()));
    assert_eq!(application_service.send(EVALUATE, pad_body(16 << 20)).await.status, 200);
    let response = application_service.send(EVALUATE, pad_body((16 << 20) + 1)).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
}
