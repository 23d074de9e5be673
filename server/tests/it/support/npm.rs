//! Packages from npm, in directories under `target/` that are created once.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::pypi::run_command;

/// Installs packages, given as `NAME@VERSION`, unless they are installed, and returns the directory
/// that contains `node_modules`.
pub(crate) fn install_packages(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let marker = dir.join("packages.txt");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(dir);
    }
    let options = ["install", "--loglevel=error", "--no-save", "--ignore-scripts", "--prefix"];
    run_command(Command::new("npm").args(options).arg(&dir).args(packages))?;
    std::fs::write(&marker, wanted).map_err(|error| error.to_string())?;
    Ok(dir)
}
