//! Passes the version for `belfry --version` to the compiler: `0.1.0`, or `0.1.0 (commit …)` for a
//! release build from the git checkout of Belfry.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    // Only release builds contain the commit, because others would be compiled again after each one.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = is_release.then(commit).flatten();
    let suffix = commit.map_or_else(String::new, |commit| format!(" (commit {commit})"));
    // `cargo run` passes the variable to the program, which would read it as a setting if its name
    // began with `BELFRY_`.
    println!("cargo::rustc-env=LONG_VERSION={version}{suffix}");
}

/// Returns the id of the commit that is checked out. `None` without git, and if the sources are
/// below a checkout of something else.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?) != root {
        return None;
    }
    // The log of `HEAD` changes with each commit and checkout.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}
