//! Percent-encoding of form values, both ways.

use std::fmt::Write;

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

    proptest! {
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
