//! Tests of the requests of application services.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::matrix::MatrixErrorCode;
use crate::rules::evaluate::Member;

const DAY: Duration = Duration::from_hours(24);

fn parse(body: &Value) -> Result<NotifyRequest, RuleError> {
    NotifyRequest::parse(body.to_string().as_bytes())
}

fn parse_notification(body: &Value) -> Result<NotificationRequest, RuleError> {
    NotificationRequest::parse(body.to_string().as_bytes())
}

fn notify_body() -> Value {
    json!({
        "event": {
            "event_id": "$1", "room_id": "!r:x", "type": "m.room.message", "sender": "@bob:x",
            "content": {"body": "Hello"}, "origin_server_ts": 5,
        },
        "room": {"name": "Cake", "member_count": 3},
        "sender_display_name": "Bob",
        "topic": "kitchen",
        "ttl_ms": 60_000,
        "all": true,
        "members": [
            {"user_id": "@ann:x", "display_name": "Ann", "counts": {"unread": 3, "missed_calls": 1}},
            {"user_id": "@cat:x", "profile_tag": "phone"},
            {"user_id": "@dan:x", "counts": {}, "profile_tag": ""},
        ],
    })
}

fn notification_body() -> Value {
    json!({
        "account": "@alice:example.org", "type": "mention", "id": "42", "title": "Bob mentioned you",
        "body": "Hello", "icon": "https://x/i.png", "relationship": {"followed": true},
        "topic": "a", "ttl_ms": 604_800_000,
    })
}

