//! Tests of evaluation request bodies.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::matrix::MatrixErrorCode;
use crate::rules::evaluate::PowerLevel;

fn read_explain(body: &Value) -> Result<ExplainRequest, RuleError> {
    ExplainRequest::parse(body.to_string().as_bytes())
}

fn read_evaluate(body: &Value) -> Result<EvaluateRequest, RuleError> {
    EvaluateRequest::parse(body.to_string().as_bytes())
}

#[test]
fn an_explain_request_contains_event_room_and_member() {
    let request = read_explain(&json!({
        "event": {"sender": "@bob:x"}, "profile_tag": "phone", "org.x": [1],
        "room": {
            "member_count": 5, "display_name": "Alice", "name": "Cake", "creators": ["@bob:x"],
            "power_levels": {"users": {"@bob:x": 100}, "notifications": {"room": "20"}},
        },
    }))
    .unwrap();
    assert_eq!(request.event.sender(), Some("@bob:x"));
    assert_eq!(request.room.member_count, Some(5));
    let levels = request.room.power_levels.as_ref().unwrap();
    assert_eq!(
        (levels.user_level("@bob:x"), levels.required_level("room")),
        (PowerLevel(100), PowerLevel(20))
    );
    assert_eq!(request.room.creators, ["@bob:x".to_owned()].into());
    let member = Member { display_name: Some("Alice"), profile_tag: Some("phone") };
    assert_eq!(request.member(), member);

    let request = read_explain(&json!({"event": {}})).unwrap();
    assert_eq!((request.room.clone(), request.member()), (Room::default(), Member::default()));
}

#[test]
fn an_evaluate_request_preserves_the_order_of_members() {
    let request = read_evaluate(&json!({
        "event": {}, "room": {"member_count": 2}, "all": true,
        "members": [
            {"user_id": "@b:x", "display_name": "B", "profile_tag": "phone"},
            {"user_id": "@a:x", "org.x": [{}]},
        ],
    }))
    .unwrap();
    let user_ids: Vec<&str> = request.members.iter().map(|member| &*member.id).collect();
    assert_eq!(user_ids, ["@b:x", "@a:x"]);
    let member = Member { display_name: Some("B"), profile_tag: Some("phone") };
    assert_eq!(request.members[0].member(), member);
    assert_eq!(request.members[1].member(), Member::default());
    assert!(request.all && request.room.member_count == Some(2));

    let request = read_evaluate(&json!({"members": [], "event": {}})).unwrap();
    assert!(request.members.is_empty() && !request.all);
}

