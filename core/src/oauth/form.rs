//! Request bodies and queries as name-value pairs, from a form or from JSON.

use serde_json::Value;
use thiserror::Error;

use crate::percent::{self, PercentError};

/// The name-value pairs of a request, in order.
pub type Pairs = Vec<(String, String)>;

/// Why a body or query is not a list of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the error texts describe them")]
pub enum FormError {
    #[error("The form contains a % that is not followed by two hexadecimal digits")]
    InvalidEscape,
    #[error("The form contains bytes that are not UTF-8")]
    NotUtf8,
    #[error("The form contains a NUL character")]
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
/// `[]`, and an empty list is such a pair without a value, so that it is not treated as an absent
/// field. `null` is omitted, and in a list it has no value.
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
                pairs.push((name.clone(), scalar(item)?.unwrap_or_default()));
            }
        } else {
            pairs.extend(scalar(value)?.map(|value| (name, value)));
        }
    }
    reject_nul(pairs)
}

/// The last value of a field, or an empty string.
pub fn last_value<'a>(pairs: &'a Pairs, name: &str) -> &'a str {
    pairs.iter().rfind(|(other, _)| other == name).map_or("", |(_, value)| value)
}

/// Whether the value of a flag is true. Clients send false in the syntax of their programming language:
/// `False`, `0`, `None`.
pub fn is_true(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    !matches!(text.as_str(), "" | "0" | "f" | "false" | "n" | "no" | "none" | "null" | "off")
}

/// Rejects NUL characters, which PostgreSQL cannot store in a text.
pub fn reject_nul(pairs: Pairs) -> Result<Pairs, FormError> {
    let has_nul = pairs.iter().any(|(name, value)| name.contains('\0') || value.contains('\0'));
    if has_nul { Err(FormError::Nul) } else { Ok(pairs) }
}

fn scalar(value: Value) -> Result<Option<String>, FormError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err(FormError::Nested),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::percent::encode;

    pub(in crate::oauth) fn owned(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_form_is_parsed_to_ordered_pairs() {
        for (form, expected) in [
            ("", &[][..]),
            ("&&", &[]),
            ("a=1&b=2", &[("a", "1"), ("b", "2")]),
            ("b=2&a=1&b=3", &[("b", "2"), ("a", "1"), ("b", "3")]),
            ("a", &[("a", "")]),
            ("a=", &[("a", "")]),
            ("=1", &[("", "1")]),
            ("a=b=c", &[("a", "b=c")]),
            ("scope=read+write%20push", &[("scope", "read write push")]),
            ("%61%5B%5D=%C3%A9", &[("a[]", "é")]),
            ("a=é", &[("a", "é")]),
        ] {
            assert_eq!(parse(form.as_bytes()), Ok(owned(expected)), "{form}");
        }
    }

    #[test]
    fn a_malformed_form_is_rejected() {
        for (form, error) in [
            (&b"a=%"[..], FormError::InvalidEscape),
            (b"a=%4", FormError::InvalidEscape),
            (b"a=%zz", FormError::InvalidEscape),
            (b"%=a", FormError::InvalidEscape),
            (b"a=%4&b=41", FormError::InvalidEscape),
            (b"a=\xff", FormError::NotUtf8),
            (b"a=%ff", FormError::NotUtf8),
            (b"a=%c0%80", FormError::NotUtf8),
            (b"a=%00", FormError::Nul),
            (b"a\0=b", FormError::Nul),
        ] {
            assert_eq!(parse(form), Err(error), "{form:?}");
        }
    }

    #[test]
    fn json_is_converted_to_pairs() {
        for (json, expected) in [
            (json!({}), Ok(&[][..])),
            (
                json!({"a": "x", "b": true, "c": 1, "d": null}),
                Ok(&[("a", "x"), ("b", "true"), ("c", "1")]),
            ),
            (json!({"a": ["x", null], "b": []}), Ok(&[("a[]", "x"), ("a[]", ""), ("b[]", "")])),
            (json!({"a": "x\0"}), Err(FormError::Nul)),
            (json!({"a": {"b": 1}}), Err(FormError::Nested)),
            (json!({"a": [["b"]]}), Err(FormError::Nested)),
            (json!([]), Err(FormError::NotAnObject)),
            (json!("a=b"), Err(FormError::NotAnObject)),
        ] {
            assert_eq!(from_json(json.clone()), expected.map(owned), "{json}");
        }
    }

    proptest! {
        #[test]
        fn encoded_pairs_are_parsed_to_themselves(
            pairs in prop::collection::vec(("[^\0]{1,5}", "[^\0]{0,5}"), 0..5),
        ) {
            let form: Vec<String> =
                pairs.iter().map(|(name, value)| encode(name) + "=" + &encode(value)).collect();
            prop_assert_eq!(parse(form.join("&").as_bytes()), Ok(pairs));
        }

        #[test]
        fn parsing_never_panics(form in any::<Vec<u8>>()) {
            let _ = parse(&form);
        }
    }
}
