//! Escaping of text for terminals and logs. Parts of the text come from clients, other systems and
//! files, so characters that control the terminal or hide text from the operator are escaped.

use std::borrow::Cow;
use std::fmt::Write as _;

use belfry_core::text::is_invisible;

/// Escapes text, as in `\u{1b}`. The result is a single line.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escape_chars(text, |c| !is_printable(c), |c, escaped| escaped.extend(c.escape_unicode()))
}

/// Escapes JSON, as in `\u001b`. The result is equivalent JSON: outside of strings, the only
/// characters that would be escaped are line breaks, which remain.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    escape_chars(
        json,
        |c| c != '\n' && !is_printable(c),
        |c, escaped| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _infallible = write!(escaped, "\\u{unit:04x}");
            }
        },
    )
}

/// Returns the beginning of a string, with at most this many bytes.
pub(crate) fn shorten(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// Returns whether a character neither controls a terminal nor hides text.
fn is_printable(c: char) -> bool {
    !is_invisible(c) && !matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Replaces the characters that `is_escaped` selects with the output of `escape`.
fn escape_chars(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            escape(c, &mut escaped);
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn characters_that_a_terminal_acts_on_are_escaped() {
        for (text, expected) in [
            ("Tusky für Österreich 🔔", "Tusky für Österreich 🔔"),
            ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
            ("a\tb\r\nc", "a\\u{9}b\\u{d}\\u{a}c"),
            ("\u{7f}\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("a\u{202e}b\u{2028}c\u{e0041}", "a\\u{202e}b\\u{2028}c\\u{e0041}"),
        ] {
            assert_eq!(escape(text), expected);
            let value = json!({ "name": text });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let escaped = escape_json(&pretty);
            assert!(escaped.lines().flat_map(str::chars).all(is_printable), "{escaped:?}");
            assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
        }
    }

    #[test]
    fn long_values_are_shortened_between_characters() {
        for (text, shortened) in [("", ""), ("abc", "abc"), ("abcd", "abc"), ("abäc", "ab")] {
            assert_eq!(shorten(text, 3), shortened);
        }
    }
}
