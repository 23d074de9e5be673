//! `belfry doctor`: diagnoses an installation, and suggests fixes.
//!
//! It does not change the installation: it creates and migrates nothing, and takes no lock that a
//! server needs. It works with and without a running server.

mod base_url;
mod certificate;
mod engines;
mod proxy;
mod push;
mod report;
mod server;

use clap::Args;

use self::report::Report;
use super::output::format_count;
use super::{CliError, config as config_command};
use crate::config::{Config, ConfigError, Exposure, UnsafeFile};

#[derive(Args)]
pub(super) struct Command {
    /// Print each check as a line of JSON
    #[arg(long)]
    json: bool,
}

impl Command {
    /// Runs all checks. Without valid settings there is nothing else to check.
    pub(super) fn run(&self, config: Result<Config, ConfigError>) -> Result<(), CliError> {
        let mut report = Report::default();
        match config {
            // Each problem says what to do.
            Err(error) => {
                error.problems.into_iter().for_each(|problem| report.fail("settings", problem, ""));
            }
            Ok(config) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(run_checks(&config, &mut report));
            }
        }
        report.print(self.json)?;
        match report.failure_count() {
            0 => Ok(()),
            failures => Err(format!("{} failed", format_count(failures, "checks")).into()),
        }
    }
}

async fn run_checks(config: &Config, report: &mut Report) {
    check_settings(config, report);
    check_modes(config, report);
    engines::check(config, report).await;
    push::check(config, report).await;
    certificate::check(config, report);
    let server = server::check(config, report).await;
    base_url::check(config, server.as_ref(), report).await;
}

/// Checks the files that the settings name, and reports warnings about the settings, which are
/// valid because they were loaded.
fn check_settings(config: &Config, report: &mut Report) {
    if let Err(error) = config_command::check_files(config) {
        for problem in error.problems {
            report.fail("settings", problem, "correct the file or the setting that names it");
        }
        return;
    }
    // The certificate and the files that others can change have separate checks.
    let warnings = config.setting_warnings(&config.base_url());
    if warnings.is_empty() {
        report.ok("settings", "valid; belfry config check shows them");
    }
    for warning in warnings {
        report.warn("settings", warning, "");
    }
}

/// Checks that other users cannot read or change the data and the files with secrets.
fn check_modes(config: &Config, report: &mut Report) {
    let unsafe_files = config.unsafe_files();
    if unsafe_files.is_empty() {
        report.ok("files", "no other user can change the data or the files with secrets");
    }
    for UnsafeFile { problem, fix, exposure } in unsafe_files {
        match exposure {
            Exposure::Readable => report.warn("files", problem, fix),
            Exposure::Changeable => report.fail("files", problem, fix),
        }
    }
}
