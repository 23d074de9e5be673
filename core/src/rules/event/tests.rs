//! Tests of event properties.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::{self, JsonError};

fn new_event(value: Value) -> Event {
    Event::from_value(value).unwrap()
}

fn excerpt_at(event: &Value, path: &str) -> Option<Value> {
    Event::from_value(event.clone()).unwrap().excerpt(&PropertyPath::parse(path))
}

#[test]
fn a_property_is_found_by_its_path() {
    let event = json!({
        "type": "m.room.message", "": {"": 1}, "depth": 12, "unsigned": {"age": 1.5},
        "content": {"body": "Hi", "m.mentions": {"user_ids": ["@a:x", 1, {}, [], null, 0.5]}},
        "a": {"b.c": true, "b": {"c": null}}, "big": 9_007_199_254_740_992_i64, "back\\slash": "",
    });
    for (path, value) in [
        ("type", json!("m.room.message")),
        ("depth", json!(12)),
        (".", json!(1)),
        ("content.body", json!("Hi")),
        (r"content.m\.mentions.user_ids", json!(["@a:x", 1, null])),
        (r"a.b\.c", json!(true)),
        ("a.b.c", json!(null)),
        (r"back\slash", json!("")),
        (r"back\\slash", json!("")),
    ] {
        assert_eq!(excerpt_at(&event, path), Some(value), "{path}");
    }
    for path in [
        "",
        "content",
        "body",
        "content.body.x",
        "x.content.body",
        "unsigned.age",
        "big",
        r"content\.body",
        "content.m.mentions.user_ids",
        r"content.m\.mentions.user_ids.0",
        "a.b",
        "..",
        "Type",
    ] {
        assert_eq!(excerpt_at(&event, path), None, "{path}");
    }
}

#[test]
fn the_sender_is_read_from_user_id_in_the_oldest_event_format() {
    for (value, sender) in [
        (json!({"sender": "@a:x", "user_id": "@b:x"}), Some("@a:x")),
        (json!({"user_id": "@b:x"}), Some("@b:x")),
        (json!({"sender": 1, "user_id": "@b:x"}), Some("@b:x")),
        (json!({"sender": 1, "user_id": 2}), None),
        (json!({}), None),
    ] {
        assert_eq!(new_event(value.clone()).sender(), sender, "{value}");
    }
}

#[test]
fn any_m_mentions_value_counts_as_mentions() {
    for mentions in [json!({}), json!({"user_ids": []}), json!(null), json!(1), json!(1.5)] {
        assert!(new_event(json!({"content": {"m.mentions": mentions}})).has_mentions());
    }
    for content in [json!({}), json!("m.mentions"), json!(["m.mentions"]), json!(null)] {
        let event = new_event(json!({"content": content, "m.mentions": {}}));
        assert!(!event.has_mentions(), "{content}");
    }
}

#[test]
fn a_long_object_name_is_stored_once_for_all_its_properties() {
    fn name_bytes(members: &Map<String, Value>) -> usize {
        let inner_name_bytes = |value: &Value| value.as_object().map_or(0, name_bytes);
        members.iter().map(|(name, value)| name.capacity() + inner_name_bytes(value)).sum()
    }
    let members: Map<_, _> = (0..5000).map(|n| (n.to_string(), json!(n))).collect();
    let name = "x".repeat(30_000);
    let event = new_event(json!({&name: members}));
    assert!(event.get(&PropertyPath::parse(&format!("{name}.4999"))).is_some());
    assert!(name_bytes(event.members()) < 90_000);
}

#[test]
fn an_event_may_be_nested_as_deeply_as_the_json_parser_allows() {
    let nested_object = |depth: usize| -> Option<Value> {
        let json = r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
        serde_json::from_str(&json).ok()
    };
    let path = PropertyPath::parse(&["a"; 127].join("."));
    assert!(new_event(nested_object(127).unwrap()).get(&path).is_some());
    assert!(nested_object(128).is_none());
    assert!(nested_object(100_000).is_none());
}

