//! Percent-encoding in addresses, read strictly: what is no escape or no text is refused, so that
//! nobody can name one thing in two ways that different readers understand differently.

use std::borrow::Cow;

use thiserror::Error;

/// Why a part of an address is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PercentError {
    /// A `%` without two hexadecimal digits behind it.
    #[error("a % in an address must have two hexadecimal digits behind it; write %25 for a %")]
    InvalidEscape,
    /// The bytes are no text.
    #[error("the address is not UTF-8 when its escapes are read")]
    NotUtf8,
}

/// One segment of a path. A `+` is a plus.
///
/// # Errors
/// When an escape is broken, or the bytes are not UTF-8.
pub fn decode_segment(text: &str) -> Result<Cow<'_, str>, PercentError> {
    if text.contains('%') { decode(text, false).map(Cow::Owned) } else { Ok(Cow::Borrowed(text)) }
}

/// The pairs of a query, in their order. A `+` is a space, and a name without `=` has no value.
///
/// # Errors
/// When an escape is broken, or the bytes are not UTF-8.
pub fn parse_query(text: &str) -> Result<Vec<(String, String)>, PercentError> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name, true)?, decode(value, true)?))
        })
        .collect()
}

fn decode(text: &str, plus_is_space: bool) -> Result<String, PercentError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, tail) {
            (b'+', _) if plus_is_space => (b' ', tail),
            (b'%', [high, low, after @ ..]) => (digit(*high)? << 4 | digit(*low)?, after),
            (b'%', _) => return Err(PercentError::InvalidEscape),
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| PercentError::NotUtf8)
}

fn digit(hex: u8) -> Result<u8, PercentError> {
    let value = char::from(hex).to_digit(16).and_then(|value| u8::try_from(value).ok());
    value.ok_or(PercentError::InvalidEscape)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_is_decoded_or_refused() {
        use PercentError::{InvalidEscape, NotUtf8};
        for (text, value) in [
            ("cake", Ok("cake")),
            ("a+b", Ok("a+b")),
            ("a%20b%2fc", Ok("a b/c")),
            ("%D1%82%D0%B5", Ok("те")),
            ("те", Ok("те")),
            ("%00", Ok("\0")),
            ("100%", Err(InvalidEscape)),
            ("%4", Err(InvalidEscape)),
            ("%zz", Err(InvalidEscape)),
            ("%+1", Err(InvalidEscape)),
            ("%D1", Err(NotUtf8)),
            ("%C0%AF", Err(NotUtf8)),
            ("%ED%A0%80", Err(NotUtf8)),
        ] {
            assert_eq!(decode_segment(text).as_deref().map_err(|error| *error), value, "{text}");
        }
    }

    #[test]
    fn a_query_is_pairs_in_their_order() {
        let pairs = parse_query("b=1+2&&a=%26&b=&c&=x").unwrap();
        let shown: Vec<(&str, &str)> =
            pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(shown, [("b", "1 2"), ("a", "&"), ("b", ""), ("c", ""), ("", "x")]);
        assert_eq!(parse_query("a=%"), Err(PercentError::InvalidEscape));
        assert_eq!(parse_query("%FF=a"), Err(PercentError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_text_is_decoded_or_refused(text in any::<String>()) {
            let _ = decode_segment(&text);
            let _ = parse_query(&text);
        }

        #[test]
        fn what_is_written_with_escapes_is_read_back(text in any::<String>()) {
            let written: Vec<String> = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let written = written.concat();
            prop_assert_eq!(decode_segment(&written).unwrap(), text.as_str());
        }
    }
}
