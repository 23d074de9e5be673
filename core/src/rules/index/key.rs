//! Marks: what an event must have for a rule to match, as a number.
//!
//! A mark only finds candidates, which are then asked in full, so it does no harm if two things
//! have the same one.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::rules::event::{BODY, Event};
use crate::rules::pattern::{Text, is_word_byte, lower};
use crate::rules::property_path::{PropertyPath, Trace};
use crate::rules::{Condition, ConditionKind, Scalar};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct IndexKey(u64);

/// So many characters of a run without ASCII letters are a mark.
const RUN: usize = 4;

impl IndexKey {
    /// The mark of a lowered text.
    fn text(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The mark of a value at a path. Strings that differ in case have the same.
    fn value(path: Trace, value: &Scalar) -> Self {
        Self(match value {
            Scalar::String(text) => path.mixed_with(&*lower(text)).number(),
            value => path.mixed_with(value).number(),
        })
    }

    /// The mark of a user's id, however it is written.
    pub(super) fn id(id: &str) -> Self {
        Self::text(&lower(id))
    }

    /// A number smaller than a power of two, spread as well as the mark is.
    pub(super) fn below(self, power: usize) -> usize {
        usize::try_from(self.0 & (power as u64 - 1)).unwrap_or(0)
    }

    /// The mark of a rule with these conditions, all of which must hold; the one that fewest
    /// events will have.
    pub(super) fn of_rule(conditions: &[Condition]) -> Option<Self> {
        let marks = conditions.iter().filter_map(|condition| Self::of_test(&condition.kind));
        marks.min_by_key(|(commonness, _)| *commonness).map(|(_, mark)| mark)
    }

    fn of_test(test: &ConditionKind) -> Option<(Commonness, Self)> {
        let key = match test {
            ConditionKind::EventMatch { key, .. }
            | ConditionKind::EventPropertyIs { key, .. }
            | ConditionKind::EventPropertyContains { key, .. } => PropertyPath::new(key),
            _ => return None,
        };
        let mark = match test {
            ConditionKind::EventMatch { pattern, .. } if key == *BODY => {
                return Some((Commonness::Word, Self::of_pattern(pattern)?));
            }
            ConditionKind::EventMatch { pattern, .. } if pattern.contains(['*', '?']) => {
                return None;
            }
            ConditionKind::EventMatch { pattern, .. } => {
                Self::value(key.trace(), &Scalar::String(pattern.clone()))
            }
            ConditionKind::EventPropertyIs { value, .. }
            | ConditionKind::EventPropertyContains { value, .. } => Self::value(key.trace(), value),
            _ => return None,
        };
        let common = key.is(&["type"]) || key.is(&["content", "msgtype"]);
        Some((if common { Commonness::Type } else { Commonness::Value }, mark))
    }

    /// The mark of a pattern that is looked for in the text of a message: its longest word, where
    /// it is sure to be a whole word of the text, or else the beginning of a run of other
    /// characters.
    pub(super) fn of_pattern(pattern: &str) -> Option<Self> {
        Self::of_words(&lower(pattern), &['*', '?'])
    }

    /// The mark of a text that is looked for as it is.
    pub(super) fn of_literal(literal: &str) -> Option<Self> {
        Self::of_words(&lower(literal), &[])
    }

    fn of_words(lowered: &str, wild: &[char]) -> Option<Self> {
        let mut word: Option<&str> = None;
        let mut run: Option<&str> = None;
        for piece in pieces(lowered) {
            let (before, after) = (&lowered[..piece.at], &lowered[piece.at + piece.text.len()..]);
            if !piece.is_word {
                run = run.or_else(|| piece.text.split(wild).find(|run| !run.is_empty()));
            } else if !before.ends_with(wild)
                && !after.starts_with(wild)
                && word.is_none_or(|longest| longest.len() < piece.text.len())
            {
                word = Some(piece.text);
            }
        }
        word.or_else(|| run.map(beginning)).map(Self::text)
    }

    /// The marks of all rules that an event could match, given those of its text.
    pub(super) fn all_of(event: &Event, body: &[Self]) -> Vec<Self> {
        let values = event.properties().flat_map(|property| {
            property.values().iter().map(|value| Self::value(property.trace(), value))
        });
        let mut marks: Vec<Self> = values.chain(body.iter().copied()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    /// The marks of all patterns that could be in the text of a message.
    pub(super) fn of_body(event: &Event) -> Vec<Self> {
        let mut marks = Vec::new();
        for piece in pieces(event.body().map_or("", Text::lowered)) {
            if piece.is_word {
                marks.push(Self::text(piece.text));
                continue;
            }
            for (start, _) in piece.text.char_indices() {
                let rest = &piece.text[start..];
                let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(RUN);
                marks.extend(ends.map(|end| Self::text(&rest[..end])));
            }
        }
        marks
    }
}

/// How many events have a mark, from few to many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Commonness {
    Value,
    Word,
    Type,
}

fn beginning(run: &str) -> &str {
    run.char_indices().nth(RUN).map_or(run, |(end, _)| &run[..end])
}

/// A longest run of characters that are all of words, or all not.
struct Piece<'a> {
    at: usize,
    text: &'a str,
    is_word: bool,
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let is_word = is_word_byte(*rest.as_bytes().first()?);
        let end = rest.bytes().position(|byte| is_word_byte(byte) != is_word);
        let piece = Piece { at, text: &rest[..end.unwrap_or(rest.len())], is_word };
        at += piece.text.len();
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rules::pattern::GlobPattern;

    fn message(body: &str) -> Event {
        Event::from_value(json!({"content": {"body": body}})).unwrap()
    }

    #[test]
    fn a_pattern_is_marked_by_what_must_be_in_the_text() {
        for (pattern, mark) in [
            ("Cake", Some("cake")),
            ("piece of cake", Some("piece")),
            ("c++", Some("c")),
            ("*cake", None),
            ("cake*", None),
            ("c?ke", None),
            ("foo *bar", Some("foo")),
            ("a* bread *", Some("bread")),
            ("тест", Some("тест")),
            ("тестирование", Some("тест")),
            ("тест*", Some("тест")),
            ("*🎂*", Some("🎂")),
            ("*x y*", Some(" ")),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(IndexKey::of_pattern(pattern), mark.map(IndexKey::text), "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_text_that_a_pattern_is_in_has_the_patterns_mark(
            pattern in "[abé +*?\n]{0,6}",
            body in "[abAé +\n]{0,14}",
        ) {
            let event = message(&body);
            let found = event.body().is_some_and(|body| GlobPattern::new(&pattern).is_word_of(body));
            if found && let Some(mark) = IndexKey::of_pattern(&pattern) {
                prop_assert!(IndexKey::of_body(&event).contains(&mark));
            }
        }
    }
}
