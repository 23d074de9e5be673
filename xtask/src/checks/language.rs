//! Words and phrases that the project does not use in names and prose, because established terms
//! exist or because they sound translated.

use std::error::Error;
use std::fs;

use super::sources::{contains_word, files_in};
use crate::cargo;

/// Files and directories that are checked.
const CHECKED_PATHS: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bench",
    "core",
    "delivery",
    "docs",
    "fuzz/src",
    "fuzz/tests",
    "limits",
    "packaging",
    "runtime",
    "server/examples",
    "server/locales/en.ftl",
    "server/openapi",
    "server/src",
    "server/tests",
    "store/migrations",
    "store/src",
    "store/tests",
    "test-engines",
    "torture",
    "xtask/schemathesis",
    "xtask/src",
];

/// Exceptions: files and directories that contain data, or the words themselves.
const EXEMPT_PATHS: &[&str] = &[
    "core/proptest-regressions",
    "core/src/account/common.txt",
    "store/tests/it/statements",
    "xtask/src/checks/language.rs",
];

/// The words, in lower case, with a suggestion.
const AVOIDED_WORDS: &[(&str, &str)] = &[
    ("told", "reported, returned, notified"),
    ("heed", "process"),
    ("overheard", "recorded"),
    ("forgettings", "invalidations"),
    ("entrant", "client"),
    ("shelf", "index"),
    ("seat", "slot"),
    ("believe", "trust, enable"),
    ("let_in", "sign_in, authorize"),
    ("let in", "sign in, authorize"),
    ("lay over", "override, merge"),
    ("lays over", "overrides, merges"),
];

/// Phrases in prose and names, in lower case, with a suggestion.
const AVOIDED_PHRASES: &[(&str, &str)] = &[
    ("a text", "text, a message, a string"),
    ("also if", "even if"),
    ("also when", "even when"),
    ("also while", "even while"),
    ("at once", "immediately, at the same time"),
    ("beside", "alongside, next to, with"),
    ("stranger", "unauthenticated client, anyone on the network"),
    ("strangers", "unauthenticated clients, anyone on the network"),
    ("texts", "text, messages, strings"),
];

/// First words of doc comments, with a suggestion.
const AVOIDED_OPENINGS: &[(&str, &str)] = &[
    ("How", "the noun"),
    ("The same", "Returns a copy with …"),
    ("What", "the noun"),
    ("Where", "the noun"),
    ("Whether", "True if …, Returns whether …"),
    ("Which", "the noun"),
    ("Who", "the noun"),
];

/// A line number, the words found there, and a suggestion.
type Finding = (usize, &'static str, &'static str);

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut finding_count = 0;
    for path in CHECKED_PATHS {
        finding_count += check_files(path)?;
    }
    Ok(finding_count == 0)
}

/// Prints the findings in a file or directory and returns their number.
fn check_files(path: &str) -> Result<usize, Box<dyn Error>> {
    let mut count = 0;
    for file in files_in(&cargo::root().join(path))? {
        let relative_path = file.strip_prefix(cargo::root())?;
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if EXEMPT_PATHS.iter().any(|exempt| relative_path.starts_with(exempt)) {
            continue;
        }
        for (line, words, suggestion) in find_in_text(&text) {
            println!("{}:{line}: \"{words}\"; write {suggestion}", relative_path.display());
            count += 1;
        }
    }
    Ok(count)
}

fn find_in_text(text: &str) -> Vec<Finding> {
    // The words of a name are prose too.
    let prose = text.replace('_', " ");
    let mut findings =
        [find_listed(text, AVOIDED_WORDS), find_listed(&prose, AVOIDED_PHRASES)].concat();
    let mut is_continued = false;
    for (number, (line, prose)) in (1..).zip(text.lines().zip(prose.lines())) {
        let code = line.trim_start();
        let comment = code.strip_prefix("/// ").or_else(|| code.strip_prefix("//! "));
        if let (false, Some((words, suggestion))) = (is_continued, comment.and_then(find_opening)) {
            findings.push((number, words, suggestion));
        }
        is_continued = code.starts_with("///") || code.starts_with("//!");
        if line.contains("fn of(") {
            findings.push((number, "fn of", "from_…, new, describe"));
        }
        if contains_is_no(prose) {
            findings.push((number, "is no", "is not a …"));
        }
    }
    findings
}

/// Finds whole words of the list in any case.
fn find_listed(text: &str, list: &[(&'static str, &'static str)]) -> Vec<Finding> {
    let mut findings = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.to_lowercase();
        let matches = list.iter().filter(|(words, _)| contains_word(&line, words));
        findings.extend(matches.map(|&(words, suggestion)| (number, words, suggestion)));
    }
    findings
}

/// Finds a first word that a doc comment should not have.
fn find_opening(comment: &str) -> Option<(&'static str, &'static str)> {
    let is_opening =
        |words: &str| comment.strip_prefix(words).is_some_and(|rest| rest.starts_with([' ', ',']));
    AVOIDED_OPENINGS.iter().copied().find(|(words, _)| is_opening(words))
}

/// Returns whether the line says that something "is no X", except "there is no X" and "no longer".
fn contains_is_no(prose: &str) -> bool {
    let prose = prose.to_lowercase();
    prose.match_indices(" is no ").any(|(start, phrase)| {
        !prose[..start].ends_with("there") && !prose[start + phrase.len()..].starts_with("longer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line and the words of each finding.
    fn findings(text: &str) -> Vec<(usize, &'static str)> {
        find_in_text(text).into_iter().map(|(line, words, _)| (line, words)).collect()
    }

    #[test]
    fn the_listed_files_exist() {
        for path in [CHECKED_PATHS, EXEMPT_PATHS].concat() {
            assert!(cargo::root().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn whole_words_are_found_in_any_case_and_in_names() {
        let text = "a Seat\nseated, foretold\nfn let_in()\n";
        assert_eq!(findings(text), [(1, "seat"), (3, "let_in")]);
        let text = "Beside it\nbesides\nfn a_token_is_revoked_at_once()\nprint texts\na textbook";
        assert_eq!(findings(text), [(1, "beside"), (3, "at once"), (4, "texts")]);
    }

    #[test]
    fn a_doc_comment_does_not_open_with_a_question_word() {
        let text = "//! Which, if any.\n\n/// What it is.\nx\n    /// The same, but larger.\n";
        assert_eq!(findings(text), [(1, "Which"), (3, "What"), (5, "The same")]);
        for comment in [
            "/// Returns it.\n/// What follows is the second line.",
            "// Whether it is a plain comment.",
            "/// Whatever.",
        ] {
            assert_eq!(findings(comment), [], "{comment}");
        }
    }

    #[test]
    fn a_function_named_of_is_found() {
        assert_eq!(findings("pub fn of(x: u8) {}\nfn of_user(x: u8) {}"), [(1, "fn of")]);
    }

    #[test]
    fn a_negation_with_is_no_is_found() {
        assert_eq!(
            findings("which is no range\nfn it_is_no_range()"),
            [(1, "is no"), (2, "is no")]
        );
        assert_eq!(findings("there is no range\nit is no longer valid"), []);
    }
}
