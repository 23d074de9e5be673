//! References from the documents to the source: files and tests must exist.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::{fs, io};

use super::sources::{files_in, is_word, rust_files_in};
use crate::cargo;

const DOCUMENTS: &[&str] = &["CONTRIBUTING.md", "README.md", "SECURITY.md", "docs"];

/// The document whose tables name tests.
const THREAT_MODEL: &str = "docs/threat-model.md";

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut findings = vec![];
    for path in DOCUMENTS {
        let is_markdown = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "md");
        for file in files_in(&cargo::root().join(path))?.into_iter().filter(is_markdown) {
            let name = file.strip_prefix(cargo::root())?.display().to_string();
            let text = fs::read_to_string(&file)?;
            let dir = file.parent().unwrap_or(cargo::root());
            let paths = source_paths(&text).map(|path| cargo::root().join(path));
            let links = link_targets(&text).map(|path| dir.join(path));
            for path in paths.chain(links).filter(|path| !path.exists()) {
                findings.push(format!("{name}: {} does not exist", path.display()));
            }
        }
    }
    let tests = test_functions()?;
    let text = fs::read_to_string(cargo::root().join(THREAT_MODEL))?;
    let missing = named_tests(&text).filter(|name| !tests.contains(*name));
    findings.extend(missing.map(|name| format!("{THREAT_MODEL}: there is no test {name}")));
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.is_empty())
}

/// Returns the code spans of one line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the paths below the packages and `docs` that the text names.
fn source_paths(text: &str) -> impl Iterator<Item = &str> {
    let roots = [
        "bench/",
        "core/",
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
        .filter(|span| span.chars().all(|c| is_word(c) || "/.-".contains(c)))
}

/// Returns the relative targets of Markdown links, without anchors.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://"))
        .filter_map(|target| target.split('#').next())
        .filter(|target| !target.is_empty())
}

/// Returns the test names in the last column of the tables.
fn named_tests(text: &str) -> impl Iterator<Item = &str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.filter_map(|row| row.rsplit('|').next()).flat_map(code_spans)
}

/// Returns the names of all functions in test code.
fn test_functions() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let dirs = [
        "core",
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
                names.insert(function.chars().take_while(|&c| is_word(c)).collect());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_source_are_found() {
        let text = "`core/src/lib.rs` and `server/src/http/`, not `src/x.rs` or `server/{a,b}`\n`docs/x-y.md`";
        let paths: Vec<_> = source_paths(text).collect();
        assert_eq!(paths, ["core/src/lib.rs", "server/src/http/", "docs/x-y.md"]);
    }

    #[test]
    fn relative_links_are_found() {
        let text = "[a](a.md), [b](../b.md#c), [d](#e), [f](https://example.org/)";
        assert_eq!(link_targets(text).collect::<Vec<_>>(), ["a.md", "../b.md"]);
    }

    #[test]
    fn tests_are_named_in_tables() {
        let text = "`not_in_a_table`\n| `redirect_uri` | `a_code_is_redeemed_once` |\n";
        assert_eq!(named_tests(text).collect::<Vec<_>>(), ["a_code_is_redeemed_once"]);
    }

    #[test]
    fn test_functions_are_found() {
        assert!(test_functions().unwrap().contains("test_functions_are_found"));
    }
}
