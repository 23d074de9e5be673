//! Typed access to the fields of a JSON object, with errors that name the field path.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{JsonError, parse};

/// Position of a value in a body, formatted only for errors.
#[derive(Clone, Copy)]
pub(crate) enum Location {
    Body,
    /// A part of a body that is read on its own, such as `the rule`.
    Part(&'static str),
    Field(&'static str),
    Item(&'static str, usize),
    NestedItem([(&'static str, usize); 2]),
}

impl Location {
    pub(crate) fn wrong_type(self, expected: &'static str) -> JsonError {
        JsonError::WrongType { field: self.to_string(), expected }
    }

    /// Returns the location of an item of an array in this value. Only an item of an array in the
    /// body can have nested items.
    pub(crate) fn with_item(self, array: &'static str, index: usize) -> Self {
        match self {
            Self::Item(outer_array, outer_index) => {
                Self::NestedItem([(outer_array, outer_index), (array, index)])
            }
            _ => Self::Item(array, index),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("the body"),
            Self::Part(name) | Self::Field(name) => f.write_str(name),
            Self::Item(array, index) => write!(f, "{array}[{index}]"),
            Self::NestedItem([(outer_array, outer_index), (array, index)]) => {
                write!(f, "{outer_array}[{outer_index}].{array}[{index}]")
            }
        }
    }
}

/// A JSON object whose fields are removed as they are read.
pub(crate) struct Fields {
    location: Location,
    object: Map<String, Value>,
}

impl Fields {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, JsonError> {
        Self::new(parse(body)?, Location::Body)
    }

    /// Wraps a value that must be an object.
    pub(crate) fn new(value: Value, location: Location) -> Result<Self, JsonError> {
        match value {
            Value::Object(object) => Ok(Self { location, object }),
            _ => Err(location.wrong_type("a JSON object")),
        }
    }

    /// Removes and returns an optional field.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.object.remove(name)
    }

    /// Removes and returns an optional field, if `convert` accepts its value. Otherwise the field
    /// remains.
    pub(crate) fn take_if<T>(
        &mut self,
        name: &str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = convert(self.object.get(name)?)?;
        self.object.remove(name);
        Some(value)
    }

    pub(crate) fn require(&mut self, name: &str) -> Result<Value, JsonError> {
        self.take(name).ok_or_else(|| self.missing(name))
    }

    /// Removes and returns an optional field of type `T`, which the error describes as `expected`.
    pub(crate) fn take_as<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, JsonError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        serde_json::from_value(value).map(Some).map_err(|_| self.wrong_type(name, expected))
    }

    /// Removes and returns an optional string.
    pub(crate) fn take_string(&mut self, name: &str) -> Result<Option<String>, JsonError> {
        self.take_as(name, "a string")
    }

    pub(crate) fn require_string(&mut self, name: &str) -> Result<String, JsonError> {
        self.take_string(name)?.ok_or_else(|| self.missing(name))
    }

    /// Removes and returns an optional boolean.
    pub(crate) fn take_bool(&mut self, name: &str) -> Result<Option<bool>, JsonError> {
        self.take_as(name, "a boolean")
    }

    /// Removes and returns a required boolean.
    pub(crate) fn require_bool(&mut self, name: &str) -> Result<bool, JsonError> {
        self.take_bool(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn missing(&self, name: &str) -> JsonError {
        JsonError::MissingField(self.path(name))
    }

    pub(crate) fn wrong_type(&self, name: &str, expected: &'static str) -> JsonError {
        JsonError::WrongType { field: self.path(name), expected }
    }

    /// Returns the field path, for an error.
    pub(crate) fn path(&self, name: &str) -> String {
        match self.location {
            Location::Body | Location::Part(_) => name.to_owned(),
            Location::Field(_) | Location::Item(..) | Location::NestedItem(_) => {
                format!("{}.{name}", self.location)
            }
        }
    }

    /// Returns the fields that were not removed. A new map is returned if there are none, because
    /// an emptied map keeps its allocation, which is several times the size of a typical rule.
    pub(crate) fn into_remaining(self) -> Map<String, Value> {
        if self.object.is_empty() { Map::new() } else { self.object }
    }
}

pub(crate) fn read_array<T, E: From<JsonError>>(
    name: &'static str,
    value: Value,
    read_item: impl Fn(Value, Location) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    let Value::Array(items) = value else {
        return Err(Location::Field(name).wrong_type("an array").into());
    };
    // Not `collect`, which allocates more than needed: parsed rules stay in memory.
    let mut parsed_items = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        parsed_items.push(read_item(item, Location::Item(name, index))?);
    }
    Ok(parsed_items)
}
