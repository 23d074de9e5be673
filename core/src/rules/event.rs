//! An event, flattened once: its properties by their paths.

mod flat;
#[cfg(test)]
pub(super) mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Value, json};

use super::Scalar;
use super::pattern::{Text, lower};
use super::property_path::{PropertyPath, Trace};
use flat::Flat;

/// What rules can ask of an event. Only what can be compared is kept: strings, integers, booleans,
/// null, and arrays of those.
///
/// Paths are not written out, because a long name with many properties under it would multiply.
/// Each property knows the object that it stands in, and is found by the trace of its path.
#[derive(Debug)]
pub struct Event {
    /// Every name in the event, in the order of the traces.
    index: Vec<Indexed>,
    properties: Vec<Property>,
    objects: Vec<Object>,
    /// The names of all of them, one after the other.
    names: Vec<u8>,
    body: Option<Text>,
    has_mentions: bool,
}

/// A name in the event. Two of the same object and trace are taken for the same name, which refuses
/// the event: by chance it does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Indexed {
    trace: Trace,
    object: u32,
    /// Where its property is; nowhere if it is an object, or not kept.
    property: u32,
}

/// Where no property is.
const NOWHERE: usize = u32::MAX as usize;

/// A property of the event.
#[derive(Debug)]
pub(super) struct Property {
    trace: Trace,
    name: Range<usize>,
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
    name: Range<usize>,
    /// The object that this one stands in, unless it is the event.
    outer: Option<usize>,
}

impl Indexed {
    /// An event of more than 2^32 names, which no memory holds, would lose some.
    fn new(trace: Trace, object: usize, property: usize) -> Self {
        let number = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        Self { trace, object: number(object), property: number(property) }
    }
}

/// Refuses what is no object, and an object in which a key stands twice.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::read(deserializer)?;
        let mut event = Self {
            index: flat.index,
            properties: flat.properties,
            objects: flat.objects,
            names: flat.names,
            body: None,
            has_mentions: flat.has_mentions,
        };
        event.name_sender();
        event.body = event.get(&BODY).and_then(Property::text).map(Text::new);
        Ok(event)
    }
}

/// The text of a message.
pub(super) static BODY: LazyLock<PropertyPath> =
    LazyLock::new(|| PropertyPath::new("content.body"));
static SENDER: LazyLock<PropertyPath> = LazyLock::new(|| PropertyPath::new("sender"));
static USER_ID: LazyLock<PropertyPath> = LazyLock::new(|| PropertyPath::new("user_id"));

impl Event {
    /// Reads an event from its JSON.
    ///
    /// # Errors
    /// When it is not JSON, or no object, or a key stands twice in an object.
    pub fn from_slice(json: &[u8]) -> Result<Self, serde_json::Error> {
        let json = str::from_utf8(json).map_err(serde_json::Error::custom)?;
        serde_json::from_str(json)
    }

    /// Takes an event apart that was read before.
    ///
    /// # Errors
    /// When it is no object.
    pub fn from_value(event: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(event)
    }

    /// Events of the first format have their sender as `user_id`.
    fn name_sender(&mut self) {
        if self.sender().is_some() {
            return;
        }
        let Some(id) = self.get(&USER_ID).and_then(Property::text).map(str::to_owned) else {
            return;
        };
        let trace = SENDER.trace();
        let start = self.names.len();
        self.names.extend_from_slice(b"sender");
        self.index.retain(|indexed| indexed.trace != trace);
        self.index.push(Indexed::new(trace, 0, self.properties.len()));
        self.index.sort_unstable();
        self.properties.push(Property {
            trace,
            name: start..self.names.len(),
            object: 0,
            value: Kept::One(Scalar::String(id)),
            lowered: OnceLock::new(),
        });
    }

    /// The property at a key, if it is of a kind that is kept.
    pub(super) fn get(&self, key: &PropertyPath) -> Option<&Property> {
        let first = self.index.partition_point(|indexed| indexed.trace < key.trace());
        self.index[first..]
            .iter()
            .take_while(|indexed| indexed.trace == key.trace())
            .filter_map(|indexed| self.properties.get(indexed.property as usize))
            .find(|property| self.is_at(property, key.parts()))
    }

    fn is_at(&self, property: &Property, parts: &[Box<str>]) -> bool {
        let Some((name, around)) = parts.split_last() else { return false };
        let mut object = &self.objects[property.object];
        for part in around.iter().rev() {
            match object.outer {
                Some(outer) if self.names[object.name.clone()] == *part.as_bytes() => {
                    object = &self.objects[outer];
                }
                _ => return false,
            }
        }
        self.names[property.name.clone()] == *name.as_bytes() && object.outer.is_none()
    }

    /// The items of the list at a key; none when there is no list.
    pub(super) fn list(&self, key: &PropertyPath) -> &[Scalar] {
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
        self.get(&SENDER)?.text()
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