#[test]
fn errors_common_to_both_requests_name_the_field() {
    let levels_message = "room.power_levels must be the content of an m.room.power_levels event, \
        with integers for levels";
    let creators_message = "room.creators must be an array of user ids";
    for (body, code, message) in [
        (json!({}), MatrixErrorCode::MissingParam, "event is missing"),
        (json!({"event": null}), MatrixErrorCode::BadJson, "event must be a JSON object"),
        (json!({"event": []}), MatrixErrorCode::BadJson, "event must be a JSON object"),
        (
            json!({"event": {}, "related_events": [{}]}),
            MatrixErrorCode::BadJson,
            "related_events must be an object of events, by relation type",
        ),
        (
            json!({"event": {}, "related_events": {"m.thread": {}, "m.in_reply_to": null}}),
            MatrixErrorCode::BadJson,
            "related_events must be an object of events, by relation type",
        ),
        (json!({"event": {}, "room": 5}), MatrixErrorCode::BadJson, "room must be a JSON object"),
        (
            json!({"event": {}, "room": {"member_count": -1}}),
            MatrixErrorCode::BadJson,
            "room.member_count must be a whole number",
        ),
        (
            json!({"event": {}, "room": {"member_count": "5"}}),
            MatrixErrorCode::BadJson,
            "room.member_count must be a whole number",
        ),
        (
            json!({"event": {}, "room": {"creators": {"@a:x": 1}}}),
            MatrixErrorCode::BadJson,
            creators_message,
        ),
        (
            json!({"event": {}, "room": {"creators": ["@a:x", 1]}}),
            MatrixErrorCode::BadJson,
            creators_message,
        ),
        (
            json!({"event": {}, "room": {"creators": null}}),
            MatrixErrorCode::BadJson,
            creators_message,
        ),
        (
            json!({"event": {}, "room": {"power_levels": 1}}),
            MatrixErrorCode::BadJson,
            levels_message,
        ),
        (
            json!({"event": {}, "room": {"power_levels": []}}),
            MatrixErrorCode::BadJson,
            levels_message,
        ),
        (
            json!({"event": {}, "room": {"power_levels": {"users": {"@a:x": "high"}}}}),
            MatrixErrorCode::BadJson,
            levels_message,
        ),
    ] {
        let mut evaluate_body = body.clone();
        evaluate_body["members"] = json!([]);
        for error in [read_explain(&body).unwrap_err(), read_evaluate(&evaluate_body).unwrap_err()]
        {
            assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{body}");
        }
    }
    for (body, code) in [
        (&b"cake"[..], MatrixErrorCode::NotJson),
        (b"", MatrixErrorCode::NotJson),
        (b"[]", MatrixErrorCode::BadJson),
        (b"\"members\"", MatrixErrorCode::BadJson),
        (br#"{"event":{},"event":{},"members":[]}"#, MatrixErrorCode::BadJson),
        (br#"{"event":{"a":1,"a":2},"members":[]}"#, MatrixErrorCode::BadJson),
        (br#"{"event":{},"members":[]} x"#, MatrixErrorCode::NotJson),
    ] {
        assert_eq!(ExplainRequest::parse(body).unwrap_err().code(), code, "{body:?}");
        assert_eq!(EvaluateRequest::parse(body).unwrap_err().code(), code, "{body:?}");
    }
}

#[test]
fn errors_specific_to_one_request_name_the_field() {
    for (fields, code, message) in [
        (json!({"profile_tag": 1}), MatrixErrorCode::BadJson, "profile_tag must be a string"),
        (
            json!({"profile_tag": ""}),
            MatrixErrorCode::InvalidParam,
            "a rule id or profile tag must not be empty",
        ),
        (
            json!({"profile_tag": "a/b"}),
            MatrixErrorCode::InvalidParam,
            "a rule id or profile tag must not contain '/'",
        ),
        (
            json!({"room": {"display_name": null}}),
            MatrixErrorCode::BadJson,
            "room.display_name must be a string",
        ),
    ] {
        let mut body = fields.clone();
        body["event"] = json!({});
        let error = read_explain(&body).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{fields}");
    }
    let valid_member = json!({"user_id": "@a:x"});
    for (members, code, message) in [
        (Value::Null, MatrixErrorCode::BadJson, "members must be an array"),
        (json!({"0": valid_member}), MatrixErrorCode::BadJson, "members must be an array"),
        (
            json!([valid_member, "@b:x"]),
            MatrixErrorCode::BadJson,
            "members[1] must be a JSON object",
        ),
        (json!([valid_member, {}]), MatrixErrorCode::MissingParam, "members[1].user_id is missing"),
        (
            json!([{"user_id": "@a:x", "display_name": 1}]),
            MatrixErrorCode::BadJson,
            "members[0].display_name must be a string",
        ),
        (
            json!([{"user_id": "@a:x", "profile_tag": ""}]),
            MatrixErrorCode::InvalidParam,
            "a rule id or profile tag must not be empty",
        ),
    ] {
        let error = read_evaluate(&json!({"event": {}, "members": members})).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{members}");
    }
    let error = read_evaluate(&json!({"event": {}})).unwrap_err();
    assert_eq!(error.to_string(), "members is missing");
    let error = read_evaluate(&json!({"event": {}, "members": [], "all": 1})).unwrap_err();
    assert_eq!(error.to_string(), "all must be a boolean");
}

#[test]
fn matrix_event_fields_are_ignored() {
    let event = json!({"content": {"displayname": "A", "membership": "join"}, "displayname": "A"});
    let member = json!({"user_id": "@a:x", "membership": "join"});
    let room = json!({"creator": "@a:x", "room_id": "!a:x", "org.x.member_counts": 1});
    let body = json!({"event": event, "room": room, "members": [member], "rooms": 1, "events": 1});
    read_explain(&body).unwrap();
    read_evaluate(&body).unwrap();
}

#[test]
fn only_the_top_level_members_are_read_as_members() {
    let request = read_evaluate(&json!({
        "event": {"members": [1, {"members": ["x"]}], "content": {"members": [2]}},
        "room": {"members": [3]},
        "members": [{"user_id": "@a:x", "members": [4]}],
    }));
    assert_eq!(request.unwrap().members.len(), 1);
}

proptest! {
    #[test]
    fn parsing_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        drop(ExplainRequest::parse(&bytes));
        drop(EvaluateRequest::parse(&bytes));
    }
}
