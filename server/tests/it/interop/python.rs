//! Clients and validators from `PyPI`, in a virtual environment under `target/` that is created once.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::support::report_skipped;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Runs a script that must succeed. Skipped if Python is not available.
#[track_caller]
pub(crate) fn run(script: &str, arguments: &[&str]) {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let python = match PYTHON.get_or_init(environment) {
        Ok(python) => python,
        Err(why) => return report_skipped("clients from PyPI", why),
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
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
}

/// The Python interpreter of an environment with the requirements.
fn environment() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    let (python, marker) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(python);
    }
    command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let wanted = folder.join("wanted.txt");
    std::fs::write(&wanted, REQUIREMENTS).map_err(|error| error.to_string())?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    command(Command::new(&python).args(pip).arg(&wanted))?;
    std::fs::rename(&wanted, &marker).map_err(|error| error.to_string())?;
    Ok(python)
}

fn command(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
