//! Search for a literal whose start and end must be at certain boundaries.

use super::{Work, is_word_byte};

/// The positions at which a match may start or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Any position.
    Anywhere,
    /// Only at the start or end of the text.
    Text,
    /// Only at a word boundary.
    Word,
}

impl Boundary {
    pub(super) fn allows_start(self, text: &str, at: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => at == 0,
            Self::Word => at == 0 || !is_word_byte(text.as_bytes()[at - 1]),
        }
    }

    pub(super) fn allows_end(self, text: &str, at: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => at == text.len(),
            Self::Word => text.as_bytes().get(at).is_none_or(|byte| !is_word_byte(*byte)),
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
    let is_allowed =
        |at: usize| start.allows_start(text, at) && end.allows_end(text, at + literal.len());
    budget.spend(literal.len() + 1)?;
    if start == Boundary::Text || end == Boundary::Text {
        let at = if start == Boundary::Text { 0 } else { text.len().checked_sub(literal.len())? };
        let is_here = at >= from && text.get(at..).is_some_and(|rest| rest.starts_with(literal));
        return (is_here && is_allowed(at)).then_some(at + literal.len());
    }
    let Some(found) = text[from..].find(literal) else {
        budget.spend(text.len() - from)?;
        return None;
    };
    budget.spend(found)?;
    if is_allowed(from + found) {
        return Some(from + found + literal.len());
    }
    find_overlapping(text, literal, from + found, is_allowed, budget)
}

/// Returns the end of the first allowed occurrence. Occurrences may overlap, and a new search after
/// each would take quadratic time. The Knuth-Morris-Pratt algorithm reads each byte once.
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
    let mut matched = 0;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        while matched > 0 && literal.get(matched) != Some(&byte) {
            matched = borders[matched - 1];
        }
        if literal.get(matched) == Some(&byte) {
            matched += 1;
        }
        if matched == literal.len() && is_allowed(at + 1 - matched) {
            return Some(at + 1);
        }
    }
    None
}

/// Returns, for each prefix of the literal, the length of its longest border: a shorter prefix that
/// is also its suffix.
fn borders(literal: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; literal.len()];
    let mut matched = 0;
    for at in 1..literal.len() {
        while matched > 0 && literal[matched] != literal[at] {
            matched = borders[matched - 1];
        }
        if literal[matched] == literal[at] {
            matched += 1;
        }
        borders[at] = matched;
    }
    borders
}
