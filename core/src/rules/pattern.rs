//! Globs: `*` is any run of characters and `?` exactly one, neither of them a line break; there
//! are no escapes, and case makes no difference.

mod glob;
mod search;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

use glob::Glob;
use search::Work;
pub use text::Text;

/// A glob, compiled once and matched often, against texts that [`lower`] has been over.
///
/// A match takes time linear in the text, whatever the pattern: it has 16 steps for each byte, and
/// a pattern that would need more counts as not matching. Only one with more than seven groups of
/// `?` or line breaks, or with pages of text beside a `?`, on a text made for it, comes so far.
#[derive(Debug, Clone)]
pub struct GlobPattern(Form);

#[derive(Debug, Clone)]
enum Form {
    Literal(Box<str>),
    Glob(Box<Glob>),
}

impl GlobPattern {
    /// Compiles a glob as a user wrote it.
    #[must_use]
    pub fn new(glob: &str) -> Self {
        let lowered = lower(glob);
        if lowered.contains(['*', '?']) {
            Self(Form::Glob(Box::new(Glob::new(&lowered))))
        } else {
            Self(Form::Literal(lowered.into()))
        }
    }

    /// Whether the whole of a lowered text matches.
    #[must_use]
    pub fn is_whole(&self, lowered: &str) -> bool {
        match &self.0 {
            Form::Literal(literal) => **literal == *lowered,
            Form::Glob(glob) => glob.is_whole(lowered, &mut Work::on(glob.bytes(), lowered)),
        }
    }

    /// Whether a part of a text matches that begins and ends at a word boundary.
    #[must_use]
    pub fn is_word_of(&self, text: &Text) -> bool {
        match &self.0 {
            Form::Literal(literal) => text.has(literal),
            Form::Glob(glob) => {
                let lowered = text.lowered();
                glob.is_word_of(lowered, &mut Work::on(glob.bytes(), lowered))
            }
        }
    }
}

/// A text in lower case, letter by letter: a letter's form must not depend on its neighbours, or
/// the `Σ` at the end of a pattern and the one within a text would differ.
#[must_use]
pub fn lower(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        let letters = text.chars().flat_map(char::to_lowercase);
        return letters.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect();
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return text.to_ascii_lowercase().into();
    }
    text.into()
}

/// Whether a byte is part of a word. No byte of a character beyond ASCII is.
pub(super) fn is_word_byte(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

/// By the byte: every byte of every text is asked for, and a look takes less than the comparisons.
static WORD_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < bytes.len() {
        #[expect(clippy::cast_possible_truncation, reason = "it is below 256")]
        let character = byte as u8;
        bytes[byte] = character.is_ascii_alphanumeric() || character == b'_';
        byte += 1;
    }
    bytes
};
