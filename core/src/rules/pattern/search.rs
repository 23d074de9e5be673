//! Search for a literal whose start and end must be at certain boundaries.

use super::{Work, is_word_byte};

/// The positions at which a match may start or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Any position.
    Anywhere,
    /// Only the start of the text for a match start, and its end for a match end.
    Text,
    /// Only word boundaries.
    Word,
}

impl Boundary {
    pub(super) fn allows_start(self, text: &str, position: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => position == 0,
            Self::Word => position == 0 || !is_word_byte(text.as_bytes()[position - 1]),
        }
    }

    pub(super) fn allows_end(self, text: &str, position: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => position == text.len(),
            Self::Word => text.as_bytes().get(position).is_none_or(|byte| !is_word_byte(*byte)),
        }
    }
}

/// The number of steps that matching one pattern may still take, within the user's work budget.
pub(super) struct StepBudget<'a> {
    remaining: usize,
    work: &'a Work,
}

impl<'a> StepBudget<'a> {
    /// The number of steps allowed for each byte of pattern and text.
    pub(super) const PER_BYTE: usize = 16;

    pub(super) fn new(pattern_bytes: usize, text: &str, work: &'a Work) -> Self {
        Self { remaining: (pattern_bytes + text.len() + 1).saturating_mul(Self::PER_BYTE), work }
    }

    /// Takes steps from the budget; `None` if it is exceeded.
    pub(super) fn spend(&mut self, steps: usize) -> Option<()> {
        let remaining = self.remaining.checked_sub(steps);
        self.remaining = remaining.unwrap_or(0);
        remaining?;
        self.work.spend(steps)
    }
}

/// Returns the end of the first occurrence of a literal at or after `from` that the boundaries
/// allow; `None` if there is none, or if the budget is exceeded.
pub(super) fn find(
    text: &str,
    literal: &str,
    from: usize,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    let is_allowed = |position: usize| {
        start.allows_start(text, position) && end.allows_end(text, position + literal.len())
    };
    budget.spend(literal.len() + 1)?;
    if start == Boundary::Text || end == Boundary::Text {
        let position =
            if start == Boundary::Text { 0 } else { text.len().checked_sub(literal.len())? };
        let is_present =
            position >= from && text.get(position..).is_some_and(|rest| rest.starts_with(literal));
        return (is_present && is_allowed(position)).then_some(position + literal.len());
    }
    let Some(offset) = text[from..].find(literal) else {
        budget.spend(text.len() - from)?;
        return None;
    };
    budget.spend(offset)?;
    if is_allowed(from + offset) {
        return Some(from + offset + literal.len());
    }
    find_overlapping(text, literal, from + offset, is_allowed, budget)
}

/// Returns the end of the first allowed occurrence at or after `from`. Occurrences may overlap, and
/// a new search after each would take quadratic time. The Knuth-Morris-Pratt algorithm reads each
/// byte once.
fn find_overlapping(
    text: &str,
    literal: &str,
    from: usize,
    is_allowed: impl Fn(usize) -> bool,
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    let literal = literal.as_bytes();
    budget.spend(literal.len() + text.len() - from)?;
    let borders = borders(literal);
    let mut matched_bytes = 0;
    for (position, byte) in text.bytes().enumerate().skip(from) {
        while matched_bytes > 0 && literal.get(matched_bytes) != Some(&byte) {
            matched_bytes = borders[matched_bytes - 1];
        }
        if literal.get(matched_bytes) == Some(&byte) {
            matched_bytes += 1;
        }
        if matched_bytes == literal.len() && is_allowed(position + 1 - matched_bytes) {
            return Some(position + 1);
        }
    }
    None
}

/// Returns, for each prefix of the literal, the length of its longest border: a shorter prefix that
/// is also its suffix.
fn borders(literal: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; literal.len()];
    let mut matched_bytes = 0;
    for position in 1..literal.len() {
        while matched_bytes > 0 && literal[matched_bytes] != literal[position] {
            matched_bytes = borders[matched_bytes - 1];
        }
        if literal[matched_bytes] == literal[position] {
            matched_bytes += 1;
        }
        borders[position] = matched_bytes;
    }
    borders
}
