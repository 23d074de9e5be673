//! A pattern with wildcards, cut at its line breaks and then at its `*`.
//!
//! No wildcard matches a line break, so a line of the pattern has to match within a line of the
//! text. In a line, what stands between two `*` is looked for from left to right, each as early as
//! it can be: if that fails nothing else succeeds, so that nothing is ever tried again.

use std::cell::OnceCell;

use super::search::{self, Edge, Work};

#[derive(Debug, Clone)]
pub(super) struct Glob {
    lines: Box<[Line]>,
    bytes: usize,
}

/// The segments between the `*` of a line; a line without `*` is one segment.
#[derive(Debug, Clone)]
struct Line(Box<[Segment]>);

#[derive(Debug, Clone)]
enum Segment {
    Literal(Box<str>),
    /// Literals and groups of `?`, and how many characters they are together.
    Mixed(Box<[Piece]>, usize),
}

#[derive(Debug, Clone)]
enum Piece {
    /// A literal, and how many characters it has.
    Text(Box<str>, usize),
    /// So many characters, whichever.
    Any(usize),
}

impl Glob {
    pub(super) fn new(glob: &str) -> Self {
        Self { lines: glob.split('\n').map(Line::new).collect(), bytes: glob.len() }
    }

    /// The length of the glob as it was written.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_whole(&self, text: &str, work: &mut Work) -> bool {
        let mut lines = text.split('\n');
        self.lines
            .iter()
            .all(|line| lines.next().is_some_and(|text| line.fits(&Text::new(text), WHOLE, work)))
            && lines.next().is_none()
    }

    pub(super) fn is_word_of(&self, text: &str, work: &mut Work) -> bool {
        let texts: Vec<Text<'_>> = text.split('\n').map(Text::new).collect();
        match &*self.lines {
            [line] => texts.iter().any(|text| line.fits(text, (Edge::Word, Edge::Word), work)),
            [first, whole @ .., last] => texts.windows(self.lines.len()).any(|texts| {
                let [text, texts @ .., end] = texts else { return false };
                first.fits(text, (Edge::Word, Edge::Text), work)
                    && whole.iter().zip(texts).all(|(line, text)| line.fits(text, WHOLE, work))
                    && last.fits(end, (Edge::Text, Edge::Word), work)
            }),
            [] => false,
        }
    }
}

const WHOLE: (Edge, Edge) = (Edge::Text, Edge::Text);

impl Line {
    fn new(line: &str) -> Self {
        let segments: Vec<&str> = line.split('*').collect();
        let last = segments.len() - 1;
        // An empty segment says something only where it is at an edge.
        let solid = |&(at, segment): &(usize, &&str)| at == 0 || at == last || !segment.is_empty();
        let segments = segments.iter().enumerate().filter(solid);
        Self(segments.map(|(_, segment)| Segment::new(segment)).collect())
    }

    fn fits(&self, text: &Text<'_>, (start, end): (Edge, Edge), work: &mut Work) -> bool {
        let found = match &*self.0 {
            [] => None,
            [only] => only.find(text, 0, start, end, work),
            [first, middle @ .., last] => first
                .find(text, 0, start, Edge::Anywhere, work)
                .and_then(|at| {
                    middle.iter().try_fold(at, |at, segment| {
                        segment.find(text, at, Edge::Anywhere, Edge::Anywhere, work)
                    })
                })
                .and_then(|at| last.find(text, at, Edge::Anywhere, end, work)),
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
            let wild = first == '?';
            let end = rest.find(|c| (c == '?') != wild).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(end);
            pieces.push(if wild {
                Piece::Any(piece.len())
            } else {
                Piece::Text(piece.into(), piece.chars().count())
            });
            rest = tail;
        }
        Self::Mixed(pieces.into(), segment.chars().count())
    }

    /// The end of the first place at or after `from` where the segment is.
    fn find(
        &self,
        text: &Text<'_>,
        from: usize,
        start: Edge,
        end: Edge,
        work: &mut Work,
    ) -> Option<usize> {
        let (pieces, length) = match self {
            Self::Literal(literal) => {
                return search::find(text.line, literal, from, start, end, work);
            }
            Self::Mixed(pieces, length) => (pieces, *length),
        };
        let from = text.column(from);
        let last = text.columns().checked_sub(length)?;
        let columns = match (start, end) {
            (Edge::Text, _) => from..=0,
            (_, Edge::Text) => from.max(last)..=last,
            _ => from..=last,
        };
        for column in columns {
            work.spend(1)?;
            let ends = text.byte(column + length)?;
            if start.starts(text.line, text.byte(column)?)
                && end.ends(text.line, ends)
                && are_at(pieces, text, column, work)?
            {
                return Some(ends);
            }
        }
        None
    }
}

/// So many bytes are compared in the time of a step.
const COMPARED_AT_ONCE: usize = 64;

/// Whether the pieces stand in the text one after the other; `None` when there is no work left.
fn are_at(pieces: &[Piece], text: &Text<'_>, mut column: usize, work: &mut Work) -> Option<bool> {
    for piece in pieces {
        match piece {
            Piece::Any(length) => {
                work.spend(1)?;
                column += length;
            }
            Piece::Text(literal, length) => {
                work.spend(1 + literal.len() / COMPARED_AT_ONCE)?;
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

/// A line of the text, in which a column is the number of characters before it.
struct Text<'a> {
    line: &'a str,
    /// Where each character begins, and where the line ends; empty when all are one byte long.
    starts: OnceCell<Box<[usize]>>,
}

impl<'a> Text<'a> {
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