#[test]
fn a_notify_request_contains_the_evaluation_and_the_message() {
    let request = parse(&notify_body()).unwrap();
    let expected_message = EventMessage {
        event_id: "$1".to_owned(),
        room_id: Some("!r:x".to_owned()),
        event_type: Some("m.room.message".to_owned()),
        sender: Some("@bob:x".to_owned()),
        sender_display_name: Some("Bob".to_owned()),
        room_name: Some("Cake".to_owned()),
        content: Some(json!({"body": "Hello"})),
    };
    assert_eq!(request.message, expected_message);
    assert_eq!((request.topic.as_deref(), request.ttl), (Some("kitchen"), Duration::from_mins(1)));
    let no_counts = Counts::default();
    assert_eq!(request.counts, [Counts { unread: 3, missed_calls: 1 }, no_counts, no_counts]);
    let evaluation = &request.evaluation;
    assert_eq!((evaluation.room.member_count, evaluation.all), (Some(3), true));
    assert_eq!(evaluation.event.sender(), Some("@bob:x"));
    let members: Vec<(&str, Member<'_>)> =
        evaluation.members.iter().map(|member| (&*member.id, member.member())).collect();
    let ann = Member { display_name: Some("Ann"), profile_tag: None };
    let others = Member::default();
    assert_eq!(members, [("@ann:x", ann), ("@cat:x", others), ("@dan:x", others)]);

    let request = parse(&json!({"event": {"event_id": "$1"}, "members": []})).unwrap();
    assert_eq!((request.topic, request.ttl), (None, 2 * DAY));
    assert_eq!((request.message.content, request.message.room_name), (None, None));
}

#[test]
fn a_membership_event_changes_the_membership_of_its_user() {
    for (event, changes_membership) in [
        (json!({"event_id": "$1", "type": "m.room.member", "state_key": "@ann:x"}), true),
        (json!({"event_id": "$1", "type": "m.room.member", "state_key": "@bob:x"}), false),
        (json!({"event_id": "$1", "type": "m.room.member"}), false),
        (json!({"event_id": "$1", "type": "m.room.topic", "state_key": "@ann:x"}), false),
    ] {
        let request = parse(&json!({"event": event, "members": []})).unwrap();
        let is_target = request.evaluation.event.changes_membership_of("@ann:x");
        assert_eq!(is_target, changes_membership, "{event}");
    }
}

#[test]
fn an_invalid_notify_request_is_rejected_with_the_reason() {
    use MatrixErrorCode::{BadJson, InvalidParam, MissingParam};
    let count_message = "members[1]: counts.unread must be a whole number below 4294967296";
    for (path, value, code, message) in [
        ("/event", json!({}), MissingParam, "event.event_id is missing"),
        ("/event/event_id", json!(1), BadJson, "event.event_id must be a string"),
        ("/event/event_id", json!(""), InvalidParam, "event.event_id must be 1 to 255 bytes long"),
        (
            "/event/event_id",
            json!("a".repeat(256)),
            InvalidParam,
            "event.event_id must be 1 to 255 bytes long",
        ),
        (
            "/event/room_id",
            json!("a".repeat(256)),
            InvalidParam,
            "event.room_id must be at most 255 bytes long",
        ),
        (
            "/event/content",
            json!({"body": "a".repeat(65_536)}),
            InvalidParam,
            "event.content must be at most 65536 bytes long, as in Matrix",
        ),
        ("/room/name", json!(1), BadJson, "room.name must be a string"),
        ("/sender_display_name", json!([]), BadJson, "sender_display_name must be a string"),
        ("/topic", json!(1), BadJson, "topic must be a string"),
        ("/topic", json!(""), InvalidParam, "topic must be 1 to 255 bytes long"),
        ("/topic", json!("é".repeat(128)), InvalidParam, "topic must be 1 to 255 bytes long"),
        ("/ttl_ms", json!(604_800_001), InvalidParam, "ttl_ms must be at most 604800000 (7 days)"),
        ("/ttl_ms", json!(u64::MAX), InvalidParam, "ttl_ms must be at most 604800000 (7 days)"),
        ("/ttl_ms", json!(-1), BadJson, "ttl_ms must be a whole number of milliseconds"),
        ("/ttl_ms", json!("5"), BadJson, "ttl_ms must be a whole number of milliseconds"),
        ("/members", json!({}), BadJson, "members must be an array"),
        ("/members/1", json!({}), MissingParam, "members[1].user_id is missing"),
        (
            "/members/1",
            json!({"user_id": "@a:x", "counts": [1, 2]}),
            BadJson,
            "members[1]: counts must be a JSON object",
        ),
        (
            "/members/1",
            json!({"user_id": "@a:x", "counts": {"unread": -1}}),
            BadJson,
            count_message,
        ),
        (
            "/members/1",
            json!({"user_id": "@a:x", "counts": {"unread": 4_294_967_296_u64}}),
            BadJson,
            count_message,
        ),
    ] {
        let mut body = notify_body();
        *body.pointer_mut(path).unwrap() = value;
        let error = parse(&body).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (message, code), "{path}");
    }
}

#[test]
fn long_names_and_titles_are_truncated() {
    let mut body = notify_body();
    body["room"]["name"] = "é".repeat(256).into();
    body["sender_display_name"] = "é".repeat(256).into();
    let message = parse(&body).unwrap().message;
    let expected_name = Some("é".repeat(255));
    assert_eq!(
        (&message.room_name, &message.sender_display_name),
        (&expected_name, &expected_name)
    );

    let mut body = notification_body();
    body["title"] = "é".repeat(1001).into();
    body["body"] = "é".repeat(1001).into();
    let message = parse_notification(&body).unwrap().message;
    assert_eq!((message.title, message.body), ("é".repeat(1000), "é".repeat(1000)));
}

#[test]
fn a_notification_is_evaluated_as_an_event_without_type_and_text() {
    let user = "@alice:example.org";
    for (notification_type, mentioned_users) in [("mention", json!([user])), ("follow", json!([]))]
    {
        let mut body = notification_body();
        body["type"] = notification_type.into();
        let evaluation = parse_notification(&body).unwrap().evaluation(user);
        let expected = json!({ "content": { "m.mentions": { "user_ids": mentioned_users } } });
        assert_eq!(Some(evaluation.event.members()), expected.as_object());
        let members: Vec<&str> = evaluation.members.iter().map(|member| &*member.id).collect();
        assert_eq!((members, evaluation.all), (vec![user], true));
    }
}

