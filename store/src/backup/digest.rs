//! The SHA-256 digest of a backup, in a file next to it that `sha256sum --check` reads.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub(super) fn digest_path(backup: &Path) -> PathBuf {
    let mut path = backup.as_os_str().to_owned();
    path.push(".sha256");
    path.into()
}

/// Returns the digest of the rest of a file, as 64 hexadecimal digits.
pub(super) fn sha256_hex(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    Ok(hasher.finalize().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}
