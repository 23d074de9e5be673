//! Programs from the Python Package Index, in virtual environments under `target/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::cargo;

/// Installs a package such as `pywebpush==2.5.0`, unless it is already installed, and returns the path
/// of one of its programs.
pub(crate) fn install_program(package: &str, program: &str) -> io::Result<PathBuf> {
    let venv = cargo::target_dir()?.join("xtask-tools").join(program);
    let marker = venv.join("installed");
    if !fs::read_to_string(&marker).is_ok_and(|installed_package| installed_package == package) {
        install(&venv, package)?;
        fs::write(marker, package)?;
    }
    Ok(venv.join("bin").join(program))
}

fn install(venv: &Path, package: &str) -> io::Result<()> {
    let run = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).status()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("cannot install {package}: {status}")))
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let options = ["install", "--quiet", "--disable-pip-version-check", package];
    run(Command::new(venv.join("bin/pip")).args(options))
}
