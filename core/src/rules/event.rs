//! The properties of an event that conditions can test.

#[cfg(test)]
pub(super) mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::Scalar;
use super::pattern::{Text, lower};
use super::property_path::PropertyPath;

/// An event, reduced to the values that can be compared: strings, integers, booleans, null, and
/// arrays of those.
///
/// Nested objects stay nested. A flat map of whole paths would repeat a long name for every
/// property below it, so a small event could take a lot of memory.
#[derive(Debug)]
pub struct Event {
    root: Object,
    body: Option<Text>,
    has_mentions: bool,
}

/// The members of a JSON object that can be compared, or contain values that can.
pub(super) type Object = BTreeMap<String, Node>;

#[derive(Debug)]
pub(super) enum Node {
    Object(Object),
    Property(Property),
}

/// A value of the event.
#[derive(Debug)]
pub(super) struct Property {
    value: PropertyValue,
    /// A string in lower case, if that is different.
    lowered: Option<Box<str>>,
}

#[derive(Debug)]
enum PropertyValue {
    Scalar(Scalar),
    List(Vec<Scalar>),
}

/// The path of a message's text.
pub(super) static BODY: LazyLock<PropertyPath> =
    LazyLock::new(|| PropertyPath::parse("content.body"));

impl Event {
    /// Reads an event from its JSON; `None` if that is not an object.
    #[must_use]
    pub fn from_value(event: Value) -> Option<Self> {
        let Value::Object(members) = event else { return None };
        let content = members.get("content");
        let has_mentions = content.is_some_and(|content| content.get("m.mentions").is_some());
        let mut event = Self { root: read_object(members), body: None, has_mentions };
        // Events of the first format have the sender in `user_id`.
        if event.sender().is_none()
            && let Some(sender) = event.string("user_id").map(str::to_owned)
        {
            let sender = Node::Property(Property::new(Scalar::String(sender)));
            event.root.insert("sender".to_owned(), sender);
        }
        event.body = event.get(&BODY).and_then(Property::as_str).map(Text::new);
        Some(event)
    }

    /// The members of the event itself.
    pub(super) fn root(&self) -> &Object {
        &self.root
    }

    /// The property at a path.
    pub(super) fn get(&self, path: &PropertyPath) -> Option<&Property> {
        let (name, outer) = path.parts().split_last()?;
        let object =
            outer.iter().try_fold(&self.root, |object, name| match object.get(&**name)? {
                Node::Object(inner) => Some(inner),
                Node::Property(_) => None,
            });
        match object?.get(&**name)? {
            Node::Property(property) => Some(property),
            Node::Object(_) => None,
        }
    }

    /// The items of the array at a path; empty if there is no array.
    pub(super) fn list(&self, path: &PropertyPath) -> &[Scalar] {
        match self.get(path).map(|property| &property.value) {
            Some(PropertyValue::List(items)) => items,
            _ => &[],
        }
    }

    /// The text of the message, prepared for searching.
    pub(super) fn body(&self) -> Option<&Text> {
        self.body.as_ref()
    }

    /// The user id of the sender.
    #[must_use]
    pub fn sender(&self) -> Option<&str> {
        self.string("sender")
    }

    /// Whether the event has `m.mentions` in its content, even an empty one.
    #[must_use]
    pub fn has_mentions(&self) -> bool {
        self.has_mentions
    }

    fn string(&self, name: &str) -> Option<&str> {
        match self.root.get(name)? {
            Node::Property(property) => property.as_str(),
            Node::Object(_) => None,
        }
    }
}

fn read_object(members: Map<String, Value>) -> Object {
    members.into_iter().filter_map(|(name, value)| Some((name, read_node(value)?))).collect()
}

/// Converts a value. `None` if it cannot be compared, like a fraction.
fn read_node(value: Value) -> Option<Node> {
    Some(match value {
        Value::Object(members) => Node::Object(read_object(members)),
        Value::Array(items) => {
            let items = items.into_iter().filter_map(read_scalar).collect();
            Node::Property(Property { value: PropertyValue::List(items), lowered: None })
        }
        value => Node::Property(Property::new(read_scalar(value)?)),
    })
}

fn read_scalar(value: Value) -> Option<Scalar> {
    match value {
        Value::String(text) => Some(Scalar::String(text)),
        Value::Bool(value) => Some(Scalar::Boolean(value)),
        Value::Null => Some(Scalar::Null),
        Value::Number(number) => number.as_i64().and_then(Scalar::integer),
        Value::Array(_) | Value::Object(_) => None,
    }
}

impl Property {
    fn new(scalar: Scalar) -> Self {
        let lowered = match &scalar {
            Scalar::String(text) => match lower(text) {
                Cow::Owned(lowered) => Some(lowered.into()),
                Cow::Borrowed(_) => None,
            },
            _ => None,
        };
        Self { value: PropertyValue::Scalar(scalar), lowered }
    }

    /// The items of an array, or the value of a property that is not an array.
    pub(super) fn values(&self) -> &[Scalar] {
        match &self.value {
            PropertyValue::Scalar(scalar) => std::slice::from_ref(scalar),
            PropertyValue::List(scalars) => scalars,
        }
    }

    /// Whether the property equals the value. An array equals no value.
    pub(super) fn is(&self, value: &Scalar) -> bool {
        matches!(&self.value, PropertyValue::Scalar(found) if found == value)
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.value {
            PropertyValue::Scalar(scalar) => json!(scalar),
            PropertyValue::List(scalars) => json!(scalars),
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.value {
            PropertyValue::Scalar(Scalar::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A string in lower case.
    pub(super) fn lowered(&self) -> Option<&str> {
        self.lowered.as_deref().or_else(|| self.as_str())
    }
}
