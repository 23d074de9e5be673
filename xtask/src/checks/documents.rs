//! Checks of the documents: the files, headings and tests that they name must exist.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::sources::{files_in, is_word_char, rust_files_in};
use crate::cargo;

const DOCUMENTS: &[&str] = &["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "docs"];

/// The document whose tables name tests.
const THREAT_MODEL: &str = "docs/threat-model.md";

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
    fn files_headings_and_tests_that_do_not_exist_are_found() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("docs/a");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("../up.md"), "# `a_b`: C-d (e), f/g?\n## Same\n## Same\n").unwrap();
        let file = dir.join("main.md");
        for (text, expected) in [
            ("# Main\n[a](../up.md#a_b-c-d-e-fg) [b](../up.md) [c](#main)", ""),
            ("[a](../up.md#same-1), [b](https://a.example/), `docs/up.md` `src/x`", ""),
            ("```sh\n[not](a.link)\n# no heading\n```", ""),
            ("[a](up.md)", "docs/a/main.md: up.md does not exist"),
            ("see `docs/x-y.md`", "docs/a/main.md: docs/x-y.md does not exist"),
            ("[a](../up.md#down)", "docs/a/main.md: ../up.md#down names no heading"),
            ("#no heading\n[a](#no-heading)", "docs/a/main.md: #no-heading names no heading"),
        ] {
            fs::write(&file, text).unwrap();
            let findings = check_document(root.path(), &file).unwrap();
            assert_eq!(findings.join("\n"), expected, "{text}");
        }
        let table = "`not_in_a_table`\n| `redirect_uri` | `a_code_is_redeemed_once` |\n";
        assert_eq!(named_tests(table).collect::<Vec<_>>(), ["a_code_is_redeemed_once"]);
        let tests = test_function_names().unwrap();
        assert!(tests.contains("files_headings_and_tests_that_do_not_exist_are_found"));
    }
}
