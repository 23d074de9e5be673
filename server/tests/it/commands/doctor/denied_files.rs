//! Files that the user who runs `belfry doctor` may not read.

use super::{DoctorReport, Workspace, workspace_with_database};
use crate::support::files::set_mode;
use crate::support::process::{is_root, unprivileged_belfry};

fn run_unprivileged_doctor(workspace: &Workspace) -> DoctorReport {
    let output = unprivileged_belfry(workspace.path(), &["doctor", "--json"]).output().unwrap();
    DoctorReport::parse(&output)
}

#[test]
fn another_users_files_are_reported_as_denied() {
    if !is_root() {
        return eprintln!("skipped: only root can run a command as another user");
    }
    let workspace = workspace_with_database();
    set_mode(workspace.path(), 0o755);
    let data_dir = workspace.path().join("data");
    // The directory hides the file, or the file can be seen but not read.
    for (mode, denied_file) in [(0o700, "data"), (0o755, "data/belfry.db")] {
        set_mode(&data_dir, mode);
        let report = run_unprivileged_doctor(&workspace);
        let denied_path = workspace.path().join(denied_file);
        let reason =
            format!("permission denied: {} belongs to root (uid 0)", denied_path.display());
        report.assert_status("database", "failed", &reason);
        assert_eq!(report.exit_code, Some(1));
        for result in report.lines("database") {
            assert!(!result.contains("belfry restore") && !result.contains("does not exist"));
        }
    }

    let settings = workspace.path().join("belfry.toml");
    set_mode(&settings, 0o600);
    let reason = format!("permission denied: {} belongs to root", settings.display());
    let report = run_unprivileged_doctor(&workspace);
    report.assert_failed("settings", &reason);
    // There is one fix, which matches the reason.
    let [result] = &report.lines("settings")[..] else { panic!("one result") };
    assert!(result.trim_end().ends_with("give this user access with chown or chmod"), "{result}");
}
