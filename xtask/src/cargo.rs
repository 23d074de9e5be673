//! Running cargo from within cargo.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use test_engines::process_group::{OnDrop, ProcessGroup};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The folder that cargo builds this profile into: beside the one that we are in.
pub(crate) fn built(profile: &str) -> io::Result<PathBuf> {
    let ours = env::current_exe()?;
    ours.ancestors()
        .nth(2)
        .map(|target| target.join(profile))
        .ok_or_else(|| io::Error::other("this program is not in a target folder"))
}

/// A cargo command at the root of the repository.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    forget_foreign(&mut command);
    command
}

/// Frees the command of what the cargo that started us and the person's shell have set for other
/// purposes.
pub(crate) fn forget_foreign(command: &mut Command) {
    for (name, _) in env::vars_os().filter(|(name, _)| is_foreign(name)) {
        command.env_remove(name);
    }
}

/// Runs the command to its end, together with all that it starts.
pub(crate) fn succeeds(command: Command) -> io::Result<bool> {
    Ok(ProcessGroup::spawn(command, &OnDrop::default())?.wait()?.success())
}

/// `CARGO_PKG_…` and the like speak of this package, and settings of Belfry would change its tests.
fn is_foreign(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    ["BELFRY_", "CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn settings_of_cargo_itself_are_kept() {
        assert!(!is_foreign(&"CARGO_TARGET_DIR".into()));
        assert!(!is_foreign(&"CARGO_HOME".into()));
        assert!(is_foreign(&"CARGO_PKG_NAME".into()));
        assert!(is_foreign(&"BELFRY_DATA".into()));
    }
}
