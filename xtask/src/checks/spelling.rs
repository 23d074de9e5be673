//! Spelling, checked by typos.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::cargo;

/// The package in the Python index, which has a prebuilt binary for each platform.
const TYPOS: &str = "typos==1.51.1";

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let tools = cargo::target_dir()?.join("xtask-tools");
    let installed = tools.join("installed");
    if !fs::read_to_string(&installed).is_ok_and(|version| version == TYPOS) {
        install(&tools)?;
        fs::write(installed, TYPOS)?;
    }
    let mut typos = Command::new(tools.join("bin/typos"));
    typos.args(["--config", "typos.toml", "--format", "brief"]).current_dir(cargo::root());
    Ok(cargo::succeeds(typos)?)
}

/// Installs typos into a virtual environment.
fn install(tools: &Path) -> io::Result<()> {
    let run = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).status()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("cannot install {TYPOS}: {status}")))
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(tools))?;
    let options = ["install", "--quiet", "--disable-pip-version-check", TYPOS];
    run(Command::new(tools.join("bin/pip")).args(options))
}
