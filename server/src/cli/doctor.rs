//! `belfry doctor`: finds out what is wrong with an installation, and says how to fix it.
//!
//! It only reads: it creates and migrates nothing, and takes no lock that a server needs. It works
//! with and without a running server.

mod base_url;
mod certificate;
mod clock;
mod engines;
mod files;
mod proxy;
mod report;
mod response;
mod running;
mod server;

use belfry_runtime::clock::{Clock, SystemClock};
use clap::Args;

use self::report::Report;
use super::{CliError, config as config_command};
use crate::config::{Config, ConfigError};

#[derive(Args)]
pub(super) struct Command {
    /// Print each check as a line of JSON
    #[arg(long)]
    json: bool,
}

impl Command {
    /// Runs all checks. Without valid settings there is nothing else to check.
    pub(super) fn run(
        &self,
        config: Result<Config, ConfigError>,
        warnings: &[String],
    ) -> Result<(), CliError> {
        let mut report = Report::default();
        for warning in warnings {
            report.warn("settings", warning.as_str(), "");
        }
        match config {
            Err(error) => {
                report.fail("settings", error.to_string(), "correct it and run this again");
            }
            Ok(config) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(check(&config, &mut report));
            }
        }
        report.print(self.json)?;
        match report.failures() {
            0 => Ok(()),
            1 => Err("1 check failed".into()),
            failures => Err(format!("{failures} checks failed").into()),
        }
    }
}

async fn check(config: &Config, report: &mut Report) {
    check_settings(config, report);
    files::check_modes(config, report);
    files::check_disk_space(config, report);
    let clocks = engines::check(config, report).await;
    clock::check(&clocks, SystemClock.now(), report);
    certificate::check(config, report);
    let running = server::check(config, report).await;
    base_url::check(config, running.as_ref(), report).await;
}

/// The settings are valid, or we would not be here. The files that they name may not be.
fn check_settings(config: &Config, report: &mut Report) {
    if let Err(error) = config_command::check_files(config) {
        report.fail("settings", error.to_string(), "correct the file or the setting that names it");
        return;
    }
    let is_certificate = |warning: &String| warning.starts_with("the certificate");
    let warnings = config.warnings(&config.base_url(), SystemClock.now());
    let warnings: Vec<_> = warnings.into_iter().filter(|text| !is_certificate(text)).collect();
    if warnings.is_empty() {
        report.ok("settings", "valid; belfry config check shows them");
    }
    for warning in warnings {
        report.warn("settings", warning, "");
    }
}
