//! An event, flattened once: its properties by their paths.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::Scalar;
use super::key::{Key, Trace};
use super::pattern::{Text, lower};

/// What rules can ask of an event. Only what can be compared is kept: strings, integers, booleans,
/// null, and arrays of those.
///
/// Paths are not written out, because a long name with many properties under it would multiply.
/// Each property knows the object that it stands in, and is found by the trace of its path.
#[derive(Debug)]
pub struct Event {
    /// In the order of their traces.
    properties: Box<[Property]>,
    objects: Vec<Object>,
    body: Option<Text>,
    has_mentions: bool,
}

/// A property of the event.
#[derive(Debug)]
pub(super) struct Property {
    trace: Trace,
    name: String,
    object: usize,
    value: Kept,
    /// The lower case of a string, when it differs.
    lowered: OnceLock<Option<Box<str>>>,
}

#[derive(Debug)]
enum Kept {
    One(Scalar),
    List(Vec<Scalar>),
}

/// An object within the event; the first is the event itself.
#[derive(Debug)]
struct Object {
    name: String,
    /// The object that this one stands in, unless it is the event.
    outer: Option<usize>,
}

impl Event {
    /// Reads an event from its JSON.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn from_slice(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json).map(Self::new)
    }

    /// Takes an event apart. What is not an object is an event without properties.
    #[must_use]
    pub fn new(event: Value) -> Self {
        let mut event = match event {
            Value::Object(event) => event,
            _ => Map::new(),
        };
        // Events of the first format named their sender so.
        if !event.get("sender").is_some_and(Value::is_string)
            && let Some(sender) = event.get("user_id").filter(|sender| sender.is_string())
        {
            event.insert("sender".to_owned(), sender.clone());
        }
        let content = event.get("content");
        let body = content.and_then(|content| content.get("body")).and_then(Value::as_str);
        let body = body.map(Text::new);
        let has_mentions = content.is_some_and(|content| content.get("m.mentions").is_some());
        let (properties, objects) = flatten(event);
        Self { properties, objects, body, has_mentions }
    }

    /// The property at a key, if it is of a kind that is kept.
    pub(super) fn get(&self, key: &Key) -> Option<&Property> {
        let first = self.properties.partition_point(|property| property.trace < key.trace());
        self.properties[first..]
            .iter()
            .take_while(|property| property.trace == key.trace())
            .find(|property| self.is_at(property, key.parts()))
    }

    fn is_at(&self, property: &Property, parts: &[Box<str>]) -> bool {
        let Some((name, around)) = parts.split_last() else { return false };
        let mut object = &self.objects[property.object];
        for part in around.iter().rev() {
            match object.outer {
                Some(outer) if *object.name == **part => object = &self.objects[outer],
                _ => return false,
            }
        }
        *property.name == **name && object.outer.is_none()
    }

    /// The items of the list at a key; none when there is no list.
    pub(super) fn list(&self, key: &Key) -> &[Scalar] {
        match self.get(key).map(|property| &property.value) {
            Some(Kept::List(items)) => items,
            _ => &[],
        }
    }

    /// The text of the message, if it has one.
    pub(super) fn body(&self) -> Option<&Text> {
        self.body.as_ref()
    }

    /// Who sent the event.
    #[must_use]
    pub fn sender(&self) -> Option<&str> {
        static SENDER: OnceLock<Key> = OnceLock::new();
        self.get(SENDER.get_or_init(|| Key::new("sender")))?.text()
    }

    /// Whether the event says itself whom it mentions, if only that it is nobody.
    #[must_use]
    pub fn has_mentions(&self) -> bool {
        self.has_mentions
    }

    /// All properties.
    pub(super) fn properties(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter()
    }
}

impl Property {
    pub(super) fn trace(&self) -> Trace {
        self.trace
    }

    /// The values at the path: those of a list, or the one.
    pub(super) fn values(&self) -> &[Scalar] {
        match &self.value {
            Kept::One(scalar) => std::slice::from_ref(scalar),
            Kept::List(scalars) => scalars,
        }
    }

