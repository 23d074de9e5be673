use proptest::prelude::*;
use serde_json::Map;

use super::*;

fn event(value: Value) -> Event {
    Event::from_value(value).unwrap()
}

fn found(event: &Value, key: &str) -> Option<Value> {
    Event::from_value(event.clone()).unwrap().get(&PropertyPath::new(key)).map(Property::to_json)
}

#[test]
fn a_property_is_found_by_its_dotted_key() {
    let event = json!({
        "type": "m.room.message", "": {"": 1}, "depth": 12, "unsigned": {"age": 1.5},
        "content": {"body": "Hi", "m.mentions": {"user_ids": ["@a:x", 1, {}, [], null, 0.5]}},
        "a": {"b.c": true, "b": {"c": null}}, "big": 9_007_199_254_740_992_i64, "back\\slash": "",
    });
    for (key, value) in [
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
        assert_eq!(found(&event, key), Some(value), "{key}");
    }
    for key in [
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
        assert_eq!(found(&event, key), None, "{key}");
    }
}

#[test]
fn the_sender_of_an_event_of_the_first_format_is_its_user_id() {
    for (value, sender) in [
        (json!({"sender": "@a:x", "user_id": "@b:x"}), Some("@a:x")),
        (json!({"user_id": "@b:x"}), Some("@b:x")),
        (json!({"sender": 1, "user_id": "@b:x"}), Some("@b:x")),
        (json!({"sender": 1, "user_id": 2}), None),
        (json!({}), None),
    ] {
        assert_eq!(event(value.clone()).sender(), sender, "{value}");
    }
}

#[test]
fn an_event_that_mentions_nobody_has_mentions() {
    for mentions in [json!({}), json!({"user_ids": []}), json!(null), json!(1)] {
        assert!(event(json!({"content": {"m.mentions": mentions}})).has_mentions());
    }
    for content in [json!({}), json!("m.mentions"), json!(["m.mentions"]), json!(null)] {
        let event = event(json!({"content": content, "m.mentions": {}}));
        assert!(!event.has_mentions(), "{content}");
    }
}

#[test]
fn a_long_path_is_not_repeated_for_each_property_under_it() {
    let members: Map<_, _> = (0..5000).map(|n| (n.to_string(), json!(n))).collect();
    let name = "x".repeat(30_000);
    let event = event(json!({&name: members}));
    assert!(event.get(&PropertyPath::new(&format!("{name}.4999"))).is_some());
    assert!(event.names.len() < 60_000);
}

#[test]
fn an_event_as_deep_as_json_goes_is_taken_apart() {
    let nested = |depth: usize| {
        let json = r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
        Event::from_slice(json.as_bytes())
    };
    let key = PropertyPath::new(&["a"; 127].join("."));
    assert!(nested(127).unwrap().get(&key).is_some());
    assert!(nested(128).is_err());
    assert!(nested(100_000).is_err());
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

/// What is kept of a value, by the definition.
fn kept(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => None,
        Value::Array(items) => {
            let items = items.iter().filter(|item| !item.is_array());
            Some(items.filter_map(kept).collect())
        }
        Value::Number(number) => {
            let integer = number.as_i64()?;
            (integer.unsigned_abs() < 1 << 53).then(|| value.clone())
        }
        _ => Some(value.clone()),
    }
}

fn walked<'a>(event: &'a Value, key: &PropertyPath) -> Option<&'a Value> {
    key.parts().iter().try_fold(event, |value, part| value.as_object()?.get(&**part))
}

proptest! {
    #[test]
    fn every_property_is_where_a_walk_would_find_it(
        inner in any_json(),
        key in "[ab.\\\\]{0,9}",
    ) {
        let key = PropertyPath::new(&key);
        let whole = json!({"a": inner});
        let walked = walked(&whole, &key).and_then(kept);
        let from_text = Event::from_slice(whole.to_string().as_bytes()).unwrap();
        prop_assert_eq!(from_text.get(&key).map(Property::to_json), walked.clone());
        prop_assert_eq!(event(whole).get(&key).map(Property::to_json), walked);
    }
}

#[test]
fn an_event_that_two_readers_could_understand_differently_is_refused() {
    for json in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1.5,"a":1}"#,
        r#"{"content":{"body":"x"},"content":{}}"#,
        r#"{"content":{"body":"x","body":"y"}}"#,
        r#"{"a":{},"a":null}"#,
    ] {
        let error = Event::from_slice(json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("a key stands twice"), "{json}: {error}");
    }
    assert!(Event::from_slice(br#"{"a":{"b":1},"b":{"b":1}}"#).is_ok());
    for json in ["", "[]", "null", "\"event\"", "{", "{} {}", "{\"a\":\"\\ud800\"}"] {
        assert!(Event::from_slice(json.as_bytes()).is_err(), "{json}");
    }
}
