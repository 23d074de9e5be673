//! The ids of a request in logs: its request id and its trace id.

use std::fmt;
use std::io::Write as _;

use serde::{Serialize, Serializer};

/// Maximum length of a request id.
const MAX_LENGTH: usize = 64;

/// A request id: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. Stored without an allocation,
/// because every request has one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// Zero after the end of the id.
    bytes: [u8; MAX_LENGTH],
    length: u8,
}

impl RequestId {
    /// Parses a proxy's id; `None` if it is empty, too long, or has a character that could have a
    /// special meaning in logs.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let is_valid = (1..=MAX_LENGTH).contains(&text.len()) && text.iter().all(is_safe);
        is_valid.then(|| Self::from_safe_text(text))
    }

    /// Creates an id of 32 hexadecimal digits from random bytes.
    pub fn new(random_bytes: [u8; 16]) -> Self {
        let mut digits = [0; 32];
        write!(&mut digits[..], "{:032x}", u128::from_be_bytes(random_bytes)).expect("32 digits");
        Self::from_safe_text(&digits)
    }

    fn from_safe_text(text: &[u8]) -> Self {
        let mut bytes = [0; MAX_LENGTH];
        bytes[..text.len()].copy_from_slice(text);
        Self { bytes, length: u8::try_from(text.len()).expect("ids are short") }
    }

    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).expect("ids are ASCII")
    }

    /// Returns the id as ASCII characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A trace id, which requests to several services can share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(u128);

impl TraceId {
    /// Parses the trace id in a `traceparent` header (W3C Trace Context). Returns `None` if the
    /// header is invalid.
    pub fn parse_traceparent(header: &[u8]) -> Option<Self> {
        let mut fields = str::from_utf8(header).ok()?.splitn(5, '-');
        let mut next_field = |digit_count| parse_hex(fields.next()?, digit_count);
        let version = next_field(2)?;
        let trace_id = next_field(32)?;
        let parent_id = next_field(16)?;
        let _flags = next_field(2)?;
        // Version 0 has four fields. Later ones may add fields at the end.
        let has_valid_version = version != 0xff && (version != 0 || fields.next().is_none());
        (has_valid_version && trace_id != 0 && parent_id != 0).then_some(Self(trace_id))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Parses exactly `digit_count` lower-case hexadecimal digits.
fn parse_hex(text: &str, digit_count: usize) -> Option<u128> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_valid = text.len() == digit_count && text.bytes().all(is_digit);
    u128::from_str_radix(text, 16).ok().filter(|_| is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_from_a_proxy_is_short_and_has_safe_characters() {
        let longest = "x".repeat(64);
        for id in ["a", "0b1c-2.3_4", "7b8e6f0e-6c1d-4b5e-9d0a-1f2e3d4c5b6a", &longest] {
            assert_eq!(RequestId::parse(id.as_bytes()).unwrap().as_str(), id);
        }
        let too_long = "x".repeat(65);
        for id in ["", "a b", "a\n", "a\"", "a=b", "ä", "\u{1b}[0m", "{}", &too_long] {
            assert_eq!(RequestId::parse(id.as_bytes()), None, "{id}");
        }
        assert_eq!(RequestId::parse(&[0xff]), None);
        assert_eq!(RequestId::new([1; 16]).as_str(), "01".repeat(16));
        assert_eq!(RequestId::new([0xaf; 16]).as_str(), "af".repeat(16));
        let generated_id = RequestId::new([0; 16]);
        assert_eq!(RequestId::parse(generated_id.as_bytes()), Some(generated_id));
    }

    #[test]
    fn a_valid_traceparent_has_a_trace_id_and_any_other_header_has_none() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        for (header, expected) in [
            // The examples of the specification.
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01", Some(id)),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-00", Some(id)),
            // Unknown flags are ignored.
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-ff", Some(id)),
            // A later version may have additional fields.
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01", Some(id)),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01-what", Some(id)),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01what", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01-what", None),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01", None),
            ("0g-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01", None),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", None),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-b7ad6b7169203331-01", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-B7AD6B7169203331-01", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-0", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-0x", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e473-b7ad6b71692033310-01", None),
            ("00_4bf92f3577b34da6a3ce929d0e0e4736_b7ad6b7169203331_01", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e47\"6-b7ad6b7169203331-01", None),
            (" 00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01", None),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01 ", None),
            ("", None),
        ] {
            let trace_id = TraceId::parse_traceparent(header.as_bytes());
            assert_eq!(trace_id.map(|id| id.to_string()).as_deref(), expected, "{header}");
        }
        assert_eq!(TraceId::parse_traceparent(&[0xff; 55]), None);
    }
}
