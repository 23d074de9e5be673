//! Checks of the documents: the files, headings and tests that they name must exist, and no
//! document may be too long.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::sources::{files_in, is_word_char, rust_files_in};
use crate::cargo;

const DOCUMENTS: &[&str] = &["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "docs"];

/// The document whose tables name tests.
const THREAT_MODEL: &str = "docs/threat-model.md";

/// Maximum length of a document. A longer one is probably about more than one subject.
const MAX_LINES: usize = 500;

/// Documents that may be longer: a generated reference, and a history.
const LONG_DOCUMENTS: &[&str] = &["docs/api.md", "CHANGELOG.md"];

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut findings = vec![];
    for path in DOCUMENTS {
        let is_markdown =
            |file: &PathBuf| file.extension().is_some_and(|extension| extension == "md");
        for file in files_in(&cargo::root().join(path))?.into_iter().filter(is_markdown) {
            findings.extend(check_document(cargo::root(), &file)?);
        }
    }
    let tests = test_function_names()?;
    let text = fs::read_to_string(cargo::root().join(THREAT_MODEL))?;
    let missing_tests = named_tests(&text).filter(|name| !tests.contains(*name));
    findings.extend(missing_tests.map(|name| format!("{THREAT_MODEL}: there is no test {name}")));
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.is_empty())
}

/// Returns the findings about one document of the project in `root`.
fn check_document(root: &Path, file: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let name = file.strip_prefix(root)?.display().to_string();
    let text = fs::read_to_string(file)?;
    let mut findings = vec![];
    for path in source_paths(&text).filter(|path| !root.join(path).exists()) {
        findings.push(format!("{name}: {path} does not exist"));
    }
    for (path, anchor) in link_targets(&text) {
        let target = if path.is_empty() { file.to_owned() } else { file.with_file_name(path) };
        if !target.exists() {
            findings.push(format!("{name}: {path} does not exist"));
        } else if let Some(anchor) = anchor
            && !anchors(&fs::read_to_string(target)?).contains(anchor)
        {
            findings.push(format!("{name}: {path}#{anchor} names no heading"));
        }
    }
    let lines = text.lines().count();
    if lines > MAX_LINES && !LONG_DOCUMENTS.contains(&&*name) {
        findings.push(format!("{name}: {lines} lines; split it, at most {MAX_LINES} are allowed"));
    }
    Ok(findings)
}

/// Returns the strings in backticks on one line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the paths in the packages and in `docs` that the text names.
fn source_paths(text: &str) -> impl Iterator<Item = &str> {
    let roots = [
        "bench/",
        "core/",
        "delivery/",
        "docs/",
        "fuzz/",
        "limits/",
        "packaging/",
        "runtime/",
        "server/",
        "store/",
        "test-engines/",
        "torture/",
        "xtask/",
    ];
    text.lines()
        .flat_map(code_spans)
        .filter(move |span| roots.iter().any(|root| span.starts_with(root)))
        .filter(|span| span.chars().all(|c| is_word_char(c) || "/.-".contains(c)))
}

/// Returns the relative targets of Markdown links: path, which is empty for the document itself,
/// and anchor.
fn link_targets(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let links = prose_lines(text).flat_map(|line| line.split("](").skip(1));
    links.filter_map(|rest| rest.split(')').next()).filter(|target| !target.contains(':')).map(
        |target| {
            target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)))
        },
    )
}

/// Returns the lines outside code blocks.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the anchors that GitHub gives to the headings of a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = prose_lines(text).filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let to_anchor = |title: &str| {
        let anchor: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|&c| is_word_char(c) || c == '-' || c == ' ')
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let occurrences = counts.entry(anchor.clone()).or_default();
        *occurrences += 1;
        if *occurrences == 1 { anchor } else { format!("{anchor}-{}", *occurrences - 1) }
    };
    headings.map(to_anchor).collect()
}

