//! Percent-encoding of URL parts and forms.
//!
//! Decoding is strict by default: a malformed escape or invalid UTF-8 is an error, because two
//! programs could otherwise read the same bytes differently.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use thiserror::Error;

/// The characters to encode: all except the unreserved ones (RFC 3986, section 2.3).
const ENCODED_CHARACTERS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The reason a string is not valid percent-encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PercentError {
    #[error("a % in a URL must be followed by two hexadecimal digits; write %25 for a %")]
    InvalidEscape,
    #[error("the URL is not UTF-8 after percent-decoding")]
    NotUtf8,
}

/// Decodes one segment of a path. A `+` is a plus sign.
pub fn decode_segment(text: &str) -> Result<Cow<'_, str>, PercentError> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let is_escape = |after_percent: &str| match after_percent.as_bytes() {
        [first, second, ..] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        _ => false,
    };
    if !text.split('%').skip(1).all(is_escape) {
        return Err(PercentError::InvalidEscape);
    }
    percent_decode_str(text).decode_utf8().map_err(|_| PercentError::NotUtf8)
}

/// Decodes the pairs of a query or form, in order. A `+` is a space, and a name without `=` has an
/// empty value.
pub fn parse_query(text: &str) -> Result<Vec<(String, String)>, PercentError> {
    let decode = |text: &str| decode_segment(&text.replace('+', " ")).map(Cow::into_owned);
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

/// Decodes a form value. A `+` is a space. A malformed escape is left unchanged, for clients that
/// do not encode a literal `%`. Returns `None` if the decoded bytes are not UTF-8.
pub fn decode_lenient(text: &str) -> Option<String> {
    percent_decode_str(&text.replace('+', " ")).decode_utf8().ok().map(Cow::into_owned)
}

/// Encodes a value for a query, a fragment or a form.
///
/// A space becomes `%20`, which is understood even where `+` is not.
pub fn encode(value: &str) -> String {
    utf8_percent_encode(value, ENCODED_CHARACTERS).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_is_decoded_strictly() {
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
            ("%4%41", Err(InvalidEscape)),
            ("%D1", Err(NotUtf8)),
            ("%C0%AF", Err(NotUtf8)),
            ("%ED%A0%80", Err(NotUtf8)),
        ] {
            assert_eq!(decode_segment(text).as_deref().map_err(|error| *error), value, "{text}");
        }
    }

    #[test]
    fn a_query_is_decoded_to_ordered_pairs() {
        let pairs = parse_query("b=1+2&&a=%26&b=&c&=x").unwrap();
        let actual: Vec<_> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(actual, [("b", "1 2"), ("a", "&"), ("b", ""), ("c", ""), ("", "x")]);
        assert_eq!(parse_query("a=%"), Err(PercentError::InvalidEscape));
        assert_eq!(parse_query("%FF=a"), Err(PercentError::NotUtf8));
    }

    #[test]
    fn lenient_decoding_preserves_malformed_escapes() {
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
            assert_eq!(decode_lenient(text).as_deref(), value, "{text}");
        }
    }

    #[test]
    fn everything_but_unreserved_characters_is_encoded() {
        assert_eq!(encode("aZ09-._~"), "aZ09-._~");
        assert_eq!(encode("a b&c=d#e\"'+%é\r\n\0"), "a%20b%26c%3Dd%23e%22%27%2B%25%C3%A9%0D%0A%00");
    }

    proptest! {
        #[test]
        fn decoding_never_panics(text in any::<String>()) {
            let _ = (decode_segment(&text), parse_query(&text), decode_lenient(&text));
        }

        #[test]
        fn an_encoded_string_is_decoded_to_the_original(text in any::<String>()) {
            let escaped = text.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
            prop_assert_eq!(decode_segment(&escaped).unwrap(), text.as_str());
            let encoded = encode(&text);
            prop_assert_eq!(decode_segment(&encoded).unwrap(), text.as_str());
            prop_assert_eq!(decode_lenient(&encoded), Some(text));
        }
    }
}
