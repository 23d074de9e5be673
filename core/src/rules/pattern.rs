//! Glob patterns: `*` matches any run of characters and `?` exactly one, but no line break. There
//! are no escapes, and case is ignored.

mod glob;
mod search;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::search::{Boundary, StepBudget};
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

/// Text in lower case with the positions of its words, computed once for many patterns.
#[derive(Debug)]
pub struct SearchText {
    lowercase: Box<str>,
    /// The byte ranges of the words: maximal runs of word characters.
    words: Vec<(usize, usize)>,
}

/// Maximum length in bytes of a literal that is compared at each word. Comparing longer literals in
/// this way could take quadratic time.
const MAX_COMPARED_BYTES: usize = 64;

/// Number of words whose comparison counts as one step.
const WORDS_PER_STEP: usize = 4;

impl SearchText {
    /// Converts text to lower case and finds its words.
    pub fn new(text: &str) -> Self {
        let lowercase: Box<str> = lower(text).into();
        let bytes = lowercase.as_bytes();
        let mut words = Vec::new();
        let mut end = 0;
        while let Some(gap) = bytes[end..].iter().position(|byte| is_word_byte(*byte)) {
            let start = end + gap;
            let length = bytes[start..].iter().position(|byte| !is_word_byte(*byte));
            end = length.map_or(bytes.len(), |length| start + length);
            words.push((start, end));
        }
        Self { lowercase, words }
    }

    /// Returns the text in lower case.
    pub fn as_lowercase(&self) -> &str {
        &self.lowercase
    }

    /// Returns whether the text contains a literal in lower case that starts and ends at word
    /// boundaries: the start or end of the text, or next to a character other than an ASCII letter,
    /// digit or `_`. The empty literal is contained only in the empty text.
    pub fn contains_word(&self, literal: &str, work: &UserWorkBudget) -> bool {
        if literal.is_empty() {
            return self.lowercase.is_empty();
        }
        // The length of the word that the literal starts with.
        let word_length =
            literal.bytes().position(|byte| !is_word_byte(byte)).unwrap_or(literal.len());
        if word_length == 0 || literal.len() > MAX_COMPARED_BYTES {
            let boundaries = (Boundary::Word, Boundary::Word);
            let mut budget = StepBudget::new(literal.len(), &self.lowercase, work);
            return search::find_literal(&self.lowercase, literal, 0, boundaries, &mut budget)
                .is_some();
        }
        if work.spend(self.words.len() / WORDS_PER_STEP).is_none() {
            return false;
        }
        // The literal starts with a word, which must be a whole word of the text.
        self.words.iter().any(|&(start, end)| {
            end - start == word_length
                && self.lowercase.as_bytes()[start..].starts_with(literal.as_bytes())
                && Boundary::Word.allows_end(&self.lowercase, start + literal.len())
        })
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
