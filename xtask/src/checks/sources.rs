//! Listing source files, and searching for words in them.

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

/// Returns whether the text contains the word, other than within a longer word.
pub(super) fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert!(contains_word("use tokio::net", "tokio"));
        assert!(!contains_word("use tokio_rustls::x; mytokio", "tokio"));
        assert!(contains_word("x tokio_rustls tokio", "tokio"));
    }
}
