//! `belfry config …`

use clap::Subcommand;

use super::Failure;
use crate::application_services::ApplicationServices;
use crate::config::Config;
use crate::limits::ActiveLimits;
use crate::metrics::LimitMetrics;
use crate::store::SecretUrl;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Read the settings and say what is wrong, or what is in force; changes nothing
    Check,
}

/// Shows the settings in force. That they and the files they name could be loaded is the check.
pub(super) fn run(config: &Config) -> Result<(), Failure> {
    ApplicationServices::load(&config.application_services)?;
    let tls = config.tls.as_ref();
    let or = |setting: Option<String>, unset: &str| setting.unwrap_or_else(|| unset.to_owned());
    let rows = [
        ("listen", config.listen.to_string()),
        ("base_url", config.base_url(config.listen).to_string()),
        ("server_name", or(config.server_name.clone(), "the base URL's host")),
        ("database", config.database().to_string()),
        (
            "redis",
            or(
                config.redis.as_ref().map(SecretUrl::without_password),
                "none; counting in this process",
            ),
        ),
        ("name_segments", config.name_segments.join(", ")),
        ("registration", format!("{:?}", config.registration).to_lowercase()),
        ("tls", or(tls.map(|tls| tls.certificate.display().to_string()), "none; plain HTTP")),
        (
            "metrics",
            or(config.metrics_listen.map(|address| address.to_string()), "on the main address"),
        ),
    ];
    for (name, value) in rows {
        println!("{name:<14} {value}");
    }
    println!("limits");
    for (name, value) in ActiveLimits::new(config, &LimitMetrics::default()).lines() {
        println!("  {name:<18} {value}");
    }
    for doubt in config.warnings() {
        println!("warning: {doubt}");
    }
    println!("the settings are valid");
    Ok(())
}