#[test]
fn a_notification_request_is_parsed() {
    let expected = NotificationRequest {
        account: AccountName::UserId("@alice:example.org".to_owned()),
        message: NotificationMessage {
            id: 42,
            notification_type: "mention".to_owned(),
            title: "Bob mentioned you".to_owned(),
            body: "Hello".to_owned(),
            icon: "https://x/i.png".to_owned(),
        },
        relationship: Relationship { followed: true, follower: false },
        topic: Some("a".to_owned()),
        ttl: 7 * DAY,
    };
    assert_eq!(parse_notification(&notification_body()), Ok(expected));

    let minimal_body = json!({"account": "7", "type": "admin.report", "id": "0", "title": ""});
    let request = parse_notification(&minimal_body).unwrap();
    assert_eq!(request.account, AccountName::Id(7));
    assert_eq!((request.relationship, request.ttl), (Relationship::default(), 2 * DAY));
    assert_eq!((&*request.message.body, &*request.message.icon), ("", ""));
}

#[test]
fn an_invalid_notification_request_is_rejected_with_the_reason() {
    use MatrixErrorCode::{BadJson, InvalidParam, MissingParam};
    let id_message = "id must be a decimal number below 9223372036854775808";
    let account_message =
        "account must be a user id such as @alice:example.org, or the id of an account";
    let type_message = "type must be a notification type of Mastodon, such as mention or follow";
    for (name, value, code, message) in [
        ("account", json!(7), BadJson, "account must be a string"),
        ("account", json!("alice"), InvalidParam, account_message),
        ("account", json!(""), InvalidParam, account_message),
        ("account", json!("-7"), InvalidParam, account_message),
        ("type", json!("dance"), InvalidParam, type_message),
        ("id", json!(42), BadJson, "id must be a string"),
        ("id", json!(""), InvalidParam, id_message),
        ("id", json!("+1"), InvalidParam, id_message),
        ("id", json!("-1"), InvalidParam, id_message),
        ("id", json!("0x1"), InvalidParam, id_message),
        ("id", json!("9223372036854775808"), InvalidParam, id_message),
        ("icon", json!("a".repeat(2049)), InvalidParam, "icon must be a URL of at most 2048 bytes"),
        ("title", json!(1), BadJson, "title must be a string"),
        ("relationship", json!(true), BadJson, "relationship must be a JSON object"),
        (
            "relationship",
            json!({"follower": 1}),
            BadJson,
            "relationship.follower must be a boolean",
        ),
        ("ttl_ms", json!(604_800_001), InvalidParam, "ttl_ms must be at most 604800000 (7 days)"),
    ] {
        let mut body = notification_body();
        body[name] = value;
        let error = parse_notification(&body).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (message, code), "{body}");
    }
    for name in ["account", "type", "id", "title"] {
        let mut body = notification_body();
        body.as_object_mut().unwrap().remove(name);
        let error = parse_notification(&body).unwrap_err();
        assert_eq!((error.to_string(), error.code()), (format!("{name} is missing"), MissingParam));
    }
    let mut body = notification_body();
    body["id"] = "9223372036854775807".into();
    assert_eq!(parse_notification(&body).unwrap().message.id, i64::MAX);
}

proptest! {
    #[test]
    fn parsing_never_panics(
        bytes in any::<Vec<u8>>(),
        value in crate::json::tests::any_json(),
        path in prop::sample::select(vec!["/event", "/room", "/members", "/members/0", "/ttl_ms"]),
        name in prop::sample::select(vec!["account", "id", "relationship", "title", "ttl_ms"]),
    ) {
        let _ = NotifyRequest::parse(&bytes);
        let _ = NotificationRequest::parse(&bytes);
        let mut body = notify_body();
        *body.pointer_mut(path).unwrap() = value.clone();
        let _ = parse(&body);
        let mut body = notification_body();
        body[name] = value;
        let _ = parse_notification(&body);
    }
}
