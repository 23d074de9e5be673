//! Tests of request bodies that create or change rules.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::tests::any_json;
use crate::matrix::MatrixErrorCode;

fn rule_json(kind: RuleKind, body: &str) -> Value {
    let new_rule =
        NewRule::parse(kind, body.as_bytes(), NewRuleLimits::default(), Timestamp::UNIX_EPOCH)
            .unwrap();
    json!(new_rule.into_rule("r".parse().unwrap(), true))
}

#[test]
fn override_and_underride_rules_have_conditions_and_content_rules_have_a_pattern() {
    let minimal_rule = json!({"rule_id": "r", "default": false, "enabled": true, "actions": []});
    let mut rule_with_conditions = minimal_rule.clone();
    rule_with_conditions["conditions"] = json!([]);
    for (kind, expected) in [
        (RuleKind::Override, &rule_with_conditions),
        (RuleKind::Underride, &rule_with_conditions),
        (RuleKind::Room, &minimal_rule),
        (RuleKind::Sender, &minimal_rule),
    ] {
        assert_eq!(&rule_json(kind, r#"{"actions":[]}"#), expected, "{kind}");
    }
    let mut content_rule = minimal_rule;
    content_rule["pattern"] = json!("cake");
    assert_eq!(rule_json(RuleKind::Content, r#"{"actions":[],"pattern":"cake"}"#), content_rule);
}

#[test]
fn optional_and_unknown_fields_are_stored_for_every_kind() {
    let body = r#"{"actions":["notify"],"conditions":[{"kind":"contains_display_name"}],
        "pattern":"p","until":1800000000000,"org.x":{"a":1.5}}"#;
    for &kind in RuleKind::ALL {
        assert_eq!(
            rule_json(kind, body),
            json!({
                "rule_id": "r", "default": false, "enabled": true, "actions": ["notify"],
                "conditions": [{"kind": "contains_display_name"}], "pattern": "p",
                "until": 1_800_000_000_000_i64, "org.x": {"a": 1.5},
            })
        );
    }
}

#[test]
fn rule_id_default_and_enabled_are_ignored() {
    let body = r#"{"actions":[],"rule_id":"x","default":"yes","enabled":false}"#;
    assert_eq!(rule_json(RuleKind::Room, body), rule_json(RuleKind::Room, r#"{"actions":[]}"#));
}

#[test]
fn an_invalid_body_is_rejected_with_the_field_name() {
    use MatrixErrorCode::{BadJson, InvalidParam, MissingParam, NotJson};
    for (kind, body, code, message) in [
        (RuleKind::Room, "", NotJson, "the body is not JSON: EOF while parsing a value"),
        (RuleKind::Room, "{\"actions\":[]", NotJson, "the body is not JSON: EOF"),
        (
            RuleKind::Room,
            "{\"actions\":[],\"actions\":[]}",
            BadJson,
            "duplicate key in object at l",
        ),
        (RuleKind::Room, r#"{"actions":[],"x":"\ud800"}"#, BadJson, "the JSON contains a lone"),
        (RuleKind::Room, "true", BadJson, "the body must be a JSON object"),
        (RuleKind::Room, "[]", BadJson, "the body must be a JSON object"),
        (RuleKind::Room, "{}", MissingParam, "actions is missing"),
        (RuleKind::Room, r#"{"actions":"notify"}"#, BadJson, "actions must be an array"),
        (RuleKind::Room, r#"{"actions":null}"#, BadJson, "actions must be an array"),
        (RuleKind::Room, r#"{"actions":["x"]}"#, InvalidParam, "actions[0] must be notify, "),
        (RuleKind::Override, r#"{"actions":[],"conditions":{}}"#, BadJson, "conditions must be an"),
        (RuleKind::Override, r#"{"actions":[],"conditions":null}"#, BadJson, "conditions must be"),
        (
            RuleKind::Override,
            r#"{"actions":[],"conditions":[{"kind":"x"},{}]}"#,
            MissingParam,
            "conditions[1].kind is missing",
        ),
        (RuleKind::Content, r#"{"actions":[]}"#, MissingParam, "pattern is missing"),
        (RuleKind::Content, r#"{"actions":[],"pattern":1}"#, BadJson, "pattern must be a string"),
        (RuleKind::Sender, r#"{"actions":[],"pattern":1}"#, BadJson, "pattern must be a string"),
        (
            RuleKind::Room,
            r#"{"actions":[],"until":"1"}"#,
            BadJson,
            "until must be an integer: Unix",
        ),
        (
            RuleKind::Room,
            r#"{"actions":[],"until":null}"#,
            BadJson,
            "until must be an integer: Unix",
        ),
        (RuleKind::Room, r#"{"actions":[],"until":-1}"#, InvalidParam, "until must be from 0 to "),
    ] {
        let error =
            NewRule::parse(kind, body.as_bytes(), NewRuleLimits::default(), Timestamp::UNIX_EPOCH)
                .unwrap_err();
        assert_eq!(error.code(), code, "{kind} {body}");
        assert!(error.to_string().starts_with(message), "{kind} {body}: {error}");
    }
}

#[test]
fn fields_and_kinds_that_resemble_known_ones_are_stored() {
    let fields = ["patterns", "pattern2", "action", "condition", "condtions", "untill", "Until"];
    for &kind in RuleKind::ALL {
        let mut body = json!({"actions": [], "pattern": "x"});
        body["conditions"] = json!([{"kind": "event_mach"}, {"kind": "time_and_days"}]);
        for field in fields {
            body[field] = json!(["x"]);
        }
        let rule = rule_json(kind, &body.to_string());
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(&rule[field], value, "{kind} {field}");
        }
    }
}

#[test]
fn enabled_is_a_boolean_or_an_object_with_a_boolean() {
    for (body, enabled) in
        [("true", true), (" false ", false), (r#"{"enabled":false,"x":1}"#, false)]
    {
        assert_eq!(
            EnabledChange::parse(body.as_bytes(), Timestamp::UNIX_EPOCH),
            Ok(enabled.into()),
            "{body}"
        );
    }
    let until = RuleExpiry::try_from(1_800_000_000_000).ok();
    assert_eq!(
        EnabledChange::parse(br#"{"enabled":true,"until":1800000000000}"#, Timestamp::UNIX_EPOCH),
        Ok(EnabledChange { enabled: true, until })
    );
    for (body, code) in [
        ("", MatrixErrorCode::NotJson),
        ("True", MatrixErrorCode::NotJson),
        ("\"true\"", MatrixErrorCode::BadJson),
        ("1", MatrixErrorCode::BadJson),
        ("null", MatrixErrorCode::BadJson),
        ("[true]", MatrixErrorCode::BadJson),
        (r#"{"enabled":"true"}"#, MatrixErrorCode::BadJson),
        (r#"{"enabled":true,"enabled":true}"#, MatrixErrorCode::BadJson),
        (r#"{"enabled":true,"until":"x"}"#, MatrixErrorCode::BadJson),
        (r#"{"enabled":true,"until":-1}"#, MatrixErrorCode::InvalidParam),
        ("{}", MatrixErrorCode::MissingParam),
        (r#"{"until":1800000000000}"#, MatrixErrorCode::MissingParam),
    ] {
        assert_eq!(
            EnabledChange::parse(body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap_err().code(),
            code,
            "{body}"
        );
    }
}

fn any_action() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(&["notify", "dont_notify", "coalesce", "set_tweak"][..])
            .prop_map(Value::from),
        any::<String>().prop_map(|name| json!({"set_tweak": name})),
        any::<(String, String)>()
            .prop_map(|(name, text)| json!({"set_tweak": name, "value": text})),
        any::<(String, bool)>()
            .prop_map(|(name, value)| json!({"set_tweak": name, "value": value})),
    ]
}

fn any_condition() -> impl Strategy<Value = Value> {
    let scalar = || {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ]
    };
    prop_oneof![
        any::<(String, String)>().prop_map(|(key, pattern)| {
            json!({"kind": "event_match", "key": key, "pattern": pattern})
        }),
        Just(json!({"kind": "contains_display_name"})),
        "(==|<|>|<=|>=)?[0-9]{1,9}".prop_map(|is| json!({"kind": "room_member_count", "is": is})),
        any::<String>()
            .prop_map(|key| json!({"kind": "sender_notification_permission", "key": key})),
        (any::<String>(), scalar()).prop_map(|(key, value)| {
            json!({"kind": "event_property_is", "key": key, "value": value})
        }),
        (any::<String>(), scalar()).prop_map(|(key, value)| {
            json!({"kind": "event_property_contains", "key": key, "value": value})
        }),
        ("([01][0-9]|2[0-3]):[0-5][0-9]", 0..=7u8).prop_map(|(time, day)| {
            let interval = json!({"time_of_day": [time, "23:59"], "day_of_week": [day]});
            json!({"kind": "time_and_day", "timezone": "Asia/Tokyo", "intervals": [interval, {}]})
        }),
        ("x[a-z]*", any_json()).prop_map(|(kind, value)| json!({"kind": kind, "key": value})),
    ]
}

fn with_unknown_members(object: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let extra = prop::collection::btree_map("x-.*", any_json(), 0..3);
    (object, extra).prop_map(|(mut object, extra)| {
        if let Value::Object(members) = &mut object {
            members.extend(extra);
        }
        object
    })
}

fn any_body() -> impl Strategy<Value = Value> {
    let actions = prop::collection::vec(with_unknown_members(any_action()), 0..4);
    let conditions = prop::collection::vec(with_unknown_members(any_condition()), 0..4);
    let body = (actions, conditions, any::<String>()).prop_map(|(actions, conditions, pattern)| {
        json!({"actions": actions, "conditions": conditions, "pattern": pattern})
    });
    with_unknown_members(body)
}

proptest! {
    #[test]
    fn a_rule_is_serialized_with_all_its_fields(
        body in any_body(),
        kind in prop::sample::select(RuleKind::ALL),
    ) {
        let limits = NewRuleLimits::default();
        let now = Timestamp::UNIX_EPOCH;
        let new_rule = NewRule::parse(kind, &json::to_bytes(&body), limits, now).unwrap();
        let rule = new_rule.into_rule("r".parse().unwrap(), true);
        let serialized_rule = json!(rule);
        let mut expected = body;
        expected["rule_id"] = json!("r");
        expected["default"] = json!(false);
        expected["enabled"] = json!(true);
        prop_assert_eq!(&serialized_rule, &expected);
        prop_assert_eq!(serde_json::from_value::<Rule>(serialized_rule).unwrap(), rule);
    }
}
