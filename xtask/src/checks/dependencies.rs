//! Checks for unused dependencies, licences that are not allowed, banned crates, and crates that
//! are not from crates.io.
//!
//! The checks use `cargo tree` instead of cargo-deny and cargo-machete, which have no prebuilt
//! binaries for current versions of cargo in the registries and take minutes to compile.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::{fs, io};

use spdx::{Expression, ParseMode};

use super::sources::{contains_word, rust_files_in};
use crate::cargo;

/// Licences that are allowed for everything that the released binary contains.
const RELEASE_LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Licences that are also allowed for tests and tasks, which are not distributed.
const DEVELOPMENT_LICENCES: &[&str] = &["MPL-2.0", "NCSA"];

/// Crates that must not be used, with the reason.
const BANNED_CRATES: &[(&str, &str)] = &[
    ("native-tls", "TLS is rustls"),
    ("openssl", "TLS is rustls"),
    ("openssl-sys", "TLS is rustls; OpenSSL would have to be installed on the machine"),
];

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let list_options = ["--target", "all", "--prefix", "none"];
    let format = "{p}\t{l}";
    let released_packages =
        cargo_tree(&[&["-p", "belfry", "-e", "normal,build"], &list_options[..]].concat(), format)?;
    let all_packages =
        cargo_tree(&[&["--workspace", "--all-features"], &list_options[..]].concat(), format)?;
    let mut findings = BTreeSet::new();
    findings
        .extend(released_packages.lines().filter_map(|line| check_package(line, RELEASE_LICENCES)));
    let licences = [RELEASE_LICENCES, DEVELOPMENT_LICENCES].concat();
    findings.extend(all_packages.lines().filter_map(|line| check_package(line, &licences)));
    findings.extend(find_unused_dependencies()?);
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.is_empty())
}

fn cargo_tree(arguments: &[&str], format: &str) -> Result<String, Box<dyn Error>> {
    let mut command = cargo::command(&["tree", "--quiet", "--locked", "--format", format]);
    let output = command.args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Checks a line `name vVERSION (SOURCE)<TAB>LICENCE (*)` and returns the finding.
fn check_package(line: &str, licences: &[&str]) -> Option<String> {
    let (package, licence) = line.split_once('\t')?;
    let licence = licence.trim_end_matches(" (*)");
    let name = package.split(' ').next()?;
    if let Some((_, reason)) = BANNED_CRATES.iter().find(|(banned, _)| *banned == name) {
        return Some(format!("{package}: banned: {reason}"));
    }
    let source = package.split_once(" (").map_or("", |(_, source)| source.trim_end_matches(')'));
    if source.starts_with(&cargo::root().display().to_string()) {
        return None;
    }
    if !source.is_empty() && source != "proc-macro" {
        return Some(format!("{package}: not from crates.io"));
    }
    let is_allowed = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement.license.id().is_some_and(|id| licences.contains(&id.name))
        })
    });
    (!is_allowed).then(|| format!("{package}: licence {licence:?} is not allowed"))
}

/// Returns a finding for each direct dependency whose name occurs in no source file of its package.
fn find_unused_dependencies() -> Result<Vec<String>, Box<dyn Error>> {
    let options = ["--workspace", "--all-features", "--depth", "1", "--prefix", "depth"];
    let direct_dependencies = cargo_tree(&options, "{lib}\t{p}")?;
    let mut package = "";
    let mut source = String::new();
    let mut findings = vec![];
    for line in direct_dependencies.lines() {
        let (depth, rest) = line.split_at(line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
        let Some((name, package_id)) = rest.split_once('\t') else { continue };
        if depth == "0" {
            let dir = package_id
                .split_once(" (")
                .map_or("", |(_, path)| path.split(')').next().unwrap_or(""));
            package = package_id.split(' ').next().unwrap_or_default();
            source = read_sources(Path::new(dir))?;
        } else if !contains_word(&source, name) {
            findings.push(format!("{package}: unused dependency {name}"));
        }
    }
    Ok(findings)
}

fn read_sources(dir: &Path) -> io::Result<String> {
    let mut text = String::new();
    for part in ["src", "tests", "benches", "examples", "build.rs"] {
        for file in rust_files_in(&dir.join(part))? {
            text += &fs::read_to_string(file)?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_checked_for_licence_source_and_bans() {
        for (line, finding) in [
            ("serde v1.0.0\tMIT OR Apache-2.0", None),
            ("serde v1.0.0 (proc-macro)\tMIT/Apache-2.0 (*)", None),
            ("ring v0.17.0\tApache-2.0 AND ISC", None),
            ("wasi v0.1.0\tApache-2.0 WITH LLVM-exception", None),
            ("gpl v1.0.0\tGPL-3.0-only", Some("licence")),
            ("half v1.0.0\tMIT AND GPL-3.0-only", Some("licence")),
            ("none v1.0.0\t", Some("licence")),
            ("openssl-sys v0.9.0\tMIT", Some("banned")),
            ("serde v1.0.0 (https://example.org/serde#abc)\tMIT", Some("crates.io")),
        ] {
            let actual = check_package(line, RELEASE_LICENCES);
            assert_eq!(actual.is_some(), finding.is_some(), "{line}: {actual:?}");
            assert!(actual.unwrap_or_default().contains(finding.unwrap_or("")), "{line}");
        }
    }
}
