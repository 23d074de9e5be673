//! `belfry config …`

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Database, Store};
use clap::Subcommand;

use super::output::{print, print_message};
use super::{CliError, print_warnings};
use crate::auth::application_services::ApplicationServices;
use crate::config::{Config, ConfigError};
use crate::limits::redis_servers;
use crate::sealing::load_sealing_key;
use crate::tls::Tls;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Validate the configuration and print every effective setting as TOML
    Check,
    /// Print a configuration file with every setting and its default, as comments
    Example,
}

/// Checks the files that the settings name, and prints the effective settings. Warnings and the
/// result are written to stderr, so that stdout is a valid configuration file.
pub(super) fn check(config: &Config) -> Result<(), CliError> {
    check_files(config)?;
    print(&config.to_toml()?)?;
    print_warnings(&config.warnings(&config.base_url(), SystemClock.now()));
    print_message("the settings are valid");
    Ok(())
}

/// Loads the files that the settings name.
pub(super) fn check_files(config: &Config) -> Result<(), ConfigError> {
    let sealing_key = config
        .sealing_key_path()
        .filter(|_| config.push.contact.is_some())
        // A server on SQLite creates a missing key.
        .filter(|path| path.exists() || matches!(config.database(), Database::Postgres(_)));
    let errors: [Option<CliError>; 5] = [
        ApplicationServices::load(&config.application_services).err().map(Into::into),
        config.tls.clone().and_then(|files| Tls::load(files).err()).map(Into::into),
        Store::check_certificates(&config.database()).err().map(Into::into),
        redis_servers(config).err().map(Into::into),
        sealing_key.and_then(|path| load_sealing_key(&path, false).err()).map(Into::into),
    ];
    ConfigError::from_problems(errors.iter().flatten().map(ToString::to_string).collect())
}