    pub(super) fn is(&self, value: &Scalar) -> bool {
        matches!(&self.value, Kept::One(found) if found == value)
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.value {
            Kept::One(scalar) => json!(scalar),
            Kept::List(scalars) => json!(scalars),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Kept::One(Scalar::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A string in lower case, made when it is first asked for.
    pub(super) fn lowered(&self) -> Option<&str> {
        let text = self.text()?;
        let lowered = self.lowered.get_or_init(|| match lower(text) {
            Cow::Owned(lowered) if lowered != text => Some(lowered.into()),
            _ => None,
        });
        Some(lowered.as_deref().unwrap_or(text))
    }
}

fn flatten(event: Map<String, Value>) -> (Box<[Property]>, Vec<Object>) {
    let mut properties = Vec::new();
    let mut objects = vec![Object { name: String::new(), outer: None }];
    let mut open = vec![(0, Trace::ROOT, event)];
    while let Some((object, path, members)) = open.pop() {
        for (name, value) in members {
            let trace = path.then(&name);
            let value = match value {
                Value::Object(members) => {
                    open.push((objects.len(), trace, members));
                    objects.push(Object { name, outer: Some(object) });
                    continue;
                }
                Value::Array(items) => Kept::List(items.into_iter().filter_map(scalar).collect()),
                value => match scalar(value) {
                    Some(scalar) => Kept::One(scalar),
                    None => continue,
                },
            };
            properties.push(Property { trace, name, object, value, lowered: OnceLock::new() });
        }
    }
    properties.sort_unstable_by_key(|property| property.trace);
    (properties.into(), objects)
}

/// The largest integer that a double, and so every reader of JSON, holds exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;

fn scalar(value: Value) -> Option<Scalar> {
    match value {
        Value::String(text) => Some(Scalar::String(text)),
        Value::Bool(value) => Some(Scalar::Boolean(value)),
        Value::Null => Some(Scalar::Null),
        Value::Number(number) => number
            .as_i64()
            .filter(|integer| (-MAX_INTEGER..=MAX_INTEGER).contains(integer))
            .map(Scalar::Integer),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(event: &Value, key: &str) -> Option<Value> {
        Event::new(event.clone()).get(&Key::new(key)).map(Property::to_json)
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
            (r"back\slash", json!("")),
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
        for (event, sender) in [
            (json!({"sender": "@a:x", "user_id": "@b:x"}), Some("@a:x")),
            (json!({"user_id": "@b:x"}), Some("@b:x")),
            (json!({"sender": 1, "user_id": "@b:x"}), Some("@b:x")),
            (json!({"sender": 1, "user_id": 2}), None),
            (json!(["sender"]), None),
        ] {
            assert_eq!(Event::new(event.clone()).sender(), sender, "{event}");
        }
    }

    #[test]
    fn an_event_that_mentions_nobody_has_mentions() {
        for mentions in [json!({}), json!({"user_ids": []}), json!(null), json!(1)] {
            assert!(Event::new(json!({"content": {"m.mentions": mentions}})).has_mentions());
        }
        for content in [json!({}), json!("m.mentions"), json!(["m.mentions"]), json!(null)] {
            let event = Event::new(json!({"content": content, "m.mentions": {}}));
            assert!(!event.has_mentions(), "{content}");
        }
    }

    #[test]
    fn a_long_path_is_not_repeated_for_each_property_under_it() {
        let members: Map<_, _> = (0..5000).map(|n| (n.to_string(), json!(n))).collect();
        let name = "x".repeat(30_000);
        let event = Event::new(json!({&name: members}));
        assert!(event.get(&Key::new(&format!("{name}.4999"))).is_some());
        assert!(event.objects.iter().map(|object| object.name.len()).sum::<usize>() < 40_000);
    }

    #[test]
    fn an_event_as_deep_as_json_goes_is_taken_apart() {
        let nested = |depth: usize| {
            let json = r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
            Event::from_slice(json.as_bytes())
        };
        let key = Key::new(&["a"; 127].join("."));
        assert!(nested(127).unwrap().get(&key).is_some());
        assert!(nested(128).is_err());
        assert!(nested(100_000).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
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

    fn walked<'a>(event: &'a Value, key: &Key) -> Option<&'a Value> {
        key.parts().iter().try_fold(event, |value, part| value.as_object()?.get(&**part))
    }

    proptest! {
        #[test]
        fn every_property_is_where_a_walk_would_find_it(
            event in any_json(),
            key in "[ab.\\\\]{0,9}",
        ) {
            let key = Key::new(&key);
            let event = json!({"a": event});
            let walked = walked(&event, &key).cloned().and_then(scalar);
            let event = Event::new(event);
            let found = match event.get(&key).map(|property| &property.value) {
                Some(Kept::One(found)) => Some(found),
                _ => None,
            };
            prop_assert_eq!(found, walked.as_ref());
        }
    }
}
