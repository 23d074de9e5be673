//! Spelling, checked by typos.

use std::error::Error;
use std::process::Command;

use crate::{cargo, python};

/// The package in the Python Package Index, which has a prebuilt binary for each platform.
const TYPOS: &str = "typos==1.51.1";

pub(super) fn check() -> Result<bool, Box<dyn Error>> {
    let mut typos = Command::new(python::install_program(TYPOS, "typos")?);
    typos.args(["--config", "typos.toml", "--format", "brief"]).current_dir(cargo::root());
    Ok(cargo::succeeds(typos)?)
}
