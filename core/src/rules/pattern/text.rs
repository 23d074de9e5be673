//! A text in which words are looked for.

use super::search::{self, Edge, Work};
use super::{is_word_byte, lower};

/// A text in lower case, and where its words are: found once, because many patterns are looked for
/// in the same text.
#[derive(Debug)]
pub struct Text {
    lowered: Box<str>,
    words: Vec<Word>,
}

/// A longest run of ASCII letters, digits and `_`.
#[derive(Debug)]
struct Word {
    start: usize,
    end: usize,
}

/// A longer literal is not compared at each word, which could be quadratic.
const SHORT: usize = 64;

impl Text {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let lowered: Box<str> = lower(text).into();
        let bytes = lowered.as_bytes();
        let mut words = Vec::with_capacity(16);
        let mut end = 0;
        while let Some(gap) = bytes[end..].iter().position(|byte| is_word_byte(*byte)) {
            let start = end + gap;
            let length = bytes[start..].iter().position(|byte| !is_word_byte(*byte));
            end = length.map_or(bytes.len(), |length| start + length);
            words.push(Word { start, end });
        }
        Self { lowered, words }
    }

    /// The text in lower case.
    #[must_use]
    pub fn lowered(&self) -> &str {
        &self.lowered
    }

    /// Whether a lowered literal is in the text that begins and ends at a word boundary: the start
    /// or end of the text, or a neighbour other than an ASCII letter, digit or `_`. The empty
    /// literal is in the empty text alone.
    #[must_use]
    pub fn has(&self, literal: &str) -> bool {
        if literal.is_empty() {
            return self.lowered.is_empty();
        }
        let first = literal.bytes().position(|byte| !is_word_byte(byte)).unwrap_or(literal.len());
        if first == 0 || literal.len() > SHORT {
            let mut work = Work::on(literal.len(), &self.lowered);
            return search::find(&self.lowered, literal, 0, Edge::Word, Edge::Word, &mut work)
                .is_some();
        }
        // It begins at a boundary with a letter, so its first word is a whole word of the text.
        self.words.iter().any(|word| {
            word.end - word.start == first
                && self.lowered.as_bytes()[word.start..].starts_with(literal.as_bytes())
                && Edge::Word.ends(&self.lowered, word.start + literal.len())
        })
    }
}
