use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::tests::any_json;
use crate::rules::Class;

fn shown(kind: RuleKind, body: &str) -> Value {
    let new = NewRule::read(kind, body.as_bytes()).unwrap();
    json!(new.named("r".parse().unwrap(), true))
}

#[test]
fn override_and_underride_have_conditions_and_content_has_a_pattern() {
    let bare = json!({"rule_id": "r", "default": false, "enabled": true, "actions": []});
    let mut always = bare.clone();
    always["conditions"] = json!([]);
    for (kind, expected) in [
        (RuleKind::Override, &always),
        (RuleKind::Underride, &always),
        (RuleKind::Room, &bare),
        (RuleKind::Sender, &bare),
    ] {
        assert_eq!(&shown(kind, r#"{"actions":[]}"#), expected, "{kind}");
    }
    let mut cake = bare;
    cake["pattern"] = json!("cake");
    assert_eq!(shown(RuleKind::Content, r#"{"actions":[],"pattern":"cake"}"#), cake);
}

#[test]
fn what_the_user_gave_beyond_that_is_kept_for_every_kind() {
    let body = r#"{"actions":["notify"],"conditions":[{"kind":"contains_display_name"}],
        "pattern":"p","org.x":{"a":1.5}}"#;
    for kind in RuleKind::ALL {
        assert_eq!(
            shown(kind, body),
            json!({
                "rule_id": "r", "default": false, "enabled": true, "actions": ["notify"],
                "conditions": [{"kind": "contains_display_name"}], "pattern": "p",
                "org.x": {"a": 1.5},
            })
        );
    }
}

#[test]
fn a_body_cannot_set_what_is_ours() {
    let body = r#"{"actions":[],"rule_id":"x","default":"yes","enabled":false}"#;
    assert_eq!(shown(RuleKind::Room, body), shown(RuleKind::Room, r#"{"actions":[]}"#));
}

#[test]
fn a_body_of_the_wrong_shape_is_refused_by_name() {
    use Class::{BadJson, InvalidParam, MissingParam, NotJson};
    for (kind, body, class, text) in [
        (RuleKind::Room, "", NotJson, "the body is not JSON: EOF while parsing a value"),
        (RuleKind::Room, "{\"actions\":[]", NotJson, "the body is not JSON: EOF"),
        (RuleKind::Room, "{\"actions\":[],\"actions\":[]}", BadJson, "a key stands twice in one"),
        (RuleKind::Room, r#"{"actions":[],"x":"\ud800"}"#, BadJson, "the JSON holds half of a"),
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
    ] {
        let refusal = NewRule::read(kind, body.as_bytes()).unwrap_err();
        assert_eq!(refusal.class(), class, "{kind} {body}");
        assert!(refusal.to_string().starts_with(text), "{kind} {body}: {refusal}");
    }
}

#[test]
fn enabled_is_a_bare_boolean_or_an_object_with_one() {
    for (body, enabled) in
        [("true", true), (" false ", false), (r#"{"enabled":false,"x":1}"#, false)]
    {
        assert_eq!(read_enabled(body.as_bytes()), Ok(enabled), "{body}");
    }
    for (body, class) in [
        ("", Class::NotJson),
        ("True", Class::NotJson),
        ("\"true\"", Class::BadJson),
        ("1", Class::BadJson),
        ("null", Class::BadJson),
        ("[true]", Class::BadJson),
        (r#"{"enabled":"true"}"#, Class::BadJson),
        (r#"{"enabled":true,"enabled":true}"#, Class::BadJson),
        ("{}", Class::MissingParam),
    ] {
        assert_eq!(read_enabled(body.as_bytes()).unwrap_err().class(), class, "{body}");
    }
}

#[test]
fn actions_are_an_object_with_a_list() {
    assert_eq!(read_actions(br#"{"actions":["notify"]}"#), Ok(vec![Action::Notify]));
    assert_eq!(read_actions(br#"{"actions":[],"x":1}"#), Ok(vec![]));
    for (body, class) in [
        ("", Class::NotJson),
        (r#"["notify"]"#, Class::BadJson),
        (r#"{"actions":"notify"}"#, Class::BadJson),
        ("{}", Class::MissingParam),
        (r#"{"actions":["ring"]}"#, Class::InvalidParam),
    ] {
        assert_eq!(read_actions(body.as_bytes()).unwrap_err().class(), class, "{body}");
    }
}

fn any_action() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(&["notify", "dont_notify", "coalesce", "set_tweak"][..])
            .prop_map(Value::from),
        any::<String>().prop_map(|name| json!({"set_tweak": name})),
        any::<(String, String)>().prop_map(|(name, to)| json!({"set_tweak": name, "value": to})),
        any::<(String, bool)>().prop_map(|(name, to)| json!({"set_tweak": name, "value": to})),
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
        ("x[a-z]*", any_json()).prop_map(|(kind, value)| json!({"kind": kind, "key": value})),
    ]
}

/// The object, with members that nobody knows beside the ones it has.
fn with_extra(object: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let extra = prop::collection::btree_map("x-.*", any_json(), 0..3);
    (object, extra).prop_map(|(mut object, extra)| {
        if let Value::Object(members) = &mut object {
            members.extend(extra);
        }
        object
    })
}

fn any_body() -> impl Strategy<Value = Value> {
    let actions = prop::collection::vec(with_extra(any_action()), 0..4);
    let conditions = prop::collection::vec(with_extra(any_condition()), 0..4);
    let body = (actions, conditions, any::<String>()).prop_map(|(actions, conditions, pattern)| {
        json!({"actions": actions, "conditions": conditions, "pattern": pattern})
    });
    with_extra(body)
}

proptest! {
    #[test]
    fn a_rule_is_shown_as_it_was_put(body in any_body(), kind in prop::sample::select(&RuleKind::ALL)) {
        let new = NewRule::read(kind, &json::write(&body)).unwrap();
        let rule = new.named("r".parse().unwrap(), true);
        let shown = json!(rule);
        let mut expected = body;
        expected["rule_id"] = json!("r");
        expected["default"] = json!(false);
        expected["enabled"] = json!(true);
        prop_assert_eq!(&shown, &expected);
        prop_assert_eq!(serde_json::from_value::<Rule>(shown).unwrap(), rule);
    }
}
