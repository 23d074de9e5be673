//! Compares the settings that the running server uses with those of this command.

use crate::cli::output::counted;
use crate::config::{Config, RunningSettings, SettingValues, is_reloaded};

use super::report::Report;

pub(super) const RELOAD: &str = "reload the server (SIGHUP, or systemctl reload belfry)";
pub(super) const RESTART: &str = "restart the server";

/// Maximum number of settings that are listed when all of a file differ.
const MAX_LISTED: usize = 5;

/// Warns about each setting of which the server uses another value.
pub(super) fn check(config: &Config, running: &RunningSettings, report: &mut Report) {
    let expected = RunningSettings::new(config, &SettingValues::of(config));
    // Flags of the log do not matter to any check.
    let matters = |key: &&str| !(key.starts_with("log.") && running.overrides.contains_key(*key));
    let differences: Vec<&str> =
        running.differences(&expected).into_iter().filter(matters).collect();
    if differences.is_empty() {
        return;
    }
    if running.file != expected.file {
        return report_other_file(running, &expected, &differences, report);
    }
    for key in differences {
        let (message, fix) = describe(key, running, &expected);
        report.warn("server", message, fix);
    }
}

fn report_other_file(
    running: &RunningSettings,
    expected: &RunningSettings,
    differences: &[&str],
    report: &mut Report,
) {
    let name = |settings: &RunningSettings| match &settings.file {
        Some(path) => path.display().to_string(),
        None => "no file".to_owned(),
    };
    let listed = differences[..differences.len().min(MAX_LISTED)].join(", ");
    let more = if differences.len() > MAX_LISTED { ", …" } else { "" };
    let message = format!(
        "the server reads {}, this command {}: {} differ ({listed}{more})",
        name(running),
        name(expected),
        counted(differences.len(), "settings")
    );
    let fix = match &running.file {
        Some(path) => format!("belfry doctor --config {}", path.display()),
        None => format!("run belfry doctor where the server was started, or {RESTART}"),
    };
    report.warn("server", message, fix);
}

/// What differs, and what to do about it.
fn describe(key: &str, running: &RunningSettings, expected: &RunningSettings) -> (String, String) {
    let value = |settings: &RunningSettings| settings.values.get(key).cloned();
    let is_readable = value(running).is_some() || value(expected).is_some();
    let not_set = || "no value".to_owned();
    let shown = |settings: &RunningSettings| value(settings).unwrap_or_else(not_set);
    let (theirs, ours) = (running.overrides.get(key), expected.overrides.get(key));
    if theirs.is_none() && ours.is_none() {
        let fix = if is_reloaded(key) { RELOAD } else { RESTART };
        let file = match &expected.file {
            Some(path) => path.display().to_string(),
            None => "the default".to_owned(),
        };
        let message = if is_readable {
            let (running, expected) = (shown(running), shown(expected));
            format!("the server still uses {key} = {running}; {file} has {expected}")
        } else {
            format!("the server still uses another value of {key} than {file}")
        };
        return (message, fix.to_owned());
    }
    let origin = |origin: Option<&String>| match origin {
        Some(origin) => format!(" from {origin}"),
        None => String::new(),
    };
    let message = if is_readable {
        let (running, expected) = (shown(running), shown(expected));
        format!(
            "the server uses {key} = {running}{}, this command {expected}{}",
            origin(theirs),
            origin(ours)
        )
    } else {
        let (theirs, ours) = (origin(theirs), origin(ours));
        format!("the server uses another value of {key}{theirs} than this command{ours}")
    };
    (message, "run belfry doctor with the flags and variables of the server".to_owned())
}
