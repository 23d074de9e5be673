//! The shared libraries that the binary needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{PackagingError, programs};

/// The shared libraries of a binary, including the dynamic loader.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// The paths on this machine.
    pub(crate) paths: Vec<PathBuf>,
    /// The oldest glibc that has all symbols that the binary uses, such as `2.34`.
    pub(crate) min_glibc: String,
}

impl Libraries {
    /// Finds the libraries with `ldd`, and the glibc version from the symbols in the binary.
    pub(crate) fn find(binary: &Path) -> Result<Self, PackagingError> {
        let list = programs::run(Command::new("ldd").arg(binary))?;
        let paths: Vec<PathBuf> = list.lines().filter_map(parse_library_path).collect();
        if paths.is_empty() {
            return Err(format!("{} is not linked dynamically:\n{list}", binary.display()).into());
        }
        let minor = newest_glibc_minor(&fs::read(binary)?)
            .ok_or_else(|| format!("{} does not use glibc", binary.display()))?;
        Ok(Self { paths, min_glibc: format!("2.{minor}") })
    }
}

/// Parses the path in a line of `ldd` output: `libc.so.6 => /lib/libc.so.6 (0x…)` or
/// `/lib64/ld-linux… (0x…)`. The library that the kernel provides has no path.
fn parse_library_path(line: &str) -> Option<PathBuf> {
    let line = line.split_once("=>").map_or(line, |(_, path)| path);
    let path = line.split_whitespace().next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// Returns the highest N of the symbol versions `GLIBC_2.N` that a binary names.
fn newest_glibc_minor(binary: &[u8]) -> Option<u32> {
    const PREFIX: &[u8] = b"GLIBC_2.";
    let names = binary.windows(PREFIX.len()).enumerate().filter(|(_, bytes)| *bytes == PREFIX);
    names
        .filter_map(|(start, _)| {
            let rest = &binary[start + PREFIX.len()..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            str::from_utf8(&rest[..digits]).ok()?.parse().ok()
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_paths_are_read_from_the_output_of_ldd() {
        let path = |line| parse_library_path(line).map(|path| path.display().to_string());
        assert_eq!(path("\tlinux-vdso.so.1 (0x00007ffe)"), None);
        let libc = "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)";
        assert_eq!(path(libc).as_deref(), Some("/lib/x86_64-linux-gnu/libc.so.6"));
        let loader = "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)";
        assert_eq!(path(loader).as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(path("\tlibgone.so => not found"), None);
    }

    #[test]
    fn the_newest_symbol_version_is_found() {
        let binary = b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc_minor(binary), Some(34));
        assert_eq!(newest_glibc_minor(b"static"), None);
    }
}
