//! Dotted paths to properties of an event.

/// The path to a property: the names of the enclosing objects, then its own name.
///
/// In text the names are joined by dots. Within a name `\.` is a dot and `\\` a backslash; a
/// backslash before any other character is literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyPath(Box<[Box<str>]>);

impl PropertyPath {
    /// Parses a dotted path. Every string is a valid path, because names may be empty.
    pub fn parse(text: &str) -> Self {
        let mut names = vec![String::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '.' {
                names.push(String::new());
                continue;
            }
            let escaped = match character {
                '\\' => characters.next_if(|next| matches!(next, '.' | '\\')),
                _ => None,
            };
            if let Some(name) = names.last_mut() {
                name.push(escaped.unwrap_or(character));
            }
        }
        Self(names.into_iter().map(String::into_boxed_str).collect())
    }

    /// Returns the allocated size in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0) + self.0.iter().map(|name| name.len()).sum::<usize>()
    }

    /// Returns the names, outermost first.
    pub fn names(&self) -> &[Box<str>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_unescaped_dots() {
        for (text, names) in [
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
            let path = PropertyPath::parse(text);
            assert!(path.names().iter().map(|name| &**name).eq(names.iter().copied()), "{path:?}");
        }
    }

    #[test]
    fn a_redundant_escape_does_not_change_the_path() {
        assert_eq!(PropertyPath::parse(r"a\b"), PropertyPath::parse(r"a\\b"));
        assert_ne!(PropertyPath::parse(r"a\.b"), PropertyPath::parse("a.b"));
    }
}
