//! Reading an event: its objects and properties in the order in which they come.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Indexed, Kept, NOWHERE, Object, Property};
use crate::rules::Scalar;
use crate::rules::property_path::Trace;

/// An event as it is read.
pub(super) struct Flat {
    pub(super) index: Vec<Indexed>,
    pub(super) properties: Vec<Property>,
    pub(super) objects: Vec<Object>,
    pub(super) names: Vec<u8>,
    pub(super) has_mentions: bool,
}

impl Flat {
    pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Most events have no more.
        let mut flat = Self {
            index: Vec::with_capacity(16),
            properties: Vec::with_capacity(16),
            objects: Vec::with_capacity(4),
            names: Vec::with_capacity(128),
            has_mentions: false,
        };
        flat.objects.push(Object { name: 0..0, outer: None });
        deserializer.deserialize_map(Members { flat: &mut flat, object: 0, path: Trace::ROOT })?;
        flat.index.sort_unstable();
        let is_same =
            |one: &Indexed, other: &Indexed| (one.trace, one.object) == (other.trace, other.object);
        if flat.index.windows(2).any(|two| is_same(&two[0], &two[1])) {
            return Err(D::Error::custom("a key stands twice in an object of the event"));
        }
        Ok(flat)
    }

    fn is_content(&self, object: usize) -> bool {
        let object = &self.objects[object];
        object.outer == Some(0) && self.names[object.name.clone()] == *b"content"
    }
}

/// The members of an object.
struct Members<'f> {
    flat: &'f mut Flat,
    object: usize,
    path: Trace,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event, which is a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { flat, object, path } = self;
        loop {
            let start = flat.names.len();
            let Some(trace) = map.next_key_seed(Name { flat, path })? else { return Ok(()) };
            let name = start..flat.names.len();
            flat.has_mentions |=
                flat.names[name.clone()] == *b"m.mentions" && flat.is_content(object);
            let inner = Inner { flat, name: name.clone(), outer: object, path: trace };
            let value = map.next_value_seed(Reading(Some(inner)))?;
            let property = value.map_or(NOWHERE, |value| {
                let lowered = OnceLock::new();
                flat.properties.push(Property { trace, name, object, value, lowered });
                flat.properties.len() - 1
            });
            flat.index.push(Indexed::new(trace, object, property));
        }
    }
}

/// The name of a member, which leads one further on the path.
struct Name<'f> {
    flat: &'f mut Flat,
    path: Trace,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Trace;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Trace, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Trace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Trace, E> {
        self.flat.names.extend_from_slice(name.as_bytes());
        Ok(self.path.then(name))
    }
}

/// What a member becomes if it is an object.
struct Inner<'f> {
    flat: &'f mut Flat,
    name: Range<usize>,
    outer: usize,
    path: Trace,
}

/// A value, which is kept if it can be compared: that of a member, or an item of a list, which
/// cannot be an object or a list itself.
struct Reading<'f>(Option<Inner<'f>>);

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Option<Kept>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Option<Kept>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if let Some(Inner { flat, name, outer, path }) = self.0 {
            flat.objects.push(Object { name, outer: Some(outer) });
            let object = flat.objects.len() - 1;
            Members { flat, object, path }.visit_map(map)?;
        } else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        }
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        if self.0.is_none() {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        }
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(Reading(None))? {
            if let Some(Kept::One(scalar)) = item {
                kept.push(scalar);
            }
        }
        Ok(Some(Kept::List(kept)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(Kept::One(Scalar::String(text))))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Kept::One(Scalar::Boolean(value))))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Some(Kept::One(Scalar::Null)))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(Scalar::integer(integer).map(Kept::One))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        i64::try_from(integer).map_or(Ok(None), |integer| self.visit_i64(integer))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
}
