//! Index keys: hashes of what an event must contain for a rule to match: a property value, a user
//! id, or a word or non-word run of the message text.
//!
//! A key only selects candidates, which are then evaluated, so a hash collision has no effect on
//! the result.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::rules::event::{BODY_PATH, Event, PropertyPath};
use crate::rules::pattern::{SearchText, is_word_byte, lower};
use crate::rules::{Condition, ConditionKind};

/// The hash of a part that an event must have for a rule to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::rules) struct IndexKey(u64);

/// Maximum number of characters that a key takes from a run of non-word characters.
const MAX_RUN_CHARS: usize = 4;

impl IndexKey {
    /// The key of rules whose conditions have no key. Every event has it.
    pub(super) const ALWAYS: Self = Self(0);

    fn for_text(lowercase: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        lowercase.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the key for a value at a path, given a hasher that has consumed the path. Strings
    /// that differ only in case have the same key.
    fn for_value(mut path_hasher: DefaultHasher, value: &Value) -> Self {
        match value {
            Value::String(text) => lower(text).hash(&mut path_hasher),
            value => value.hash(&mut path_hasher),
        }
        Self(path_hasher.finish())
    }

    /// Returns the key for a user id, ignoring case.
    pub(super) fn for_user_id(id: &str) -> Self {
        Self::for_text(&lower(id))
    }

    /// Returns the key for a rule with `conditions`: among the keys of all conditions, the one
    /// estimated to occur in the fewest events.
    pub(super) fn for_rule(conditions: &[Condition]) -> Option<Self> {
        let keys = conditions.iter().filter_map(|condition| Self::for_condition(&condition.kind));
        keys.min_by_key(|(frequency, _)| *frequency).map(|(_, key)| key)
    }

    fn for_condition(condition: &ConditionKind) -> Option<(Frequency, Self)> {
        let (path, value) = match condition {
            ConditionKind::EventMatch { key, pattern }
                if PropertyPath::parse(key) == *BODY_PATH =>
            {
                return Some((Frequency::Word, Self::for_pattern(pattern)?));
            }
            ConditionKind::EventMatch { pattern, .. } if pattern.contains(['*', '?']) => {
                return None;
            }
            ConditionKind::EventMatch { key, pattern } => (key, json!(pattern)),
            ConditionKind::EventPropertyIs { key, value }
            | ConditionKind::EventPropertyContains { key, value } => (key, json!(value)),
            _ => return None,
        };
        let is_type_property = matches!(path.as_str(), "type" | "content.msgtype");
        let frequency = if is_type_property { Frequency::Type } else { Frequency::Value };
        let mut hasher = DefaultHasher::new();
        for name in PropertyPath::parse(path).names() {
            name.hash(&mut hasher);
        }
        Some((frequency, Self::for_value(hasher, &value)))
    }

    /// Returns the key for a pattern that is searched for in the message text: its longest word
    /// that must be a whole word of the text, or else the start of a run of non-word characters. A
    /// pattern with neither has no key.
    pub(super) fn for_pattern(pattern: &str) -> Option<Self> {
        Self::for_text_search(&lower(pattern), &['*', '?'])
    }

    /// Returns the key for text that is searched for literally, without wildcards.
    pub(super) fn for_literal(literal: &str) -> Option<Self> {
        Self::for_text_search(&lower(literal), &[])
    }

    fn for_text_search(lowercase: &str, wildcards: &[char]) -> Option<Self> {
        let mut longest_word: Option<&str> = None;
        let mut first_non_word_run: Option<&str> = None;
        for run in split_runs(lowercase) {
            let before = &lowercase[..run.start];
            let after = &lowercase[run.start + run.text.len()..];
            if !run.is_word {
                first_non_word_run = first_non_word_run
                    .or_else(|| run.text.split(wildcards).find(|part| !part.is_empty()));
            } else if !before.ends_with(wildcards)
                && !after.starts_with(wildcards)
                && longest_word.is_none_or(|word| word.len() < run.text.len())
            {
                longest_word = Some(run.text);
            }
        }
        let prefix_end =
            |run: &str| run.char_indices().nth(MAX_RUN_CHARS).map_or(run.len(), |(end, _)| end);
        let run_prefix = || first_non_word_run.map(|run| &run[..prefix_end(run)]);
        longest_word.or_else(run_prefix).map(Self::for_text)
    }

    /// Returns the position of the key in the filter of [`EventKeys`].
    fn filter_index(self) -> usize {
        usize::try_from(self.0 % u64::from(FILTER_LENGTH)).expect("the remainder is small")
    }

    /// Returns the keys of all words in the message text, and of all substrings of non-word runs up
    /// to `MAX_RUN_CHARS` characters. They include the key of every matching pattern that has one.
    pub(in crate::rules) fn all_in_body(event: &Event) -> Vec<Self> {
        let mut keys = Vec::new();
        for run in split_runs(event.body().map_or("", SearchText::as_lowercase)) {
            if run.is_word {
                keys.push(Self::for_text(run.text));
                continue;
            }
            for (start, _) in run.text.char_indices() {
                let rest = &run.text[start..];
                let ends = rest
                    .char_indices()
                    .map(|(offset, c)| offset + c.len_utf8())
                    .take(MAX_RUN_CHARS);
                keys.extend(ends.map(|end| Self::for_text(&rest[..end])));
            }
        }
        keys
    }
}

pub(in crate::rules) struct EventKeys {
    keys: Vec<IndexKey>,
    /// One flag per key modulo `FILTER_LENGTH`; excludes most absent keys without a binary search.
    filter: Vec<bool>,
}

const FILTER_LENGTH: u16 = 4096;

impl EventKeys {
    /// Combines the keys of an event's properties with the keys of its message text.
    pub(in crate::rules) fn new(event: &Event, body_keys: Vec<IndexKey>) -> Self {
        let mut keys = body_keys;
        keys.push(IndexKey::ALWAYS);
        add_property_keys(event.members(), &DefaultHasher::new(), &mut keys);
        keys.sort_unstable();
        let mut filter = vec![false; usize::from(FILTER_LENGTH)];
        for key in &keys {
            filter[key.filter_index()] = true;
        }
        Self { keys, filter }
    }