/// Returns the test names in the last column of the tables.
fn named_tests(text: &str) -> impl Iterator<Item = &str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.filter_map(|row| row.rsplit('|').next()).flat_map(code_spans)
}

/// Returns the names of all functions in test code.
fn test_function_names() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let dirs = [
        "core",
        "delivery",
        "fuzz",
        "limits",
        "packaging",
        "runtime",
        "server",
        "store",
        "test-engines",
        "torture",
        "xtask",
    ];
    for dir in dirs {
        for file in rust_files_in(&cargo::root().join(dir))? {
            let text = fs::read_to_string(&file)?;
            let path = file.display().to_string();
            let is_test_file = path.contains("/tests/") || path.ends_with("/tests.rs");
            let start = if is_test_file { Some(0) } else { text.find("#[cfg(test)]") };
            for function in start.into_iter().flat_map(|start| text[start..].split("fn ").skip(1)) {
                names.insert(function.chars().take_while(|&c| is_word_char(c)).collect());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_paths_are_found() {
        let text = "`core/src/lib.rs` and `server/src/http/`, not `src/x.rs` or `server/{a,b}`\n`docs/x-y.md`";
        let paths: Vec<_> = source_paths(text).collect();
        assert_eq!(paths, ["core/src/lib.rs", "server/src/http/", "docs/x-y.md"]);
    }

    #[test]
    fn relative_links_are_found() {
        let text = "[a](a.md), [b](../b.md#c), [d](#e), [f](https://example.org/), [g](mailto:a@b)\n\
                    ```sh\n[not](a.link)\n```\n[h](h/)\n";
        let expected = [("a.md", None), ("../b.md", Some("c")), ("", Some("e")), ("h/", None)];
        assert_eq!(link_targets(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn anchors_are_derived_from_headings_as_github_does() {
        let text = "# `a_b`: C-d (e), f/g?\n## Same\n### Same\n#no heading\n\
                    ```sh\n# comment\n```\n## Über uns\n";
        let expected = ["a_b-c-d-e-fg", "same", "same-1", "über-uns"];
        assert_eq!(anchors(text).iter().collect::<Vec<_>>(), expected);
    }

    /// Returns the findings about a document `docs/a/main.md` with this text. `docs/a/other.md` and
    /// `docs/up.md` exist as well.
    fn findings(text: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("docs/a");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("../up.md"), "# Up\n").unwrap();
        fs::write(dir.join("other.md"), "# Other\n").unwrap();
        fs::write(dir.join("main.md"), text).unwrap();
        check_document(root.path(), &dir.join("main.md")).unwrap()
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let text = "# Main\n[a](other.md#other) [b](../up.md#up) [c](../up.md) [d](#main)\n";
        assert_eq!(findings(text), [""; 0]);
        assert_eq!(findings("[a](up.md)"), ["docs/a/main.md: up.md does not exist"]);
    }

    #[test]
    fn a_link_to_a_heading_that_does_not_exist_is_found() {
        let expected = [
            "docs/a/main.md: ../up.md#down names no heading",
            "docs/a/main.md: #here names no heading",
        ];
        assert_eq!(findings("[a](../up.md#down), [b](#here)"), expected);
    }

    #[test]
    fn a_long_document_is_found() {
        assert_eq!(findings(&"line\n".repeat(500)), [""; 0]);
        let expected = "docs/a/main.md: 501 lines; split it, at most 500 are allowed";
        assert_eq!(findings(&"line\n".repeat(501)), [expected]);
    }

    #[test]
    fn test_names_are_read_from_tables() {
        let text = "`not_in_a_table`\n| `redirect_uri` | `a_code_is_redeemed_once` |\n";
        assert_eq!(named_tests(text).collect::<Vec<_>>(), ["a_code_is_redeemed_once"]);
    }

    #[test]
    fn test_functions_are_found() {
        assert!(test_function_names().unwrap().contains("test_functions_are_found"));
    }
}
