//! The one strict reader of JSON bodies, and the writer of JSON answers.
//!
//! Two readers that understand the same bytes differently are a way around every check, so what
//! is ambiguous is refused here, once: a key that stands twice, half of a surrogate pair, a number
//! that no double holds, nesting without end.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// How many arrays and objects may stand inside each other. It is below the bound that
/// `serde_json` itself keeps (127), so that going beyond it has a name of its own.
pub const MAX_DEPTH: usize = 100;

/// Why some bytes were not read as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The bytes are no text.
    #[error("the body is not UTF-8: byte {valid_up_to} begins no character")]
    NotUtf8 {
        /// How many bytes before it are good.
        valid_up_to: usize,
    },
    /// The text is no JSON, or more than one value, or begins with a byte order mark.
    #[error("the body is not JSON: {0}")]
    Syntax(String),
    /// An object has two members of one name.
    #[error("a key stands twice in one object at line {line} column {column}; send it once")]
    DuplicateKey {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// Arrays and objects stand too deep inside each other.
    #[error("the JSON is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// JSON by its grammar, with a string or a number that nothing can hold.
    #[error("the JSON holds half of a surrogate pair, or a number beyond the range: {0}")]
    Unrepresentable(String),
}

impl JsonError {
    /// Whether the bytes are no JSON at all, rather than JSON that is not accepted.
    #[must_use]
    pub fn is_not_json(&self) -> bool {
        matches!(self, Self::NotUtf8 { .. } | Self::Syntax(_))
    }
}

/// Reads the bytes of a body as one JSON value.
///
/// # Errors
/// When they are not JSON, or JSON that two readers could understand differently.
pub fn read(bytes: &[u8]) -> Result<Value, JsonError> {
    read_with(bytes, None)
}

/// Reads an object one of whose arrays may be too long to be held as values: its items are handed
/// over one by one, each with its number, and in the object that is returned the array is empty.
///
/// # Errors
/// When [`read`] would fail, or an item is refused; the first of either is told.
pub fn read_long<E: From<JsonError>>(
    bytes: &[u8],
    name: &str,
    take: impl FnMut(usize, Value) -> Result<(), E>,
) -> Result<Value, E> {
    let take = RefCell::new(take);
    let refusal = Cell::new(None);
    let item = |number, value| {
        let taken = (take.borrow_mut())(number, value);
        taken.map_err(|error| refusal.set(Some(error))).is_ok()
    };
    let read = read_with(bytes, Some(Long { name, item: &item }));
    refusal.into_inner().map_or(read.map_err(E::from), Err)
}

fn read_with(bytes: &[u8], long: Option<Long<'_>>) -> Result<Value, JsonError> {
    let text = str::from_utf8(bytes)
        .map_err(|error| JsonError::NotUtf8 { valid_up_to: error.valid_up_to() })?;
    let refused = Cell::new(None);
    let mut source = serde_json::Deserializer::from_str(text);
    let value = Strict { refused: &refused, depth: 0, long }.deserialize(&mut source);
    value.and_then(|value| source.end().map(|()| value)).map_err(|error| match refused.get() {
        Some(Refused::TooDeep) => JsonError::TooDeep,
        Some(Refused::DuplicateKey) => {
            JsonError::DuplicateKey { line: error.line(), column: error.column() }
        }
        // A value that is skipped is checked for its grammar only, so what passes here and failed
        // above is JSON with a string or a number that cannot be held.
        None if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            JsonError::Unrepresentable(error.to_string())
        }
        Some(Refused::Item) | None => JsonError::Syntax(error.to_string()),
    })
}

/// The bytes of an answer.
///
/// # Panics
/// Never for the types of this crate: their keys are strings and writing to memory does not fail.
#[must_use]
pub fn write(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer).expect("an answer has strings for keys")
}

#[derive(Clone, Copy)]
enum Refused {
    DuplicateKey,
    TooDeep,
    /// By whoever takes the items of the long array.
    Item,
}

/// The array whose items are handed over, and who takes them: false stops the reading.
#[derive(Clone, Copy)]
struct Long<'a> {
    name: &'a str,
    item: &'a dyn Fn(usize, Value) -> bool,
}

/// Reads one value at its depth. serde's errors are texts, so a refusal is left in the cell.
#[derive(Clone, Copy)]
struct Strict<'a> {
    refused: &'a Cell<Option<Refused>>,
    depth: usize,
    /// Only for the outermost object, and then for its member of that name.
    long: Option<Long<'a>>,
}

impl Strict<'_> {
    fn refuse<E: serde::de::Error>(self, refused: Refused) -> E {
        self.refused.set(Some(refused));
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.refuse(Refused::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
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

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let item = Self { long: None, ..self.deeper()? };
        let mut array = Vec::new();
        let mut number = 0;
        while let Some(value) = items.next_element_seed(item)? {
            match self.long {
                Some(long) if self.depth > 0 => {
                    if !(long.item)(number, value) {
                        return Err(self.refuse(Refused::Item));
                    }
                    number += 1;
                }
                _ => array.push(value),
            }
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let member = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.refuse(Refused::DuplicateKey));
            }
            let long = self.long.filter(|long| self.depth == 0 && long.name == key);
            let value = members.next_value_seed(Self { long, ..member })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
pub(crate) mod tests;
