//! Locating programs in `PATH` and in the directories where distributions install servers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Returns `PATH` followed by the server directories of distributions, newest PostgreSQL first.
#[must_use]
pub fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = env::split_paths(&path).collect();
    dirs.extend(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    dirs.extend(postgres_dirs("/usr/lib/postgresql"));
    dirs.extend(postgres_dirs("/opt/homebrew/opt"));
    env::join_paths(dirs).unwrap_or(path)
}

/// Returns the path of the first of these programs that is installed.
#[must_use]
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = search_path();
    names.iter().find_map(|name| which::which_in(name, Some(&path), "/").ok())
}

/// Lists `bin` of every versioned directory, such as `/usr/lib/postgresql/15/bin` or Homebrew's
/// `postgresql@17/bin`.
fn postgres_dirs(parent: &str) -> Vec<PathBuf> {
    let version = |path: &Path| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("postgresql@").unwrap_or(name).parse().ok()
    };
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((version(&entry.path())?, entry.path().join("bin"))))
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}
