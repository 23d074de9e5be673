//! Extracts paths from a source file with a minimal Rust parser.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::super::sources::is_word_char;

/// The paths in a source file, excluding test code.
#[derive(Debug, Default)]
pub(super) struct SourceFile {
    /// Paths in `use` declarations, expressions and types, with their lines. A path into another
    /// crate begins with `::` or with a name that is not declared here.
    pub paths: Vec<(Vec<String>, usize)>,
    /// The names that `use` declarations introduce, with their paths.
    pub names: BTreeMap<String, Vec<String>>,
    pub test_modules: Vec<String>,
}

/// A word, `::` or any other character.
#[derive(Debug)]
struct Token {
    text: String,
    line: usize,
}

type Tokens = Peekable<IntoIter<Token>>;

/// Consumes the next token if it has this text; returns whether it did.
fn consume(tokens: &mut Tokens, text: &str) -> bool {
    tokens.next_if(|token| token.text == text).is_some()
}

impl SourceFile {
    pub(super) fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let mut tokens = tokenize(text).into_iter().peekable();
        let mut follows_separator = false;
        while let Some(token) = tokens.next() {
            let is_separator = token.text == "::";
            match token.text.as_str() {
                "#" => file.skip_test_item(&mut tokens),
                "use" => file.read_use_tree(&mut tokens, &[]),
                text if text.starts_with(is_word_char) && !follows_separator => {
                    file.read_path(token, &mut tokens);
                }
                _ => {}
            }
            follows_separator = is_separator;
        }
        file
    }

    /// Skips the item after `#[cfg(test)]`, and records its name if it is a module. Other
    /// attributes have no effect.
    fn skip_test_item(&mut self, tokens: &mut Tokens) {
        if !["[", "cfg", "(", "test", ")", "]"].iter().all(|text| consume(tokens, text)) {
            return;
        }
        let mut depth = 0;
        while let Some(token) = tokens.next() {
            match token.text.as_str() {
                "mod" if depth == 0 => {
                    self.test_modules.extend(tokens.peek().map(|name| name.text.clone()));
                }
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
        let line = tokens.peek().map_or(0, |token| token.line);
        let mut path = prefix.to_vec();
        if consume(tokens, "::") {
            path.push("::".to_owned());
        }
        while let Some(Token { text, .. }) = tokens.next() {
            match text.as_str() {
                "{" => {
                    while tokens.peek().is_some_and(|token| token.text != "}") {
                        self.read_use_tree(tokens, &path);
                        consume(tokens, ",");
                    }
                    tokens.next();
                    return;
                }
                "*" => break,
                // `a::{self}` names `a`.
                "self" if !path.is_empty() => {}
                _ => path.push(text),
            }
            if !consume(tokens, "::") {
                break;
            }
        }
        let alias = consume(tokens, "as").then(|| tokens.next()).flatten().map(|token| token.text);
        if let Some(name) = alias.or_else(|| path.last().cloned()) {
            // `use name;` re-exports a macro that is defined in the same file.
            if path != [name.clone()] {
                self.names.insert(name, path.clone());
            }
        }
        self.paths.push((path, line));
    }

    /// Reads the rest of a path in an expression or type. A single name is not recorded.
    fn read_path(&mut self, first: Token, tokens: &mut Tokens) {
        let mut path = vec![first.text];
        while consume(tokens, "::") {
            let is_name = |token: &Token| token.text.starts_with(is_word_char);
            let Some(name) = tokens.next_if(is_name) else { break };
            path.push(name.text);
        }
        if path.len() > 1 {
            self.paths.push((path, first.line));
        }
    }
}

/// Splits source text into words, `::` and other characters, without comments and literals.
fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens = vec![];
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let mut is_token = false;
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string_literal_length(rest) {
            length
        } else if first == '\'' {
            char_literal_length(rest)
        } else {
            is_token = !first.is_whitespace();
            if is_word_char(first) {
                rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            }
        };
        let (token, tail) = rest.split_at(length);
        if is_token {
            tokens.push(Token { text: token.to_owned(), line });
        }
        line += token.matches('\n').count();
        rest = tail;
    }
    tokens
}

fn string_literal_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - body.len();
    if let Some(raw) = body.strip_prefix('r') {
        let quoted = raw.trim_start_matches('#');
        let hash_count = raw.len() - quoted.len();
        let content = quoted.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hash_count));
        let length = content.find(&end).map_or(content.len(), |index| index + end.len());
        return Some(prefix + 1 + hash_count + 1 + length);
    }
    let content = body.strip_prefix('"').filter(|_| prefix <= 1)?;
    let mut is_escaped = false;
    let end = content.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    Some(prefix + 1 + end.map_or(content.len(), |end| end + 1))
}

/// Returns the length of the character literal at the start of the text, or 1 for a lifetime.
fn char_literal_length(text: &str) -> usize {
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

    #[test]
    fn paths_in_code_are_read_with_their_lines() {
        for (text, expected) in [
            (
                "pub(crate) use crate::a::{self, B,\n c::{D as E, *}, f::g::H,}; use super::x;",
                "crate::a 1, crate::a::B 1, crate::a::c::D 2, crate::a::c 2, crate::a::f::g::H 2, super::x 2",
            ),
            (
                "fn f(&self) -> crate::a::B { super::c::d(self.x); self::e::<F>::g(); h::i() }",
                "crate::a::B 1, super::c::d 1, self::e 1, h::i 1",
            ),
            ("//! Doc.\nconst X: &str = \"\n\";\nx(c::d)", "c::d 4"),
            ("use ::redis::{Client, cmd};", "::::redis::Client 1, ::::redis::cmd 1"),
            (
                r##"r#"crate::"b"# b"crate::c" '"' '\'' b'\\' 'x' /* crate::e */ &'static crate::f::G
                "\" crate::h" '\u{1F600}' crate::i::J // crate::d"##,
                "crate::f::G 1, crate::i::J 2",
            ),
        ] {
            let paths = SourceFile::parse(text).paths;
            let paths: Vec<String> =
                paths.iter().map(|(path, line)| format!("{} {line}", path.join("::"))).collect();
            assert_eq!(paths.join(", "), expected, "{text}");
        }
    }
}
