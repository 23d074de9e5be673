//! `cargo xtask dist`: builds the release packages.

use std::error::Error;
use std::process::Command;

use clap::Args;

use crate::cargo;

/// Build the release packages into target/packages
///
/// An archive for any distribution, a Debian package, an SBOM and SHA-256 checksums, for this
/// machine's architecture. The program is linked with this machine's libraries: build on the oldest
/// system you want to support. Prints how to install the tools from crates.io that are missing.
///
/// docs/install.md describes how to install the packages, and how to build the container image.
#[derive(Args)]
pub(crate) struct Options {}

/// Builds the packages; returns whether this succeeded.
pub(crate) fn run(_: &Options) -> Result<bool, Box<dyn Error>> {
    ensure_tools_are_installed()?;
    run_script("dist.sh")
}

/// Installs the packages and builds the container image, in temporary directories.
pub(crate) fn test_packages() -> Result<bool, Box<dyn Error>> {
    Ok(run(&Options {})? && run_script("test.sh")?)
}

fn run_script(name: &str) -> Result<bool, Box<dyn Error>> {
    let mut script = Command::new(cargo::root().join("packaging").join(name));
    cargo::remove_inherited_variables(&mut script);
    script.arg(cargo::target_dir()?);
    Ok(cargo::succeeds(script)?)
}

/// Tools from crates.io with their versions and features. They take minutes to compile; only `dist`
/// and the long tests need them.
const TOOLS: [(&str, &str, &str); 4] = [
    ("about", "0.9.3", " --features cli"),
    ("cyclonedx", "0.5.9", ""),
    ("deb", "3.8.0", ""),
    ("deny", "0.20.2", ""),
];

/// Fails with the commands that install the missing tools.
pub(crate) fn ensure_tools_are_installed() -> Result<(), Box<dyn Error>> {
    let mut commands = Vec::new();
    for (tool, version, features) in TOOLS {
        let output = cargo::command(&[tool, "--version"]).output()?;
        if !String::from_utf8_lossy(&output.stdout).trim().ends_with(version) {
            commands.push(format!("cargo install --locked cargo-{tool}@{version}{features}"));
        }
    }
    if commands.is_empty() {
        return Ok(());
    }
    Err(format!("missing tools; install them with\n  {}", commands.join("\n  ")).into())
}

/// Checks licences, banned crates and the sources of all dependencies with `deny.toml`.
pub(crate) fn check_dependencies() -> Result<bool, Box<dyn Error>> {
    let deny = ["deny", "--workspace", "check", "bans", "licenses", "sources"];
    Ok(cargo::succeeds(cargo::command(&deny))?)
}
