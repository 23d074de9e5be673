//! Unmodified clients against the real binary.

mod python;

use crate::support::Process;
use crate::support::process::run_well;

/// Log in, set, place, enable, change actions, delete, read back.
#[test]
fn matrix_nio_keeps_its_push_rules_here() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path(), &[]);
    let added = run_well(folder.path(), &["account", "add", "alice"]);
    let password = added.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    python::run(
        include_str!("interop/matrix_nio.py"),
        &[&server.url, "@alice:127.0.0.1", password],
    );
}
