//! Clients and validators from `PyPI`.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::support::{pypi, report_skipped};

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Runs a script that must succeed. Reports it as skipped if Python or the packages are not
/// available.
#[track_caller]
pub(crate) fn run_script(script: &str, arguments: &[&str]) {
    static PROGRAMS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let python = match PROGRAMS.get_or_init(|| pypi::install_programs("python", REQUIREMENTS)) {
        Ok(programs) => programs.join("python"),
        Err(reason) => return report_skipped("clients from PyPI", reason),
    };
    let mut child = Command::new(python)
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
}