    /// Returns whether a rule with `conditions` might match, judging only by its key and condition
    /// kinds.
    pub(in crate::rules) fn can_match(&self, conditions: &[Condition]) -> bool {
        let is_unknown =
            |condition: &Condition| matches!(condition.kind, ConditionKind::Unknown { .. });
        !conditions.iter().any(is_unknown)
            && IndexKey::for_rule(conditions).is_none_or(|key| self.contains(key))
    }

    pub(super) fn contains(&self, key: IndexKey) -> bool {
        self.filter[key.filter_index()] && self.keys.binary_search(&key).is_ok()
    }
}

fn add_property_keys(
    properties: &Map<String, Value>,
    path_hasher: &DefaultHasher,
    keys: &mut Vec<IndexKey>,
) {
    for (name, value) in properties {
        let mut path_hasher = path_hasher.clone();
        name.hash(&mut path_hasher);
        let values = match value {
            Value::Object(inner) => {
                add_property_keys(inner, &path_hasher, keys);
                continue;
            }
            Value::Array(items) => items.as_slice(),
            value => std::slice::from_ref(value),
        };
        keys.extend(values.iter().map(|value| IndexKey::for_value(path_hasher.clone(), value)));
    }
}

/// The estimated share of events that have a key, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Frequency {
    Value,
    Word,
    Type,
}

/// A maximal run of word characters, or of non-word characters. Word characters are ASCII letters,
/// digits and `_`; Cyrillic text is therefore a non-word run.
struct TextRun<'a> {
    start: usize,
    text: &'a str,
    is_word: bool,
}

fn split_runs(text: &str) -> impl Iterator<Item = TextRun<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let is_word = is_word_byte(*rest.as_bytes().first()?);
        let end = rest.bytes().position(|byte| is_word_byte(byte) != is_word);
        let run = TextRun { start, text: &rest[..end.unwrap_or(rest.len())], is_word };
        start += run.text.len();
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rules::pattern::GlobPattern;
    use crate::rules::work::UserWorkBudget;

    fn message(body: &str) -> Event {
        Event::from_value(json!({"content": {"body": body}})).unwrap()
    }

    #[test]
    fn a_pattern_key_is_a_part_that_must_be_in_the_text() {
        for (pattern, key) in [
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
            assert_eq!(IndexKey::for_pattern(pattern), key.map(IndexKey::for_text), "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn text_that_matches_a_pattern_has_its_key(
            pattern in "[abé +*?\n]{0,6}",
            body in "[abAé +\n]{0,14}",
        ) {
            let event = message(&body);
            let glob = GlobPattern::new(&pattern);
            let work = UserWorkBudget::unlimited();
            let is_match = event.body().is_some_and(|body| glob.matches_word(body, &work));
            if is_match && let Some(key) = IndexKey::for_pattern(&pattern) {
                prop_assert!(IndexKey::all_in_body(&event).contains(&key));
            }
        }
    }
}