pub(in crate::rules) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab.\\\\]{0,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Returns the part of a value that can be compared, defined independently of the tested code.
fn comparable_part(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => None,
        Value::Array(items) => {
            let items = items.iter().filter(|item| !item.is_array());
            Some(items.filter_map(comparable_part).collect())
        }
        Value::Number(number) => {
            let integer = number.as_i64()?;
            (integer.unsigned_abs() < 1 << 53).then(|| value.clone())
        }
        _ => Some(value.clone()),
    }
}

fn value_at<'a>(event: &'a Value, path: &PropertyPath) -> Option<&'a Value> {
    path.names().iter().try_fold(event, |value, name| value.as_object()?.get(&**name))
}

proptest! {
    #[test]
    fn a_path_finds_the_property_that_it_names(inner in any_json(), path in "[ab.\\\\]{0,9}") {
        let path = PropertyPath::parse(&path);
        let value = json!({"a": inner});
        let expected = value_at(&value, &path).and_then(comparable_part);
        prop_assert_eq!(new_event(value).excerpt(&path), expected);
    }
}

#[test]
fn ambiguous_or_invalid_events_are_rejected() {
    for json in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1.5,"a":1}"#,
        r#"{"content":{"body":"x"},"content":{}}"#,
        r#"{"content":{"body":"x","body":"y"}}"#,
        r#"{"a":{},"a":null}"#,
    ] {
        let error = json::parse(json.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::DuplicateKey { .. }), "{json}: {error}");
    }
    let parse_event = |json: &str| Event::from_value(json::parse(json.as_bytes()).ok()?);
    assert!(parse_event(r#"{"a":{"b":1},"b":{"b":1}}"#).is_some());
    for json in ["", "[]", "null", "\"event\"", "{", "{} {}", "{\"a\":\"\\ud800\"}"] {
        assert!(parse_event(json).is_none(), "{json}");
    }
}

#[test]
fn a_path_is_split_at_unescaped_dots() {
    for (text, names) in [
        ("m", &["m"][..]),
        ("m.foo", &["m", "foo"]),
        ("m.foo.bar", &["m", "foo", "bar"]),
        (r"m\.foo", &["m.foo"]),
        (r"m\\.foo", &[r"m\", "foo"]),
        (r"m\\\.foo", &[r"m\.foo"]),
        (r"m\\\\.foo", &[r"m\\", "foo"]),
        (r"m\foo", &[r"m\foo"]),
        (r"m\\foo", &[r"m\foo"]),
        (r"m\\\foo", &[r"m\\foo"]),
        (r"m\\\\foo", &[r"m\\foo"]),
        (r"m.foo\", &["m", r"foo\"]),
        (r"m.foo\\", &["m", r"foo\"]),
        (r"m.foo\.", &["m", "foo."]),
        (r"m.foo\\.", &["m", r"foo\", ""]),
        (r"m.foo\\\.", &["m", r"foo\."]),
        (".m", &["", "m"]),
        ("..m", &["", "", "m"]),
        ("m.", &["m", ""]),
        ("m..", &["m", "", ""]),
        ("m..foo", &["m", "", "foo"]),
        ("", &[""]),
        (".", &["", ""]),
        (r"content.m\.mentions.user_ids", &["content", "m.mentions", "user_ids"]),
    ] {
        let path = PropertyPath::parse(text);
        assert!(path.names().iter().map(|name| &**name).eq(names.iter().copied()), "{path:?}");
    }
}

#[test]
fn a_redundant_escape_does_not_change_the_path() {
    assert_eq!(PropertyPath::parse(r"a\b"), PropertyPath::parse(r"a\\b"));
    assert_ne!(PropertyPath::parse(r"a\.b"), PropertyPath::parse("a.b"));
}
