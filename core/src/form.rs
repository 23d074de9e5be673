//! Request bodies and queries as name-value pairs, from a form or from JSON.

use serde_json::Value;
use thiserror::Error;

use crate::percent::{self, PercentError};

/// The name-value pairs of a request, in order.
pub type Pairs = Vec<(String, String)>;

/// The reason a body or query cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FormError {
    #[error("The form contains a % that is not followed by two hexadecimal digits")]
    InvalidEscape,
    #[error("The form contains bytes that are not UTF-8")]
    NotUtf8,
    #[error("The request contains a NUL character")]
    Nul,
    #[error("The JSON must be an object of names and values")]
    NotAnObject,
    #[error("The JSON may contain values and lists of values, nothing deeper")]
    Nested,
}

/// Parses a query string or an `application/x-www-form-urlencoded` body.
pub fn parse(form: &[u8]) -> Result<Pairs, FormError> {
    let text = str::from_utf8(form).map_err(|_| FormError::NotUtf8)?;
    let pairs = percent::parse_query(text).map_err(|error| match error {
        PercentError::InvalidEscape => FormError::InvalidEscape,
        PercentError::NotUtf8 => FormError::NotUtf8,
    })?;
    reject_nul(pairs)
}

/// Converts a JSON body to pairs. As in a form, each item of a list is a pair whose name ends in
/// `[]`, and an empty list is one such pair with an empty value, so it is not treated as an absent
/// field. A `null` field is omitted, and a `null` item of a list becomes an empty value.
pub fn from_json(json: Value) -> Result<Pairs, FormError> {
    let Value::Object(members) = json else { return Err(FormError::NotAnObject) };
    let mut pairs = Vec::with_capacity(members.len());
    for (name, value) in members {
        if let Value::Array(items) = value {
            let name = name + "[]";
            if items.is_empty() {
                pairs.push((name.clone(), String::new()));
            }
            for item in items {
                pairs.push((name.clone(), scalar_text(item)?.unwrap_or_default()));
            }
        } else if let Some(text) = scalar_text(value)? {
            pairs.push((name, text));
        }
    }
    reject_nul(pairs)
}

/// Returns a field's last value, or an empty string.
pub fn last_value<'a>(pairs: &'a Pairs, name: &str) -> &'a str {
    pairs.iter().rfind(|(pair_name, _)| pair_name == name).map_or("", |(_, value)| value)
}

/// Returns whether a field is a list or a map, such as `text[]`.
pub fn is_list(pairs: &Pairs, name: &str) -> bool {
    let is_item = |field: &str| field.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    pairs.iter().any(|(field, _)| is_item(field))
}

/// Returns whether the value of a flag is true. Clients send false in the syntax of their
/// programming language: `False`, `0`, `None`.
pub fn is_true(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    !matches!(text.as_str(), "" | "0" | "f" | "false" | "n" | "no" | "none" | "null" | "off")
}

/// Rejects NUL characters, which PostgreSQL cannot store.
pub fn reject_nul(pairs: Pairs) -> Result<Pairs, FormError> {
    let has_nul = pairs.iter().any(|(name, value)| name.contains('\0') || value.contains('\0'));
    if has_nul { Err(FormError::Nul) } else { Ok(pairs) }
}

/// Returns a scalar's text; `None` for `null`.
pub(crate) fn scalar_text(value: Value) -> Result<Option<String>, FormError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err(FormError::Nested),
    }
}

#[cfg(test)]
pub(super) mod tests;
