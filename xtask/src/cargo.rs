//! Running cargo from within a cargo command.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use serde_json::Value;
use test_engines::process_group::{ProcessGroup, SpawnOptions};

pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Returns the package directories of the workspace.
pub(crate) fn package_dirs() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let metadata = ["metadata", "--no-deps", "--format-version", "1", "--locked", "--quiet"];
    let output = command(&metadata).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let manifests = packages.iter().filter_map(|package| package["manifest_path"].as_str());
    Ok(manifests.filter_map(|path| Path::new(path).parent()).map(Path::to_owned).collect())
}

/// Returns the target directory that xtask was built into.
pub(crate) fn target_dir() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    // target/PROFILE/xtask, or target/PROFILE/deps/xtask-HASH for the unit tests.
    let profile_dir = program.ancestors().skip(1).find(|dir| !dir.ends_with("deps"));
    let target_dir = profile_dir.and_then(Path::parent).map(Path::to_owned);
    target_dir.ok_or_else(|| io::Error::other("xtask is not in a target directory"))
}

/// Creates a cargo command in the repository root.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    remove_inherited_variables(&mut command);
    command
}

/// Removes the variables that cargo set for this package, and Belfry's settings, which would
/// influence the command.
pub(crate) fn remove_inherited_variables(command: &mut Command) {
    for (name, _) in env::vars_os().filter(|(name, _)| must_be_removed(name)) {
        command.env_remove(name);
    }
}

fn must_be_removed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["BELFRY_", "CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Runs the command, stops its remaining descendants, and returns whether it succeeded.
pub(crate) fn succeeds(command: Command) -> io::Result<bool> {
    Ok(ProcessGroup::spawn(command, &SpawnOptions::default())?.wait()?.success())
}

/// Returns whether a subcommand of cargo is installed.
pub(crate) fn has_subcommand(name: &str) -> io::Result<bool> {
    let mut probe = command(&[name, "--version"]);
    Ok(probe.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
}
