//! Finding a literal in a text, from the left, where its edges are as they must be.

use super::is_word_byte;

/// What must hold of the place where a match begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// Nothing.
    Anywhere,
    /// It is the start or end of the text.
    Text,
    /// It is a word boundary.
    Word,
}

impl Edge {
    pub(super) fn starts(self, text: &str, at: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => at == 0,
            Self::Word => at == 0 || !is_word_byte(text.as_bytes()[at - 1]),
        }
    }

    pub(super) fn ends(self, text: &str, at: usize) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Text => at == text.len(),
            Self::Word => text.as_bytes().get(at).is_none_or(|byte| !is_word_byte(*byte)),
        }
    }
}

/// How many steps a match may still take.
pub(super) struct Work {
    left: usize,
}

impl Work {
    /// Steps for each byte of pattern and text.
    pub(super) const PER_BYTE: usize = 16;

    pub(super) fn on(pattern_bytes: usize, text: &str) -> Self {
        Self { left: (pattern_bytes + text.len() + 1).saturating_mul(Self::PER_BYTE) }
    }

    /// Takes steps; `None` when there are not so many left.
    pub(super) fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.map(|_| ())
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left
    }
}

/// The end of the first occurrence of a literal at or after `from`.
pub(super) fn find(
    text: &str,
    literal: &str,
    from: usize,
    start: Edge,
    end: Edge,
    work: &mut Work,
) -> Option<usize> {
    let good = |at: usize| start.starts(text, at) && end.ends(text, at + literal.len());
    if start == Edge::Text || end == Edge::Text {
        work.spend(literal.len() + 1)?;
        let at = if start == Edge::Text { 0 } else { text.len().checked_sub(literal.len())? };
        let here = at >= from && text.get(at..).is_some_and(|rest| rest.starts_with(literal));
        return (here && good(at)).then_some(at + literal.len());
    }
    work.spend(literal.len() + 1)?;
    let Some(found) = text[from..].find(literal) else {
        work.spend(text.len() - from)?;
        return None;
    };
    work.spend(found)?;
    if good(from + found) {
        return Some(from + found + literal.len());
    }
    next(text, literal, from + found, good, work)
}

/// The end of the first good occurrence. Occurrences overlap, so that to search anew after each
/// would be quadratic: this is Knuth, Morris and Pratt's way, which reads each byte once.
fn next(
    text: &str,
    literal: &str,
    from: usize,
    good: impl Fn(usize) -> bool,
    work: &mut Work,
) -> Option<usize> {
    let literal = literal.as_bytes();
    work.spend(literal.len() + text.len() - from)?;
    let borders = borders(literal);
    let mut matched = 0;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        while matched > 0 && literal.get(matched) != Some(&byte) {
            matched = borders[matched - 1];
        }
        if literal.get(matched) == Some(&byte) {
            matched += 1;
        }
        if matched == literal.len() && good(at + 1 - matched) {
            return Some(at + 1);
        }
    }
    None
}

/// For each beginning of the literal, how long the longest shorter beginning is that ends it.
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
