//! Programs from `PyPI`, in virtual environments under `target/` that are created once.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Creates a virtual environment with these requirements, unless it exists, and returns the
/// directory of its programs.
pub(crate) fn install_programs(name: &str, requirements: &str) -> Result<PathBuf, String> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let programs = dir.join("bin");
    let marker = dir.join("requirements.txt");
    if std::fs::read_to_string(&marker)
        .is_ok_and(|installed_requirements| installed_requirements == requirements)
    {
        return Ok(programs);
    }
    run_command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir))?;
    let pending_marker = dir.join("wanted.txt");
    std::fs::write(&pending_marker, requirements).map_err(|error| error.to_string())?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run_command(Command::new(programs.join("python")).args(pip).arg(&pending_marker))?;
    std::fs::rename(&pending_marker, &marker).map_err(|error| error.to_string())?;
    Ok(programs)
}

/// Runs a command that must succeed. The error contains its output.
pub(super) fn run_command(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
