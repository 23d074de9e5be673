//! Glob matching for push rule patterns.
//!
//! A pattern is split at its line breaks, since no wildcard matches one, and each line at its `*`.
//! The segments of a line are searched from left to right, each at its first occurrence. If that
//! fails, no other choice can succeed, so there is no backtracking.
//!
//! The functions return `None` if there is no match, or if the budget is exceeded.

use std::cell::OnceCell;

use super::search::{self, Boundary, StepBudget};

const ANYWHERE: Boundary = Boundary::Anywhere;
const WHOLE_LINE: (Boundary, Boundary) = (Boundary::Text, Boundary::Text);

pub(super) fn match_whole(glob: &str, text: &str, budget: &mut StepBudget<'_>) -> Option<()> {
    let mut lines = text.split('\n').map(TextLine::new);
    for pattern in glob.split('\n') {
        match_line(pattern, &lines.next()?, WHOLE_LINE, budget)?;
    }
    lines.next().is_none().then_some(())
}

/// Matches a part of the text that starts and ends at word boundaries.
pub(super) fn match_word(glob: &str, text: &str, budget: &mut StepBudget<'_>) -> Option<()> {
    let mut lines = text.split('\n').map(TextLine::new);
    let Some((first_pattern, rest)) = glob.split_once('\n') else {
        let at_words = (Boundary::Word, Boundary::Word);
        return lines.find_map(|line| match_line(glob, &line, at_words, budget));
    };
    let (middle_patterns, last_pattern) = match rest.rsplit_once('\n') {
        Some((middle, last_pattern)) => (middle.split('\n').collect(), last_pattern),
        None => (Vec::new(), rest),
    };
    let lines: Vec<TextLine<'_>> = lines.collect();
    budget.spend(middle_patterns.len() + lines.len())?;
    lines.windows(middle_patterns.len() + 2).find_map(|window| {
        let [first_line, middle_lines @ .., last_line] = window else { return None };
        match_line(first_pattern, first_line, (Boundary::Word, Boundary::Text), budget)?;
        for (pattern, line) in middle_patterns.iter().zip(middle_lines) {
            match_line(pattern, line, WHOLE_LINE, budget)?;
        }
        match_line(last_pattern, last_line, (Boundary::Text, Boundary::Word), budget)
    })
}

fn match_line(
    pattern: &str,
    text: &TextLine<'_>,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<()> {
    let Some((first_segment, rest)) = pattern.split_once('*') else {
        return find_segment(pattern, text, 0, (start, end), budget).map(drop);
    };
    let (middle_segments, last_segment) = rest.rsplit_once('*').unwrap_or(("", rest));
    let mut position = find_segment(first_segment, text, 0, (start, ANYWHERE), budget)?;
    for segment in middle_segments.split('*').filter(|segment| !segment.is_empty()) {
        position = find_segment(segment, text, position, (ANYWHERE, ANYWHERE), budget)?;
    }
    find_segment(last_segment, text, position, (ANYWHERE, end), budget).map(drop)
}

/// Returns the end of the first match of a segment, which has no `*`, at or after `from_byte`.
fn find_segment(
    segment: &str,
    text: &TextLine<'_>,
    from_byte: usize,
    (start, end): (Boundary, Boundary),
    budget: &mut StepBudget<'_>,
) -> Option<usize> {
    if !segment.contains('?') {
        return search::find_literal(text.line, segment, from_byte, (start, end), budget);
    }
    budget.spend(segment.len() / CHARS_PER_STEP + text.unread_bytes())?;
    let segment_columns = segment.chars().count();
    let first_column = text.column_at(from_byte);
    let last_column = text.column_count().checked_sub(segment_columns)?;
    let columns = match (start, end) {
        (Boundary::Text, _) => first_column..=0,
        (_, Boundary::Text) => first_column.max(last_column)..=last_column,
        _ => first_column..=last_column,
    };
    for column in columns {
        budget.spend(1)?;
        let match_end = text.byte_at(column + segment_columns)?;
        if start.allows_start(text.line, text.byte_at(column)?)
            && end.allows_end(text.line, match_end)
            && matches_at(segment, text, column, budget)?
        {
            return Some(match_end);
        }
    }
    None
}

/// Number of characters whose comparison counts as one step.
const CHARS_PER_STEP: usize = 4;

/// Returns whether a segment matches from a column; `None` if the budget is exceeded.
fn matches_at(
    segment: &str,
    text: &TextLine<'_>,
    column: usize,
    budget: &mut StepBudget<'_>,
) -> Option<bool> {
    let rest = &text.line[text.byte_at(column)?..];
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
    column_starts: OnceCell<Box<[usize]>>,
}

impl<'a> TextLine<'a> {
    fn new(line: &'a str) -> Self {
        Self { line, column_starts: OnceCell::new() }
    }

    /// Returns the number of bytes that have to be read to compute the columns; 0 if they have been
    /// computed.
    fn unread_bytes(&self) -> usize {
        if self.column_starts.get().is_some() { 0 } else { self.line.len() }
    }

    fn column_starts(&self) -> &[usize] {
        self.column_starts.get_or_init(|| {
            if self.line.is_ascii() {
                return Box::default();
            }
            let starts = self.line.char_indices().map(|(offset, _)| offset);
            starts.chain([self.line.len()]).collect()
        })
    }

    fn is_ascii(&self) -> bool {
        self.column_starts().is_empty()
    }

    fn column_count(&self) -> usize {
        self.column_starts().len().checked_sub(1).unwrap_or(self.line.len())
    }

    fn column_at(&self, byte: usize) -> usize {
        match self.column_starts() {
            [] => byte,
            column_starts => column_starts.partition_point(|start| *start < byte),
        }
    }

    fn byte_at(&self, column: usize) -> Option<usize> {
        match self.column_starts() {
            [] => (column <= self.line.len()).then_some(column),
            column_starts => column_starts.get(column).copied(),
        }
    }
}
