//! `belfry doctor`: diagnoses an installation, and suggests fixes.
//!
//! It does not change the installation: it creates and migrates nothing, and takes no lock that a
//! server needs. It works with and without a running server.

mod base_url;
mod proxy;
mod redis;
mod report;
mod server;

use std::time::Duration;

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Access, Options, SchemaPolicy, Store, StoreError};
use clap::Args;
use tokio::time::timeout;

use self::report::Report;
use super::output::format_count;
use super::{CliError, config as config_command};
use crate::config::{Config, ConfigError};

/// Maximum time to open the database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);

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
    check_database(config, report).await;
    redis::check(config, report).await;
    match &config.push.contact {
        Some(contact) => {
            let contact = contact.as_str();
            report.ok("push", format!("delivery is on, with the contact {contact}"));
        }
        None => report.skip("push", "no push.contact: delivery is off"),
    }
    let server = server::check(config, report).await;
    base_url::check(config, server.as_ref(), report).await;
}

/// Checks the files that the settings name, and reports the warnings of `belfry config check`. The
/// settings are valid, because they were loaded.
fn check_settings(config: &Config, report: &mut Report) {
    let problems =
        config_command::check_files(config).map_or_else(|error| error.problems, |()| vec![]);
    let warnings = config.warnings(&config.base_url(), SystemClock.now());
    if problems.is_empty() && warnings.is_empty() {
        report.ok("settings", "no warnings; belfry config check shows the settings");
    }
    for problem in problems {
        report.fail("settings", problem, "correct the file or the setting that names it");
    }
    for warning in warnings {
        report.warn("settings", warning, "");
    }
}

/// Checks that the database can be opened and has the schema of this version.
async fn check_database(config: &Config, report: &mut Report) {
    let database = config.database();
    let options = Options { schema: SchemaPolicy::Require, access: Access::Read, ..config.store };
    let opening = Store::open(&database, &options, SystemClock.now());
    match timeout(DATABASE_TIMEOUT, opening).await {
        Ok(Ok(_)) => report.ok("database", format!("{database} can be read")),
        Ok(Err(error)) => {
            // Other errors say what to do.
            let fix = match error {
                StoreError::Damaged { .. } => {
                    "stop the server, move the files of the database away, and restore a backup"
                }
                _ => "",
            };
            report.fail("database", error.to_string(), fix);
        }
        Err(_) => {
            let seconds = DATABASE_TIMEOUT.as_secs();
            let problem = format!("{database} does not respond within {seconds} s");
            report.fail("database", problem, "check its log and its load");
        }
    }
}
