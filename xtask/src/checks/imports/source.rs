//! The paths in a source file, found with a parser for the small part of Rust that this needs.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::super::sources::is_word;

/// The paths in a source file, without its test code.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Paths of `use` declarations, and other paths that begin with `crate`, `self` or `super`.
    pub paths: Vec<Vec<String>>,
    /// The names that `use` declarations introduce, with their paths.
    pub names: BTreeMap<String, Vec<String>>,
    /// The modules that are declared with `#[cfg(test)]`.
    pub test_modules: Vec<String>,
}

type Tokens = Peekable<IntoIter<String>>;

impl Source {
    pub(super) fn parse(text: &str) -> Self {
        let mut source = Self::default();
        let mut tokens = tokenize(text).into_iter().peekable();
        let mut previous = String::new();
        while let Some(token) = tokens.next() {
            match token.as_str() {
                "#" => source.skip_test_item(&mut tokens),
                "use" => source.read_use_tree(&mut tokens, &[]),
                "crate" | "self" | "super" if previous != "::" => {
                    source.read_path(&token, &mut tokens);
                }
                _ => {}
            }
            previous = token;
        }
        source
    }

    /// Skips the item after `#[cfg(test)]`; other attributes have no effect.
    fn skip_test_item(&mut self, tokens: &mut Tokens) {
        for expected in ["[", "cfg", "(", "test", ")", "]"] {
            if tokens.next_if(|token| token == expected).is_none() {
                return;
            }
        }
        let mut depth = 0;
        while let Some(token) = tokens.next() {
            match token.as_str() {
                "mod" if depth == 0 => self.test_modules.extend(tokens.peek().cloned()),
                "{" => depth += 1,
                "}" if depth == 1 => return,
                "}" => depth -= 1,
                ";" if depth == 0 => return,
                _ => {}
            }
        }
    }

    /// Reads `a::b`, `a::{b, c as d}` or `a::*` after a prefix.
    fn read_use_tree(&mut self, tokens: &mut Tokens, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            match tokens.next().as_deref() {
                Some("{") => {
                    while tokens.peek().is_some_and(|token| token != "}") {
                        self.read_use_tree(tokens, &path);
                        tokens.next_if(|token| token == ",");
                    }
                    tokens.next();
                    return;
                }
                Some("*") | None => break,
                Some("::") => {}
                // `a::{self}` names `a`.
                Some("self") if !path.is_empty() => {}
                Some(name) => path.push(name.to_owned()),
            }
            if tokens.next_if(|token| token == "::").is_none() {
                break;
            }
        }
        let alias = tokens.next_if(|token| token == "as").and_then(|_| tokens.next());
        if let Some(name) = alias.or_else(|| path.last().cloned()) {
            self.names.insert(name, path.clone());
        }
        self.paths.push(path);
    }

    /// Reads the rest of a path in an expression or type.
    fn read_path(&mut self, first: &str, tokens: &mut Tokens) {
        let mut path = vec![first.to_owned()];
        while tokens.next_if(|token| token == "::").is_some() {
            let is_name = |token: &String| token.starts_with(is_word);
            let Some(name) = tokens.next_if(is_name) else { break };
            path.push(name);
        }
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

/// Splits source text into words, `::` and other characters, without comments and literals.
fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string_length(rest) {
            length
        } else if first == '\'' {
            char_length(rest)
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of the string literal at the start of the text.
fn string_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - body.len();
    if let Some(raw) = body.strip_prefix('r') {
        let quoted = raw.trim_start_matches('#');
        let hashes = raw.len() - quoted.len();
        let content = quoted.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = content.find(&end).map_or(content.len(), |at| at + end.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    let content = body.strip_prefix('"').filter(|_| prefix <= 1)?;
    let mut escaped = false;
    let end = content.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(prefix + 1 + end.map_or(content.len(), |end| end + 1))
}

/// Returns the length of the character literal at the start of the text, or 1 for a lifetime.
fn char_length(text: &str) -> usize {
    let content = &text[1..];
    if content.starts_with('\\') {
        return content[2..].find('\'').map_or(1, |end| end + 4);
    }
    match content.char_indices().nth(1) {
        Some((end, '\'')) => end + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        Source::parse(text).paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn use_trees_are_read() {
        let text = "pub(crate) use crate::a::{self, B, c::{D as E, *}, f::g::H,}; use super::x;";
        let expected = [
            "crate::a",
            "crate::a::B",
            "crate::a::c::D",
            "crate::a::c",
            "crate::a::f::g::H",
            "super::x",
        ];
        assert_eq!(paths(text), expected);
        assert!(Source::parse(text).names.contains_key("E"));
    }

    #[test]
    fn paths_in_code_are_read() {
        let text = "fn f(&self) -> crate::a::B { super::c::d(self.x); self::e::<F>::g() }";
        assert_eq!(paths(text), ["crate::a::B", "super::c::d", "self::e"]);
    }

    #[test]
    fn literals_and_comments_are_skipped() {
        let text = r##"
            "crate::a" r#"crate::"b"# b"crate::c" '"' '\'' b'\\' 'x' // crate::d
            /* crate::e */ &'static crate::f::G "\" crate::h" '\u{1F600}' crate::i::J
        "##;
        assert_eq!(paths(text), ["crate::f::G", "crate::i::J"]);
    }
}
