//! The crates that the binary contains, as cargo reports them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{PackagingError, programs};

/// The crates of the binary by name and version.
#[derive(Debug)]
pub(crate) struct BinaryCrates(pub(crate) BTreeMap<CrateId, Crate>);

/// Name and version.
pub(crate) type CrateId = (String, String);

/// A crate that is compiled into the binary.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    /// An SPDX expression.
    pub(crate) licence: String,
    /// The SHA-256 checksum in `Cargo.lock`; crates of this repository have none.
    pub(crate) checksum: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) source_dir: PathBuf,
    pub(crate) dependencies: BTreeSet<CrateId>,
}

impl BinaryCrates {
    /// Reads `belfry` and its dependencies on this platform, without those of build scripts, macros
    /// and tests, which are not part of the binary.
    pub(crate) fn read(root: &Path) -> Result<Self, PackagingError> {
        let run_cargo = |arguments: &[&str]| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            programs::run(Command::new(cargo).args(arguments).current_dir(root))
        };
        let edges = "normal,no-proc-macro";
        let tree_arguments =
            ["tree", "--locked", "--quiet", "--package", "belfry", "--edges", edges];
        let tree = run_cargo(
            &[&tree_arguments[..], &["--prefix", "depth", "--format", "\t{p}"]].concat(),
        )?;
        let mut crates = parse_tree(&tree);

        let version = run_cargo(&["--version", "--verbose"])?;
        let host = version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .ok_or("cargo --version does not report a host")?;
        let metadata_arguments =
            ["metadata", "--format-version=1", "--locked", "--filter-platform", host];
        let metadata: Value = serde_json::from_str(&run_cargo(&metadata_arguments)?)?;
        for package in metadata["packages"].as_array().into_iter().flatten() {
            let string_field = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
            if let Some(entry) = crates.get_mut(&(string_field("name"), string_field("version"))) {
                // In old manifests, a slash separates alternatives.
                entry.licence = string_field("license").replace('/', " OR ");
                entry.repository = package["repository"].as_str().map(str::to_owned);
                entry.source_dir = PathBuf::from(string_field("manifest_path"));
                entry.source_dir.pop();
            }
        }
        for (id, checksum) in parse_checksums(&fs::read_to_string(root.join("Cargo.lock"))?) {
            if let Some(entry) = crates.get_mut(&id) {
                entry.checksum = Some(checksum);
            }
        }
        match crates.iter().find(|(_, entry)| entry.licence.is_empty()) {
            Some(((name, version), _)) => Err(format!("{name} {version} has no licence").into()),
            None => Ok(Self(crates)),
        }
    }
}

/// Parses the output of `cargo tree`: lines `DEPTH<TAB>NAME vVERSION …`. A repeated crate is listed
/// without its dependencies.
fn parse_tree(tree: &str) -> BTreeMap<CrateId, Crate> {
    let mut crates: BTreeMap<CrateId, Crate> = BTreeMap::new();
    let mut ancestors: Vec<CrateId> = vec![];
    for line in tree.lines() {
        let Some((depth, package)) = line.split_once('\t') else { continue };
        let mut words = package.split(' ');
        let (Ok(depth), Some(name), Some(version)) =
            (depth.parse::<usize>(), words.next(), words.next())
        else {
            continue;
        };
        let id = (name.to_owned(), version.trim_start_matches('v').to_owned());
        ancestors.truncate(depth);
        if let Some(parent) = ancestors.last().and_then(|parent| crates.get_mut(parent)) {
            parent.dependencies.insert(id.clone());
        }
        crates.entry(id.clone()).or_default();
        ancestors.push(id);
    }
    crates
}

/// Parses the checksums in `Cargo.lock`.
fn parse_checksums(lock: &str) -> impl Iterator<Item = (CrateId, String)> {
    lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key));
            Some(line?.strip_prefix(" = ")?.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str, version: &str) -> CrateId {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn the_depth_of_a_line_determines_its_parent() {
        let tree = "0\ta v1.0.0 (/src/a)\n1\tb v2.0.0\n2\tc v3.0.0\n1\tc v3.0.0\n1\tb v1.0.0 (*)\n";
        let crates = parse_tree(tree);
        let dependency_ids =
            |name, version| crates[&id(name, version)].dependencies.iter().collect::<Vec<_>>();
        assert_eq!(
            dependency_ids("a", "1.0.0"),
            [&id("b", "1.0.0"), &id("b", "2.0.0"), &id("c", "3.0.0")]
        );
        assert_eq!(dependency_ids("b", "2.0.0"), [&id("c", "3.0.0")]);
        assert_eq!(dependency_ids("c", "3.0.0").len(), 0);
    }

    #[test]
    fn checksums_are_found_by_name_and_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\n\
                    name = \"b\"\nversion = \"2.0.0\"\nsource = \"registry\"\nchecksum = \"abc\"\n";
        let checksums: Vec<_> = parse_checksums(lock).collect();
        assert_eq!(checksums, [(id("b", "2.0.0"), "abc".to_owned())]);
    }
}
