//! Glob matching for push rule patterns.
//!
//! A pattern is split at its line breaks, since no wildcard matches one, and each line at its `*`.
//! The segments of a line are searched from left to right, each at its first occurrence. If that
//! fails, no other choice can succeed, so there is no backtracking.
//!
//! The functions return `None` if there is no match, or if the budget is exceeded.

use std::cell::OnceCell;

use super::search::{self, Boundary, StepBudget};

const ANY: Boundary = Boundary::Anywhere;
const WHOLE: (Boundary, Boundary) = (Boundary::Text, Boundary::Text);

pub(super) fn match_whole(glob: &str, text: &str, budget: &mut StepBudget<'_>) -> Option<()> {
    let mut lines = text.split('\n').map(TextLine::new);
    for pattern in glob.split('\n') {
        match_line(pattern, &lines.next()?, WHOLE, budget)?;
    }
    lines.next().is_none().then_some(())
}

pub(super) fn match_word(glob: &str, text: &str, budget: &mut StepBudget<'_>) -> Option<()> {
    let mut lines = text.split('\n').map(TextLine::new);
    let Some((first, rest)) = glob.split_once('\n') else {
        let word = (Boundary::Word, Boundary::Word);
        return lines.find_map(|line| match_line(glob, &line, word, budget));
    };
    let (middle, last) = match rest.rsplit_once('\n') {
        Some((middle, last)) => (middle.split('\n').collect(), last),
        None => (Vec::new(), rest),
    };
    let lines: Vec<TextLine<'_>> = lines.collect();
    budget.spend(middle.len() + lines.len())?;
    lines.windows(middle.len() + 2).find_map(|window| {
        let [first_line, middle_lines @ .., last_line] = window else { return None };
        match_line(first, first_line, (Boundary::Word, Boundary::Text), budget)?;
        for (pattern, line) in middle.iter().zip(middle_lines) {
            match_line(pattern, line, WHOLE, budget)?;
        }
        match_line(last, last_line, (Boundary::Text, Boundary::Word), budget)
    })
}

/// Matches one line of a pattern. The match must start and end at these boundaries.
fn match_line(
    pattern: &str,
    text: &TextLine<'_>,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<()> {
    let Some((first, rest)) = pattern.split_once('*') else {
        return find_segment(pattern, text, 0, (start, end), budget).map(drop);
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let mut position = find_segment(first, text, 0, (start, ANY), budget)?;
    for segment in middle.split('*').filter(|segment| !segment.is_empty()) {
        position = find_segment(segment, text, position, (ANY, ANY), budget)?;
    }
    find_segment(last, text, position, (ANY, end), budget).map(drop)
}

/// Returns the end of the first match of a segment, which has no `*`, at or after `from`.
fn find_segment(
    segment: &str,
    text: &TextLine<'_>,
    from: usize,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    if !segment.contains('?') {
        return search::find(text.line, segment, from, (start, end), budget);
    }
    budget.spend(segment.len() / CHARS_PER_STEP + text.unread_bytes())?;
    let length = segment.chars().count();
    let from = text.column(from);
    let last = text.columns().checked_sub(length)?;
    let columns = match (start, end) {
        (Boundary::Text, _) => from..=0,
        (_, Boundary::Text) => from.max(last)..=last,
        _ => from..=last,
    };
    for column in columns {
        budget.spend(1)?;
        let match_end = text.byte(column + length)?;
        if start.allows_start(text.line, text.byte(column)?)
            && end.allows_end(text.line, match_end)
            && matches_at(segment, text, column, budget)?
        {
            return Some(match_end);
        }
    }
    None
}

/// The number of characters whose comparison counts as one step.
const CHARS_PER_STEP: usize = 4;

/// Returns whether a segment matches from a column; `None` if the budget is exceeded.
fn matches_at(
    segment: &str,
    text: &TextLine<'_>,
    column: usize,
    budget: &mut StepBudget<'_>,
) -> Option<bool> {
    let rest = &text.line[text.byte(column)?..];
    let difference = if text.is_ascii() {
        let mut pairs = segment.bytes().zip(rest.bytes());
        pairs.position(|(expected, actual)| expected != b'?' && expected != actual)
    } else {
        let mut pairs = segment.chars().zip(rest.chars());
        pairs.position(|(expected, actual)| expected != '?' && expected != actual)
    };
    budget.spend(1 + difference.unwrap_or(segment.len()) / CHARS_PER_STEP)?;
    Some(difference.is_none())
}

/// A line of the text. A column is a position counted in characters.
struct TextLine<'a> {
    line: &'a str,
    /// The byte position of each column; empty if all characters are one byte long.
    starts: OnceCell<Box<[usize]>>,
}

impl<'a> TextLine<'a> {
    fn new(line: &'a str) -> Self {
        Self { line, starts: OnceCell::new() }
    }

    /// Returns the number of bytes that have to be read to compute the columns; 0 if they have been
    /// computed.
    fn unread_bytes(&self) -> usize {
        if self.starts.get().is_some() { 0 } else { self.line.len() }
    }

    fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| {
            if self.line.is_ascii() {
                return Box::default();
            }
            let starts = self.line.char_indices().map(|(offset, _)| offset);
            starts.chain([self.line.len()]).collect()
        })
    }

    fn is_ascii(&self) -> bool {
        self.starts().is_empty()
    }

    fn columns(&self) -> usize {
        self.starts().len().checked_sub(1).unwrap_or(self.line.len())
    }

    fn column(&self, byte: usize) -> usize {
        match self.starts() {
            [] => byte,
            starts => starts.partition_point(|start| *start < byte),
        }
    }

    fn byte(&self, column: usize) -> Option<usize> {
        match self.starts() {
            [] => (column <= self.line.len()).then_some(column),
            starts => starts.get(column).copied(),
        }
    }
}
