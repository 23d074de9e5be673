//! Taking an object of a body apart, field by field, with refusals that say where.

use std::fmt;

use serde_json::Value;

use super::{Extra, RuleError};

/// Where in a body a value stands. It becomes text only when something is refused.
#[derive(Clone, Copy)]
pub(crate) enum At {
    /// The body itself.
    Body,
    /// A field of the body.
    Field(&'static str),
    /// An item of a list of the body.
    Item(&'static str, usize),
}

impl At {
    fn field(self, name: &str) -> String {
        match self {
            Self::Body => name.to_owned(),
            Self::Field(_) | Self::Item(..) => format!("{self}.{name}"),
        }
    }

    pub(crate) fn wrong_type(self, wanted: &'static str) -> RuleError {
        RuleError::WrongType { field: self.to_string(), wanted }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("the body"),
            Self::Field(name) => f.write_str(name),
            Self::Item(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

/// An object whose fields are taken out one by one; what is left in the end is extra.
pub(crate) struct Fields {
    at: At,
    object: Extra,
}

impl Fields {
    pub(crate) fn of(value: Value, at: At) -> Result<Self, RuleError> {
        match value {
            Value::Object(object) => Ok(Self { at, object }),
            _ => Err(at.wrong_type("a JSON object")),
        }
    }

    /// A field that may be absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.object.remove(name)
    }

    /// A field that must be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<Value, RuleError> {
        self.take(name).ok_or_else(|| RuleError::MissingField(self.at.field(name)))
    }

    /// A string that must be there.
    pub(crate) fn need_string(&mut self, name: &str) -> Result<String, RuleError> {
        let value = self.need(name)?;
        self.string(name, value)
    }

    /// A string that may be absent.
    pub(crate) fn take_string(&mut self, name: &str) -> Result<Option<String>, RuleError> {
        self.take(name).map(|value| self.string(name, value)).transpose()
    }

    /// A boolean that must be there.
    pub(crate) fn need_bool(&mut self, name: &str) -> Result<bool, RuleError> {
        let value = self.need(name)?;
        self.bool(name, &value)
    }

    /// A boolean that may be absent.
    pub(crate) fn take_bool(&mut self, name: &str) -> Result<Option<bool>, RuleError> {
        self.take(name).map(|value| self.bool(name, &value)).transpose()
    }

    fn bool(&self, name: &str, value: &Value) -> Result<bool, RuleError> {
        value.as_bool().ok_or_else(|| self.wrong_type(name, "a boolean"))
    }

    fn string(&self, name: &str, value: Value) -> Result<String, RuleError> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong_type(name, "a string")),
        }
    }

    /// The refusal of a field for its type.
    pub(crate) fn wrong_type(&self, name: &str, wanted: &'static str) -> RuleError {
        RuleError::WrongType { field: self.at.field(name), wanted }
    }

    /// Where a field stands, for a refusal of its own.
    pub(crate) fn place(&self, name: &str) -> String {
        self.at.field(name)
    }

    /// What was not taken. A map that was emptied still holds the room for what was in it, which
    /// is several times what a rule takes otherwise; a new one holds nothing.
    pub(crate) fn rest(self) -> Extra {
        if self.object.is_empty() { Extra::new() } else { self.object }
    }
}

/// Reads each item of an array, which knows where it stands.
pub(crate) fn list<T>(
    name: &'static str,
    value: Value,
    item: impl Fn(Value, At) -> Result<T, RuleError>,
) -> Result<Vec<T>, RuleError> {
    let Value::Array(items) = value else {
        return Err(RuleError::WrongType { field: name.to_owned(), wanted: "an array" });
    };
    // Read one by one into a list of the right length: rules are kept in memory as they are read.
    let mut read = Vec::with_capacity(items.len());
    for (index, value) in items.into_iter().enumerate() {
        read.push(item(value, At::Item(name, index))?);
    }
    Ok(read)
}
