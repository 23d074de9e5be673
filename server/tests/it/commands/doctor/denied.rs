//! Files that the user who runs `belfry doctor` may not read.

use super::{Checks, Workspace, workspace_with_database};
use crate::support::files::set_mode;
use crate::support::process::{is_root, unprivileged_belfry};

fn doctor(workspace: &Workspace) -> Checks {
    let output = unprivileged_belfry(workspace.path(), &["doctor", "--json"]).output().unwrap();
    Checks::parse(&output)
}

#[test]
fn files_of_another_user_are_reported_as_denied() {
    if !is_root() {
        return eprintln!("skipped: only root can run a command as another user");
    }
    let workspace = workspace_with_database();
    set_mode(workspace.path(), 0o755);
    let data = workspace.path().join("data");
    // The directory hides the file, or the file can be seen but not read.
    for (mode, denied) in [(0o700, "data"), (0o755, "data/belfry.db")] {
        set_mode(&data, mode);
        let checks = doctor(&workspace);
        let denied = workspace.path().join(denied);
        let reason = format!("permission denied: {} belongs to root (uid 0)", denied.display());
        checks.assert("files", "failed", &reason);
        checks.assert("database", "failed", &reason);
        assert_eq!(checks.exit_code, Some(1));
        for result in checks.lines("database") {
            assert!(!result.contains("belfry restore") && !result.contains("does not exist"));
        }
    }

    let settings = workspace.path().join("belfry.toml");
    set_mode(&settings, 0o600);
    let reason = format!("permission denied: {} belongs to root", settings.display());
    let checks = doctor(&workspace);
    checks.assert_failed("settings", &reason);
    // There is one fix, which matches the reason.
    let [result] = &checks.lines("settings")[..] else { panic!("one result") };
    assert!(result.trim_end().ends_with("give this user access with chown or chmod"), "{result}");
}
