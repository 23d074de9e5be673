//! Strict JSON parsing and serialization.
//!
//! If two parsers disagree about the same bytes, a check of one parser's result can be bypassed in
//! the other. Input on which JSON parsers disagree is therefore rejected here: duplicate keys, lone
//! surrogates, numbers outside the range of a double, and excessive nesting.

mod fields;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use thiserror::Error;

pub(crate) use fields::{Fields, Location, read_array};

/// Maximum nesting of arrays and objects. It is below the limit of `serde_json` (127), so that
/// exceeding it is reported as [`JsonError::TooDeep`].
pub const MAX_DEPTH: usize = 100;

/// Maximum nesting of a body that contains push rules. A rule may have the nesting of a whole body,
/// and in `push_rules.device.<profile_tag>.room[0]` it is five levels deep.
pub(crate) const MAX_DEPTH_WITH_PUSH_RULES: usize = MAX_DEPTH + 5;

/// The reason a JSON body is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    #[error("the body is not UTF-8: invalid byte at offset {valid_up_to}")]
    NotUtf8 { valid_up_to: usize },
    /// The text is not exactly one JSON value. A byte order mark is not accepted either.
    #[error("the body is not JSON: {0}")]
    Syntax(String),
    #[error("duplicate key in object at line {line} column {column}")]
    DuplicateKey { line: usize, column: usize },
    #[error("the JSON is nested more than {max_depth} levels deep")]
    TooDeep { max_depth: usize },
    /// Valid JSON syntax, but a string or a number cannot be represented.
    #[error("the JSON contains a lone surrogate or a number out of range: {0}")]
    Unrepresentable(String),
    /// `field` is a path like `conditions[2].key`, or `the body`.
    #[error("{field} must be {expected}")]
    WrongType { field: String, expected: &'static str },
    #[error("{0} is missing")]
    MissingField(String),
}

impl JsonError {
    /// Returns true if the input is not JSON, false if it is JSON that is not accepted.
    pub fn is_syntax_error(&self) -> bool {
        matches!(self, Self::NotUtf8 { .. } | Self::Syntax(_))
    }
}

pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    parse_value(bytes, MAX_DEPTH, None)
}

pub(crate) fn parse_with_push_rules(bytes: &[u8]) -> Result<Value, JsonError> {
    parse_value(bytes, MAX_DEPTH_WITH_PUSH_RULES, None)
}

/// Parses an object, and passes the items of one of its arrays to `on_item`, each with its index,
/// instead of collecting them. So memory use is independent of the length of the array. The array
/// is empty in the returned object. The first error of `on_item` ends the parsing and is returned.
pub fn parse_streamed<E: From<JsonError>>(
    bytes: &[u8],
    array: &str,
    on_item: impl FnMut(usize, Value) -> Result<(), E>,
) -> Result<Value, E> {
    let on_item = RefCell::new(on_item);
    let item_error = Cell::new(None);
    let accept = |index, value| {
        let item_result = (on_item.borrow_mut())(index, value);
        item_result.map_err(|error| item_error.set(Some(error))).is_ok()
    };
    let object = parse_value(bytes, MAX_DEPTH, Some(StreamedArray { array, accept: &accept }));
    item_error.into_inner().map_or(object.map_err(E::from), Err)
}

fn parse_value(
    bytes: &[u8],
    max_depth: usize,
    streamed: Option<StreamedArray<'_>>,
) -> Result<Value, JsonError> {
    let text = str::from_utf8(bytes)
        .map_err(|error| JsonError::NotUtf8 { valid_up_to: error.valid_up_to() })?;
    let rejection = Cell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = StrictValue { rejection: &rejection, depth: 0, max_depth, streamed };
    let value = seed.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| {
        match rejection.get() {
            Some(Rejection::TooDeep) => JsonError::TooDeep { max_depth },
            Some(Rejection::DuplicateKey) => {
                JsonError::DuplicateKey { line: error.line(), column: error.column() }
            }
            // `IgnoredAny` checks the syntax only. Input that passes here but failed above contains
            // a string or a number that cannot be represented.
            None if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
                JsonError::Unrepresentable(error.to_string())
            }
            Some(Rejection::Item) | None => JsonError::Syntax(error.to_string()),
        }
    })
}

pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("all map keys are strings")
}

#[derive(Clone, Copy)]
enum Rejection {
    DuplicateKey,
    TooDeep,
    /// The callback rejected an item of the streamed array.
    Item,
}

/// The array whose items are passed to a callback, and the callback. Parsing stops if the callback
/// returns false.
#[derive(Clone, Copy)]
struct StreamedArray<'a> {
    array: &'a str,
    accept: &'a dyn Fn(usize, Value) -> bool,
}

/// Deserializes one value. The reason for a rejection is returned through a cell, because serde
/// errors carry only text.
#[derive(Clone, Copy)]
struct StrictValue<'a> {
    rejection: &'a Cell<Option<Rejection>>,
    depth: usize,
    max_depth: usize,
    /// Set for the outermost value, and for its member with the name of the streamed array.
    streamed: Option<StreamedArray<'a>>,
}

impl StrictValue<'_> {
    fn reject<E: serde::de::Error>(self, rejection: Rejection) -> E {
        self.rejection.set(Some(rejection));
        E::custom("rejected")
    }

    /// Enters an array or an object.
    fn descend<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == self.max_depth {
            return Err(self.reject(Rejection::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let item_seed = Self { streamed: None, ..self.descend()? };
        let mut array = Vec::new();
        let mut index = 0;
        while let Some(value) = items.next_element_seed(item_seed)? {
            match self.streamed {
                Some(streamed) if self.depth > 0 => {
                    if !(streamed.accept)(index, value) {
                        return Err(self.reject(Rejection::Item));
                    }
                    index += 1;
                }
                _ => array.push(value),
            }
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let member_seed = self.descend()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.reject(Rejection::DuplicateKey));
            }
            let streamed =
                self.streamed.filter(|streamed| self.depth == 0 && streamed.array == key);
            let value = members.next_value_seed(Self { streamed, ..member_seed })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
pub(crate) mod tests;
