//! Finding programs: in `PATH`, and where distributions hide servers from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// `PATH` and the folders in which distributions keep servers, newest PostgreSQL first.
#[must_use]
pub fn search_path() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.extend(newest_first("/usr/lib/postgresql"));
    folders.extend(newest_first("/opt/homebrew/opt"));
    folders
}

/// The search path as a value for `PATH`.
#[must_use]
pub fn search_path_variable() -> OsString {
    env::join_paths(search_path()).unwrap_or_else(|_| env::var_os("PATH").unwrap_or_default())
}

/// The first of the programs that is there.
#[must_use]
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let folders = search_path();
    names.iter().find_map(|name| {
        folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
    })
}

/// `bin` of every numbered folder, such as `/usr/lib/postgresql/15/bin`; the number may follow an
/// `@`, as in Homebrew's `postgresql@17`.
fn newest_first(parent: &str) -> Vec<PathBuf> {
    let number = |path: &Path| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("postgresql@").unwrap_or(name).parse().ok()
    };
    let mut numbered: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((number(&entry.path())?, entry.path().join("bin"))))
        .collect();
    numbered.sort_by(|a, b| b.cmp(a));
    numbered.into_iter().map(|(_, path)| path).collect()
}
