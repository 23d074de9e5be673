//! `cargo xtask dist`: builds the release packages.

use std::error::Error;
use std::fs;

use clap::Args;

use crate::cargo;

/// Build the release packages into target/dist
///
/// An archive for any distribution, a Debian package, a container image for Docker and Podman, an
/// SBOM and SHA-256 checksums, for this machine's architecture. The packages
/// contain the same binary, linked with this machine's libraries: build on the oldest system you
/// want to support.
///
/// docs/install.md describes how to install them.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --profile dev")]
pub(crate) struct Options {
    /// Cargo profile of the binary; dev builds faster
    #[arg(long, default_value = "release")]
    profile: String,
}

/// Builds the binary and the packages; returns false if the binary does not build.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let profile = options.profile.as_str();
    let mut build =
        cargo::command(&["build", "--locked", "--package", "belfry", "--bin", "belfry"]);
    build.args(["--profile", profile]);
    if !cargo::succeeds(build)? {
        return Ok(false);
    }
    let target = cargo::target_dir()?;
    let profile_dir = if profile == "dev" { "debug" } else { profile };
    let binary = target.join(profile_dir).join("belfry");
    let root = cargo::root();
    let packages = packaging::source_time(root)
        .and_then(|time| packaging::build(root, &binary, time, &target.join("dist")))
        .map_err(|error| error.to_string())?;
    let files =
        [&packages.archive, &packages.debian, &packages.image, &packages.sbom, &packages.checksums];
    for path in files {
        println!("{:>9} KiB  {}", fs::metadata(path)?.len().div_ceil(1024), path.display());
    }
    Ok(true)
}

/// Tools from crates.io, which take minutes to compile. Only [`run`] and the long tests need them.
const TOOLS: [&str; 3] = ["cargo-deb", "cargo-deny", "cargo-cyclonedx"];

/// Fails with the command that installs the missing tools.
pub(crate) fn ensure_tools_are_installed() -> Result<(), Box<dyn Error>> {
    let mut missing = vec![];
    for tool in TOOLS {
        if !cargo::has_subcommand(tool.trim_start_matches("cargo-"))? {
            missing.push(tool);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("missing tools; run `cargo install --locked {}`", missing.join(" ")).into())
}

/// Checks licences, banned crates and the sources of all dependencies with `deny.toml`.
pub(crate) fn check_dependencies() -> Result<bool, Box<dyn Error>> {
    let deny = ["deny", "--workspace", "check", "bans", "licenses", "sources"];
    Ok(cargo::succeeds(cargo::command(&deny))?)
}
