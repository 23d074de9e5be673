//! Clients and validators from `PyPI`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::run_interpreter;
use crate::support::{pypi, report_skipped};

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Runs a script that must succeed. Reports it as skipped if Python or the packages are not
/// available.
#[track_caller]
pub(crate) fn run_script(script: &str, arguments: &[&str]) {
    if let Some(python) = install() {
        run_interpreter(&mut Command::new(python), script, arguments);
    }
}

/// Installs the packages, and returns the path of Python. Reports the test as skipped if they are
/// not available.
#[track_caller]
pub(crate) fn install() -> Option<PathBuf> {
    static PROGRAMS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match PROGRAMS.get_or_init(|| pypi::install_programs("python", REQUIREMENTS)) {
        Ok(programs) => Some(programs.join("python")),
        Err(reason) => {
            report_skipped("clients from PyPI", reason);
            None
        }
    }
}
