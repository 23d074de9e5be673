//! Dotted keys: the path to a property of an event.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a property stands: the names of the objects around it, and its own.
///
/// In text the names are joined by dots. `\.` is a dot and `\\` a backslash within a name; any
/// other backslash stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PropertyPath {
    parts: Box<[Box<str>]>,
    trace: Trace,
}

/// A number for a path. Equal paths have the same; that different ones differ is likely, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Trace(u64);

impl Trace {
    /// The path that leads nowhere: to the event itself.
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn number(self) -> u64 {
        self.0
    }

    /// One name further.
    pub(super) fn then(self, name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        // The factor is 2^64 divided by the golden ratio, which scatters well.
        Self((self.0.rotate_left(7) ^ hasher.finish()).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The trace of a value at this path.
    pub(super) fn mixed_with<T: Hash + ?Sized>(self, value: &T) -> Self {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        value.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl PropertyPath {
    /// Reads a dotted key. Every text is one; a name may be empty.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '.' {
                parts.push(String::new());
                continue;
            }
            let escaped = match character {
                '\\' => characters.next_if(|next| matches!(next, '.' | '\\')),
                _ => None,
            };
            if let Some(part) = parts.last_mut() {
                part.push(escaped.unwrap_or(character));
            }
        }
        Self::from_parts(parts.into_iter().map(String::into_boxed_str).collect())
    }

    fn from_parts(parts: Box<[Box<str>]>) -> Self {
        let trace = parts.iter().fold(Trace::ROOT, |trace, part| trace.then(part));
        Self { parts, trace }
    }

    /// The names, from the outside in.
    #[must_use]
    pub fn parts(&self) -> &[Box<str>] {
        &self.parts
    }

    pub(super) fn trace(&self) -> Trace {
        self.trace
    }

    /// Whether these are the names.
    pub(super) fn is(&self, parts: &[&str]) -> bool {
        self.parts.iter().map(|part| &**part).eq(parts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_cut_at_the_dots_that_are_not_escaped() {
        for (text, parts) in [
            ("m", &["m"][..]),
            ("m.foo", &["m", "foo"]),
            ("m.foo.bar", &["m", "foo", "bar"]),
            (r"m\.foo", &["m.foo"]),
            (r"m\\.foo", &[r"m\", "foo"]),
            (r"m\\\.foo", &[r"m\.foo"]),
            (r"m\\\\.foo", &[r"m\\", "foo"]),
            (r"m\foo", &[r"m\foo"]),
            (r"m\\foo", &[r"m\foo"]),
            (r"m\\\foo", &[r"m\\foo"]),
            (r"m\\\\foo", &[r"m\\foo"]),
            (r"m.foo\", &["m", r"foo\"]),
            (r"m.foo\\", &["m", r"foo\"]),
            (r"m.foo\.", &["m", "foo."]),
            (r"m.foo\\.", &["m", r"foo\", ""]),
            (r"m.foo\\\.", &["m", r"foo\."]),
            (".m", &["", "m"]),
            ("..m", &["", "", "m"]),
            ("m.", &["m", ""]),
            ("m..", &["m", "", ""]),
            ("m..foo", &["m", "", "foo"]),
            ("", &[""]),
            (".", &["", ""]),
            (r"content.m\.mentions.user_ids", &["content", "m.mentions", "user_ids"]),
        ] {
            assert!(
                PropertyPath::new(text).is(parts),
                "{text} is {:?}",
                PropertyPath::new(text).parts()
            );
        }
    }

    #[test]
    fn a_redundant_escape_does_not_make_another_key() {
        assert_eq!(PropertyPath::new(r"a\b"), PropertyPath::new(r"a\\b"));
        assert_ne!(PropertyPath::new(r"a\.b"), PropertyPath::new("a.b"));
    }
}
