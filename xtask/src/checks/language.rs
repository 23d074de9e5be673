//! Words that the project does not use in names and prose, because established terms exist.

use std::error::Error;
use std::fs;

use super::sources::{contains_word, files_in};
use crate::cargo;

/// The files and directories that are checked.
const CHECKED: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "bench",
    "core",
    "docs",
    "fuzz/src",
    "packaging",
    "limits",
    "runtime",
    "server/src",
    "server/tests",
    "store/migrations",
    "store/src",
    "store/tests/it",
    "test-engines",
    "xtask/src/bench",
    "xtask/src/fuzz",
    "xtask/src/test",
];

/// The words, in lower case, with a suggestion.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, returned, notified"),
    ("heed", "process"),
    ("overheard", "recorded"),
    ("forgettings", "invalidations"),
    ("entrant", "client"),
    ("shelf", "index"),
    ("seat", "slot"),
    ("believe", "trust, enable"),
    ("let_in", "sign_in, authorize"),
    ("let in", "sign in, authorise"),
    ("lay over", "override, merge"),
    ("lays over", "overrides, merges"),
];

/// Lines of these files that contain the text are exempt: the published wire format.
const ALLOWED: &[(&str, &str)] = &[];

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut findings = 0;
    for path in CHECKED {
        for file in files_in(&cargo::root().join(path))? {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let name = file.strip_prefix(cargo::root())?.display().to_string();
            for (line, word, suggestion) in find_words(&name, &text) {
                println!("{name}:{line}: \"{word}\"; write {suggestion}");
                findings += 1;
            }
        }
    }
    Ok(findings == 0)
}

/// Returns the line number, word and suggestion of each finding.
fn find_words(name: &str, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut findings = vec![];
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let is_allowed = |(file, fragment): &(&str, &str)| name == *file && line.contains(fragment);
        if ALLOWED.iter().any(is_allowed) {
            continue;
        }
        let words = WORDS.iter().filter(|(word, _)| contains_word(&line, word));
        findings.extend(words.map(|&(word, suggestion)| (index + 1, word, suggestion)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found_in_any_case() {
        let text = "a Seat\nseated, foretold\nfn let_in()\n";
        let findings: Vec<_> =
            find_words("x", text).into_iter().map(|(line, word, _)| (line, word)).collect();
        assert_eq!(findings, [(1, "seat"), (3, "let_in")]);
    }
}
