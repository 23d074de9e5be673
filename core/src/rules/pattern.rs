//! Glob patterns: `*` matches any run of characters and `?` exactly one, but no line break. There
//! are no escapes, and case is ignored.

mod glob;
mod search;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

use glob::Glob;
use search::StepBudget;
pub use text::Text;

/// A compiled glob, matched against text in lower case (see [`lower`]).
///
/// Matching takes time linear in pattern and text: it has a budget of 16 steps per byte, and a
/// pattern that exceeds it does not match. Only patterns with more than seven groups of `?` or line
/// breaks, or with very long literals next to a `?`, can exceed it, and only on text made for that.
#[derive(Debug, Clone)]
pub struct GlobPattern(Form);

#[derive(Debug, Clone)]
enum Form {
    Literal(Box<str>),
    Glob(Box<Glob>),
}

impl GlobPattern {
    /// Compiles a glob in any case.
    pub fn new(glob: &str) -> Self {
        let lowered = lower(glob);
        if lowered.contains(['*', '?']) {
            Self(Form::Glob(Box::new(Glob::new(&lowered))))
        } else {
            Self(Form::Literal(lowered.into()))
        }
    }

    /// Whether the whole of a text in lower case matches.
    pub fn matches_whole(&self, lowered: &str) -> bool {
        match &self.0 {
            Form::Literal(literal) => **literal == *lowered,
            Form::Glob(glob) => {
                glob.matches_whole(lowered, &mut StepBudget::new(glob.len(), lowered))
            }
        }
    }

    /// Whether the glob matches a part of the text that starts and ends at word boundaries.
    pub fn matches_word(&self, text: &Text) -> bool {
        match &self.0 {
            Form::Literal(literal) => text.contains_word(literal),
            Form::Glob(glob) => {
                let lowered = text.lowered();
                glob.matches_word(lowered, &mut StepBudget::new(glob.len(), lowered))
            }
        }
    }
}

/// Converts text to lower case character by character. Unlike [`str::to_lowercase`] it maps `Σ` to
/// `σ` everywhere: otherwise a `Σ` at the end of a pattern would not match one inside a word.
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

/// Whether a byte belongs to a word: ASCII letters, digits and `_`.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
