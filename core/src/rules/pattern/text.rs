//! Text prepared for word searches.

use super::search::{self, Boundary, StepBudget};
use super::{UserWorkBudget, is_word_byte, lower};

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
