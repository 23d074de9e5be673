//! User text, made safe to display.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces invisible characters ([`is_invisible`]) with escapes as in JSON (`\u202e`), so that
/// they are visible and have no effect. Joiners remain, because scripts and emoji need them.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_invisible(c) {
            // All escaped characters are in the basic multilingual plane.
            write!(escaped, "\\u{:04x}", u32::from(c)).expect("a string accepts any text");
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether text has no visible character.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c) || is_blank_by_itself(c))
}

/// Returns whether a character is a control character, changes the text direction, or is an
/// invisible separator or formatting character.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || changes_direction(c)
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}')
}

/// Returns whether a character changes the direction of the text around it.
pub(crate) fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is blank by itself, although scripts or emoji may need it: the rest
/// of Unicode's `Default_Ignorable_Code_Point`, and the blank Braille pattern.
fn is_blank_by_itself(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200c}'..='\u{200d}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_except_joiners_are_escaped() {
        for (text, expected) in [
            ("cake", "cake"),
            ("кекс 蛋糕 كعكة", "кекс 蛋糕 كعكة"),
            ("\u{202e}gnp.exe", "\\u202egnp.exe"),
            ("a\tb\nc\u{7f}\u{85}", "a\\u0009b\\u000ac\\u007f\\u0085"),
            ("a\u{200b}b\u{2066}c\u{2069}\u{feff}", "a\\u200bb\\u2066c\\u2069\\ufeff"),
            ("👨\u{200d}👩", "👨\u{200d}👩"),
            ("نامه\u{200c}ها", "نامه\u{200c}ها"),
        ] {
            assert_eq!(escape_invisible(text), expected, "{text:?}");
        }
    }
}
