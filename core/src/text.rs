//! Text of users, made safe to show.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces control characters and characters that change the direction of text by escapes as in
/// JSON (`\u202e`), so that they are visible and have no effect. Joiners remain, because scripts
/// and emoji need them.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    escape(text, is_invisible)
}

/// The same for the text of JSON documents, in which line breaks separate members. The result is
/// equivalent JSON.
pub(crate) fn escape_invisible_in_json(json: &str) -> Cow<'_, str> {
    escape(json, |c| c != '\n' && is_invisible(c))
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // All escaped characters are in the basic multilingual plane.
            write!(escaped, "\\u{:04x}", u32::from(c)).expect("a string accepts any text");
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character is a control character, a mark of direction or an invisible separator.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_without_a_glyph_are_escaped() {
        for (text, shown) in [
            ("cake", "cake"),
            ("кекс 蛋糕 كعكة", "кекс 蛋糕 كعكة"),
            ("\u{202e}gnp.exe", "\\u202egnp.exe"),
            ("a\tb\nc\u{7f}\u{85}", "a\\u0009b\\u000ac\\u007f\\u0085"),
            ("a\u{200b}b\u{2066}c\u{2069}\u{feff}", "a\\u200bb\\u2066c\\u2069\\ufeff"),
            ("👨\u{200d}👩", "👨\u{200d}👩"),
            ("نامه\u{200c}ها", "نامه\u{200c}ها"),
        ] {
            assert_eq!(escape_invisible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn escaped_json_is_equivalent() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{200f}b\n\t", "\u{feff}"] });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escape_invisible_in_json(&text);
        assert!(escaped.is_ascii() && escaped.contains("a\\u202e"), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
