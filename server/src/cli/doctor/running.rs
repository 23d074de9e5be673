//! Compares the settings that the running server uses with those of this command.

use super::report::Report;
use crate::cli::output::counted;
use crate::config::{Config, RunningSettings, SettingDigests, is_reloaded};

pub(super) const RELOAD: &str = "reload the server (SIGHUP, or systemctl reload belfry)";

/// Warns about each setting of which the server uses a different value.
pub(super) fn check(config: &Config, running: &RunningSettings, report: &mut Report) {
    let expected = RunningSettings::new(config, &SettingDigests::of(config));
    // Flags of the log do not matter to any check.
    let matters = |key: &&str| !(key.starts_with("log.") && running.overrides.contains_key(*key));
    let differences: Vec<&str> =
        running.differences(&expected).into_iter().filter(matters).collect();
    if !differences.is_empty() && running.file != expected.file {
        let name = |settings: &RunningSettings| match &settings.file {
            Some(path) => path.display().to_string(),
            None => "no file".to_owned(),
        };
        let (theirs, ours) = (name(running), name(&expected));
        let count = counted(differences.len(), "settings");
        let message = format!("the server reads {theirs}, this command {ours}: {count} differ");
        return report.warn("server", message, format!("belfry doctor --config {theirs}"));
    }
    for key in differences {
        let message = format!("the server uses a different value of {key} than this command");
        let fix = match running.overrides.get(key).or(expected.overrides.get(key)) {
            Some(origin) => {
                format!("run belfry doctor with the flags and variables of the server ({origin})")
            }
            None if is_reloaded(key) => RELOAD.to_owned(),
            None => "restart the server".to_owned(),
        };
        report.warn("server", message, fix);
    }
}
