//! Glob patterns: `*` matches any run of characters and `?` exactly one, but no line break. There
//! are no escapes, and case is ignored.

mod glob;
mod search;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

use search::StepBudget;
pub use text::SearchText;

use super::work::UserWorkBudget;

/// A glob, matched against text in lower case (see [`lower`]).
///
/// Stored as text, because a parsed form would take up to thirty times the memory. Matching takes
/// time linear in pattern and text: it has a budget of 16 steps per byte, and a pattern that
/// exceeds it does not match. Only text crafted for that purpose makes a pattern exceed it, and
/// only a pattern with many line breaks, or one with a `?` that compares more than 56 characters at
/// each position.
#[derive(Debug, Clone)]
pub struct GlobPattern {
    glob: Box<str>,
    has_wildcards: bool,
}

impl GlobPattern {
    pub fn new(glob: &str) -> Self {
        let glob: Box<str> = lower(glob).into();
        Self { has_wildcards: glob.contains(['*', '?']), glob }
    }

    /// Returns whether the whole text, which must be in lower case, matches.
    pub fn matches_whole(&self, text: &str, work: &UserWorkBudget) -> bool {
        if !self.has_wildcards {
            return *self.glob == *text;
        }
        glob::match_whole(&self.glob, text, &mut self.step_budget(text, work)).is_some()
    }

    /// Returns whether the glob matches a part of the text that starts and ends at word boundaries.
    pub fn matches_word(&self, text: &SearchText, work: &UserWorkBudget) -> bool {
        if !self.has_wildcards {
            return text.contains_word(&self.glob, work);
        }
        let lowercase = text.as_lowercase();
        glob::match_word(&self.glob, lowercase, &mut self.step_budget(lowercase, work)).is_some()
    }

    fn step_budget<'a>(&self, text: &str, work: &'a UserWorkBudget) -> StepBudget<'a> {
        StepBudget::new(self.glob.len(), text, work)
    }

    /// Returns the allocated size in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.glob.len()
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

/// Returns whether a byte belongs to a word: ASCII letters, digits and `_`.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
