//! Listing source files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the files below a directory, sorted; the path itself if it is a file; nothing if it does
/// not exist.
pub(super) fn files_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(if path.is_file() { vec![path.to_owned()] } else { vec![] });
    }
    let mut entries = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = vec![];
    for entry in entries {
        files.extend(files_in(&entry)?);
    }
    Ok(files)
}

/// Returns the Rust files below the directory.
pub(super) fn rust_files_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = files_in(path)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    Ok(files)
}

/// Returns whether the character can be part of a Rust identifier.
pub(super) fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
