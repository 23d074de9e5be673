//! `THIRD-PARTY-LICENSES.txt`: the licences of the crates that the binary contains.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::PackagingError;
use crate::dependencies::BinaryCrates;

/// Returns a list of all third-party crates with their licences, followed by each licence text with
/// the crates that it applies to.
pub(crate) fn list_third_party_licences(crates: &BinaryCrates) -> Result<String, PackagingError> {
    let mut list = "The belfry binary contains these libraries.\n\n".to_owned();
    let mut packages_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((name, version), dependency) in &crates.0 {
        // Skips the crates of this repository, whose licences are separate files.
        if dependency.checksum.is_none() {
            continue;
        }
        let package = format!("{name} {version}");
        writeln!(list, "{package}: {}", dependency.licence)?;
        for path in find_licence_files(&dependency.source_dir)? {
            let text = String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n");
            let packages = packages_by_text.entry(text.trim_end().to_owned()).or_default();
            if packages.last() != Some(&package) {
                packages.push(package.clone());
            }
        }
    }
    let separator = "-".repeat(80);
    for (text, packages) in packages_by_text {
        write!(list, "\n{separator}\n{}\n{separator}\n\n{text}\n", packages.join(", "))?;
    }
    Ok(list)
}

/// Returns the licence and notice files in a crate's source, including those of its C libraries.
fn find_licence_files(source: &Path) -> Result<Vec<PathBuf>, PackagingError> {
    const PREFIXES: [&str; 6] =
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    const NOT_COMPILED: [&str; 4] = ["BENCHES", "EXAMPLES", "TEST", "TESTS"];
    let mut files = vec![];
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_COMPILED.contains(&name.as_str()) {
            files.extend(find_licence_files(&entry.path())?);
            continue;
        }
        let is_source = entry.path().extension().is_some_and(|extension| extension == "rs");
        let is_text = kind.is_file() && !is_source;
        if is_text && PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_of_libraries_inside_a_crate_are_found() {
        let source = std::env::temp_dir().join(format!("belfry-licences-{}", std::process::id()));
        for path in ["LICENSE-MIT", "c_src/lib/license.txt", "tests/LICENSE", "src/license.rs"] {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let files = find_licence_files(&source).unwrap();
        fs::remove_dir_all(&source).unwrap();
        assert_eq!(files, [source.join("LICENSE-MIT"), source.join("c_src/lib/license.txt")]);
    }
}
