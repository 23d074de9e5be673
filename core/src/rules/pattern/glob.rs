//! Patterns with wildcards.
//!
//! A pattern is split at its line breaks, since no wildcard matches one, and each line at its `*`.
//! The segments of a line are searched from left to right, each at its first occurrence. If that
//! fails, no other choice can succeed, so there is no backtracking.

use std::cell::OnceCell;

use super::search::{self, Boundary, StepBudget};

#[derive(Debug, Clone)]
pub(super) struct Glob {
    lines: Box<[Line]>,
    len: usize,
}

/// The segments between the `*` of a line; a line without `*` is one segment.
#[derive(Debug, Clone)]
struct Line(Box<[Segment]>);

#[derive(Debug, Clone)]
enum Segment {
    Literal(Box<str>),
    /// Literals and groups of `?`, and their total length in characters.
    Mixed(Box<[Piece]>, usize),
}

#[derive(Debug, Clone)]
enum Piece {
    /// A literal and its length in characters.
    Literal(Box<str>, usize),
    /// This number of `?`.
    AnyChars(usize),
}

impl Glob {
    pub(super) fn new(glob: &str) -> Self {
        Self { lines: glob.split('\n').map(Line::new).collect(), len: glob.len() }
    }

    /// The length of the glob's text in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn matches_whole(&self, text: &str, budget: &mut StepBudget) -> bool {
        let mut lines = text.split('\n').map(TextLine::new);
        self.lines
            .iter()
            .all(|line| lines.next().is_some_and(|text| line.matches(&text, WHOLE, budget)))
            && lines.next().is_none()
    }

    pub(super) fn matches_word(&self, text: &str, budget: &mut StepBudget) -> bool {
        let texts: Vec<TextLine<'_>> = text.split('\n').map(TextLine::new).collect();
        match &*self.lines {
            [line] => {
                let word = (Boundary::Word, Boundary::Word);
                texts.iter().any(|text| line.matches(text, word, budget))
            }
            [first, whole @ .., last] => texts.windows(self.lines.len()).any(|texts| {
                let [start, texts @ .., end] = texts else { return false };
                first.matches(start, (Boundary::Word, Boundary::Text), budget)
                    && whole.iter().zip(texts).all(|(line, text)| line.matches(text, WHOLE, budget))
                    && last.matches(end, (Boundary::Text, Boundary::Word), budget)
            }),
            [] => false,
        }
    }
}

const WHOLE: (Boundary, Boundary) = (Boundary::Text, Boundary::Text);

impl Line {
    fn new(line: &str) -> Self {
        let segments: Vec<&str> = line.split('*').collect();
        let last = segments.len() - 1;
        // An empty segment matters only at the start and at the end of the line.
        let is_needed =
            |&(at, segment): &(usize, &&str)| at == 0 || at == last || !segment.is_empty();
        let segments = segments.iter().enumerate().filter(is_needed);
        Self(segments.map(|(_, segment)| Segment::new(segment)).collect())
    }

    fn matches(
        &self,
        text: &TextLine<'_>,
        (start, end): (Boundary, Boundary),
        budget: &mut StepBudget,
    ) -> bool {
        const ANY: Boundary = Boundary::Anywhere;
        let found = match &*self.0 {
            [] => None,
            [only] => only.find(text, 0, (start, end), budget),
            [first, middle @ .., last] => first
                .find(text, 0, (start, ANY), budget)
                .and_then(|at| {
                    middle
                        .iter()
                        .try_fold(at, |at, segment| segment.find(text, at, (ANY, ANY), budget))
                })
                .and_then(|at| last.find(text, at, (ANY, end), budget)),
        };
        found.is_some()
    }
}

impl Segment {
    fn new(segment: &str) -> Self {
        if !segment.contains('?') {
            return Self::Literal(segment.into());
        }
        let mut pieces = Vec::new();
        let mut rest = segment;
        while let Some(first) = rest.chars().next() {
            let is_wild = first == '?';
            let end = rest.find(|c| (c == '?') != is_wild).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(end);
            pieces.push(if is_wild {
                Piece::AnyChars(piece.len())
            } else {
                Piece::Literal(piece.into(), piece.chars().count())
            });
            rest = tail;
        }
        Self::Mixed(pieces.into(), segment.chars().count())
    }

    /// The end of the first match at or after `from`.
    fn find(
        &self,
        text: &TextLine<'_>,
        from: usize,
        (start, end): (Boundary, Boundary),
        budget: &mut StepBudget,
    ) -> Option<usize> {
        let (pieces, length) = match self {
            Self::Literal(literal) => {
                return search::find(text.line, literal, from, (start, end), budget);
            }
            Self::Mixed(pieces, length) => (pieces, *length),
        };
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
                && matches_at(pieces, text, column, budget)?
            {
                return Some(match_end);
            }
        }
        None
    }
}

/// The number of bytes of a literal whose comparison counts as one step.
const BYTES_PER_STEP: usize = 64;

/// Whether the pieces match one after the other from a column; `None` if the budget is exceeded.
fn matches_at(
    pieces: &[Piece],
    text: &TextLine<'_>,
    mut column: usize,
    budget: &mut StepBudget,
) -> Option<bool> {
    for piece in pieces {
        match piece {
            Piece::AnyChars(length) => {
                budget.spend(1)?;
                column += length;
            }
            Piece::Literal(literal, length) => {
                budget.spend(1 + literal.len() / BYTES_PER_STEP)?;
                let rest = text.byte(column).and_then(|at| text.line.get(at..));
                if !rest.is_some_and(|rest| rest.starts_with(&**literal)) {
                    return Some(false);
                }
                column += length;
            }
        }
    }
    Some(true)
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

    fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| {
            if self.line.is_ascii() {
                return Box::default();
            }
            let starts = self.line.char_indices().map(|(at, _)| at);
            starts.chain([self.line.len()]).collect()
        })
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
