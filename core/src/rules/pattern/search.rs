//! Search for a literal whose start and end must be at boundaries of a given kind.

use super::{UserWorkBudget, is_word_byte};

/// The positions at which a match may start or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    Anywhere,
    /// Only the start of the text for a match start, and its end for a match end.
    Text,
    Word,
}

impl Boundary {
    /// Returns whether a match may start at a byte position.
    pub(super) fn allows_start(self, text: &str, position: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => position == 0,
            Self::Word => position == 0 || !is_word_byte(text.as_bytes()[position - 1]),
        }
    }

    /// Returns whether a match may end at a byte position.
    pub(super) fn allows_end(self, text: &str, position: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => position == text.len(),
            Self::Word => text.as_bytes().get(position).is_none_or(|byte| !is_word_byte(*byte)),
        }
    }
}

/// Number of steps that matching one pattern may still take, within the user's work budget.
pub(super) struct StepBudget<'a> {
    remaining_steps: usize,
    work: &'a UserWorkBudget,
}

impl<'a> StepBudget<'a> {
    /// Number of steps allowed for each byte of pattern and text.
    pub(super) const STEPS_PER_BYTE: usize = 16;

    pub(super) fn new(pattern_bytes: usize, text: &str, work: &'a UserWorkBudget) -> Self {
        let remaining_steps = (pattern_bytes + text.len() + 1).saturating_mul(Self::STEPS_PER_BYTE);
        Self { remaining_steps, work }
    }

    /// Takes steps from the budget; `None` if it is exceeded.
    pub(super) fn spend(&mut self, steps: usize) -> Option<()> {
        let remaining_steps = self.remaining_steps.checked_sub(steps);
        self.remaining_steps = remaining_steps.unwrap_or(0);
        remaining_steps?;
        self.work.spend(steps)
    }
}

/// Returns the end of the first occurrence of a literal at or after `from_byte` that the
/// boundaries allow; `None` if there is none, or if the budget is exceeded.
pub(super) fn find_literal(
    text: &str,
    literal: &str,
    from_byte: usize,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    let has_boundaries = |position: usize| {
        start.allows_start(text, position) && end.allows_end(text, position + literal.len())
    };
    budget.spend(literal.len() + 1)?;
    if start == Boundary::Text || end == Boundary::Text {
        let position =
            if start == Boundary::Text { 0 } else { text.len().checked_sub(literal.len())? };
        let is_present = position >= from_byte
            && text.get(position..).is_some_and(|rest| rest.starts_with(literal));
        return (is_present && has_boundaries(position)).then_some(position + literal.len());
    }
    let Some(offset) = text[from_byte..].find(literal) else {
        budget.spend(text.len() - from_byte)?;
        return None;
    };
    budget.spend(offset)?;
    if has_boundaries(from_byte + offset) {
        return Some(from_byte + offset + literal.len());
    }
    find_overlapping(text, literal, from_byte + offset, has_boundaries, budget)
}

/// Returns the end of the first allowed occurrence at or after `from_byte`. Occurrences may
/// overlap, and a new search after each would take quadratic time. The Knuth-Morris-Pratt algorithm
/// reads each byte once.
fn find_overlapping(
    text: &str,
    literal: &str,
    from_byte: usize,
    has_boundaries: impl Fn(usize) -> bool,
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    let literal = literal.as_bytes();
    budget.spend(literal.len() + text.len() - from_byte)?;
    let borders = border_lengths(literal);
    let mut matched_bytes = 0;
    for (position, byte) in text.bytes().enumerate().skip(from_byte) {
        while matched_bytes > 0 && literal.get(matched_bytes) != Some(&byte) {
            matched_bytes = borders[matched_bytes - 1];
        }
        if literal.get(matched_bytes) == Some(&byte) {
            matched_bytes += 1;
        }
        if matched_bytes == literal.len() && has_boundaries(position + 1 - matched_bytes) {
            return Some(position + 1);
        }
    }
    None
}

/// Returns, for each prefix of the literal, the length of its longest border: a shorter prefix that
/// is also its suffix.
fn border_lengths(literal: &[u8]) -> Vec<usize> {
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
