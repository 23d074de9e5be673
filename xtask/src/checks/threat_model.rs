//! The threat model names a test for each threat; these tests must exist.

use std::collections::BTreeSet;
use std::error::Error;
use std::{fs, io};

use super::sources::{is_word, rust_files_in};
use crate::cargo;

const THREAT_MODEL: &str = "docs/threat-model.md";

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let Ok(text) = fs::read_to_string(cargo::root().join(THREAT_MODEL)) else { return Ok(true) };
    let functions = test_functions()?;
    let missing: Vec<&str> =
        named_tests(&text).into_iter().filter(|name| !functions.contains(*name)).collect();
    missing.iter().for_each(|name| println!("{THREAT_MODEL}: there is no test {name}"));
    Ok(missing.is_empty())
}

/// Returns the names in backticks that look like test functions: at least three words.
fn named_tests(text: &str) -> Vec<&str> {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let names = rows.flat_map(|line| line.split('`').skip(1).step_by(2));
    names.filter(|name| name.chars().all(is_word) && name.matches('_').count() >= 2).collect()
}

/// Returns the names of all functions in test code.
fn test_functions() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for dir in ["core", "fuzz", "server", "test-engines", "xtask"] {
        for file in rust_files_in(&cargo::root().join(dir))? {
            let text = fs::read_to_string(&file)?;
            let path = file.display().to_string();
            let is_test_file = path.contains("/tests/") || path.ends_with("/tests.rs");
            let start = if is_test_file { Some(0) } else { text.find("#[cfg(test)]") };
            let Some(start) = start else { continue };
            for rest in text[start..].split("fn ").skip(1) {
                names.insert(rest.chars().take_while(|&c| is_word(c)).collect());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_in_backticks_in_tables() {
        let text =
            "`not_in_a_table`\n| `redirect_uri` | threat | `a_code_is_redeemed_once`, `GET /x` |\n";
        assert_eq!(named_tests(text), ["a_code_is_redeemed_once"]);
    }

    #[test]
    fn test_functions_are_found() {
        assert!(test_functions().unwrap().contains("test_functions_are_found"));
    }
}
