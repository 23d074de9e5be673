//! Forms: the pairs of names and values that a request holds, however they are written, and their
//! percent-encoding.

use std::fmt::Write;

use serde_json::Value;
use thiserror::Error;

use crate::percent::{self, PercentError};

/// The pairs of a request, in the order in which they came.
pub type Pairs = Vec<(String, String)>;

/// Why something was not read as pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FormError {
    /// A `%` without two hexadecimal digits.
    #[error("The form holds a % that is not followed by two hexadecimal digits")]
    InvalidEscape,
    /// Bytes that are no text.
    #[error("The form holds bytes that are not UTF-8")]
    NotUtf8,
    /// A NUL.
    #[error("The form holds a NUL character")]
    Nul,
    /// JSON, but no object.
    #[error("The JSON must be an object of names and values")]
    NotAnObject,
    /// A JSON object with more in it than values and lists of values.
    #[error("The JSON may hold values and lists of values, nothing deeper")]
    Nested,
}

/// Reads a query string or a body of `application/x-www-form-urlencoded`.
///
/// # Errors
/// When two readers could understand it differently: a broken percent sign, or bytes that are no
/// text.
pub fn parse(form: &[u8]) -> Result<Pairs, FormError> {
    let text = str::from_utf8(form).map_err(|_| FormError::NotUtf8)?;
    let pairs = percent::parse_query(text).map_err(|error| match error {
        PercentError::InvalidEscape => FormError::InvalidEscape,
        PercentError::NotUtf8 => FormError::NotUtf8,
    })?;
    reject_nul(pairs)
}

/// The pairs of a JSON body: a list is its name with `[]` behind it, once for each item, as in a
/// form; `null` is as good as nothing.
///
/// # Errors
/// When the value is no object of values and lists of values.
pub fn from_json(json: Value) -> Result<Pairs, FormError> {
    let Value::Object(members) = json else { return Err(FormError::NotAnObject) };
    let mut pairs = Vec::with_capacity(members.len());
    for (name, value) in members {
        if let Value::Array(items) = value {
            let name = name + "[]";
            for item in items {
                pairs.extend(scalar(item)?.map(|value| (name.clone(), value)));
            }
        } else {
            pairs.extend(scalar(value)?.map(|value| (name, value)));
        }
    }
    reject_nul(pairs)
}

/// Refuses the character that some databases cannot keep.
///
/// # Errors
/// When it is in a name or a value.
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

/// Writes a value so that it can stand in a query, in a fragment or in a form.
///
/// A space becomes `%20`, which every reader understands; not every one understands `+`.
pub(super) fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes all that is written");
        }
    }
    encoded
}

/// Reads what a form writer wrote: `+` is a space, `%XX` a byte; a `%` without two digits is
/// itself. `None` when the bytes are not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, tail) {
            (b'+', _) => (b' ', tail),
            (b'%', [high, low, after @ ..]) => match digit(*high).zip(digit(*low)) {
                Some((high, low)) => (high << 4 | low, after),
                None => (b'%', tail),
            },
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

fn digit(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_but_the_unreserved_is_encoded() {
        assert_eq!(encode("aZ09-._~"), "aZ09-._~");
        assert_eq!(encode("a b&c=d#e\"'+%é\r\n\0"), "a%20b%26c%3Dd%23e%22%27%2B%25%C3%A9%0D%0A%00");
    }

    #[test]
    fn a_form_value_is_decoded() {
        for (text, value) in [
            ("a+b%20c", Some("a b c")),
            ("%2D%5f", Some("-_")),
            ("100%", Some("100%")),
            ("%4", Some("%4")),
            ("%zz%41", Some("%zzA")),
            ("%C3%A9", Some("é")),
            ("%C3", None),
            ("%00", Some("\0")),
        ] {
            assert_eq!(decode(text).as_deref(), value, "{text}");
        }
    }

    fn owned(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_form_is_its_pairs_in_order() {
        for (form, found) in [
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
            assert_eq!(parse(form.as_bytes()), Ok(owned(found)), "{form}");
        }
    }

    // Attack 145.
    #[test]
    fn a_form_that_could_be_understood_differently_is_refused() {
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
    fn json_is_pairs_too() {
        for (json, found) in [
            (json!({}), Ok(&[][..])),
            (
                json!({"a": "x", "b": true, "c": 1, "d": null}),
                Ok(&[("a", "x"), ("b", "true"), ("c", "1")]),
            ),
            (json!({"a": ["x", "y"], "b": []}), Ok(&[("a[]", "x"), ("a[]", "y")])),
            (json!({"a": "x\0"}), Err(FormError::Nul)),
            (json!({"a": {"b": 1}}), Err(FormError::Nested)),
            (json!({"a": [["b"]]}), Err(FormError::Nested)),
            (json!([]), Err(FormError::NotAnObject)),
            (json!("a=b"), Err(FormError::NotAnObject)),
        ] {
            assert_eq!(from_json(json.clone()), found.map(owned), "{json}");
        }
    }

    proptest! {
        #[test]
        fn pairs_that_are_encoded_are_read_again(
            sent in prop::collection::vec(("[^\0]{1,5}", "[^\0]{0,5}"), 0..5),
        ) {
            let form: Vec<String> =
                sent.iter().map(|(name, value)| encode(name) + "=" + &encode(value)).collect();
            prop_assert_eq!(parse(form.join("&").as_bytes()), Ok(sent));
        }

        #[test]
        fn any_bytes_are_pairs_or_refused(form in any::<Vec<u8>>()) {
            let _ = parse(&form);
        }

        #[test]
        fn what_is_encoded_is_decoded_again(value in any::<String>()) {
            prop_assert_eq!(decode(&encode(&value)), Some(value));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text in any::<String>()) {
            let _ = decode(&text);
        }
    }
}
