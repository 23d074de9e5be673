//! Rust files that no module declares. The compiler ignores them, and with them their tests.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::sources::{contains_word, rust_files_in};
use crate::cargo;

/// Directories whose direct files are crate roots.
const CRATE_ROOT_DIRS: [&str; 4] = ["benches", "bin", "examples", "tests"];

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let root = cargo::root();
    let mut all_declared = true;
    for package in cargo::package_dirs()? {
        for file in find_orphans(&package)? {
            let file = file.strip_prefix(root).unwrap_or(&file);
            println!("{}: no module declares this file", file.display());
            all_declared = false;
        }
    }
    Ok(all_declared)
}

/// Returns the source files of a package that are neither a crate root nor declared by `mod`.
fn find_orphans(package: &Path) -> io::Result<Vec<PathBuf>> {
    let mut orphans = Vec::new();
    for dir in ["benches", "examples", "src", "tests"] {
        for file in rust_files_in(&package.join(dir))? {
            if !is_crate_root(&file) && !is_declared(&file)? {
                orphans.push(file);
            }
        }
    }
    Ok(orphans)
}

fn is_crate_root(file: &Path) -> bool {
    let parent = file.parent().and_then(Path::file_name);
    ["lib", "main"].iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name))
        || parent.is_some_and(|parent| CRATE_ROOT_DIRS.iter().any(|dir| parent == *dir))
}

/// Returns whether the parent module declares this file's module. The parent is the file named like
/// the directory, or `lib.rs` or `main.rs` in the directory.
fn is_declared(file: &Path) -> io::Result<bool> {
    let (Some(dir), Some(stem)) = (file.parent(), file.file_stem()) else { return Ok(true) };
    let declaration = format!("mod {}", stem.to_string_lossy());
    let parents = [dir.with_extension("rs"), dir.join("lib.rs"), dir.join("main.rs")];
    for parent in parents.iter().filter(|parent| parent.is_file()) {
        if contains_word(&fs::read_to_string(parent)?, &declaration) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_module_declares_is_found() {
        let package = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/lib.rs", "mod a;\npub mod b {}"),
            ("src/a.rs", "mod c;"),
            ("src/a/c.rs", ""),
            ("src/a/lost.rs", "#[test]\nfn never_runs() {}"),
            ("src/lost_too.rs", ""),
            ("src/bin/tool.rs", ""),
            ("tests/it/main.rs", "mod d;"),
            ("tests/it/d.rs", ""),
            ("tests/one.rs", ""),
        ] {
            let path = package.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let orphans = find_orphans(package.path()).unwrap();
        let expected = ["src/a/lost.rs", "src/lost_too.rs"].map(|path| package.path().join(path));
        assert_eq!(orphans, expected);
    }
}
