//! `belfry config …`

use std::io::{Write, stdout};
use std::time::Duration;

use clap::Subcommand;
use jiff::SignedDuration;
use url::Url;

use super::CliError;
use crate::application_services::ApplicationServices;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, UrlSource};
use crate::limits::ActiveLimits;
use crate::limits::redis::with_root_certificate;
use crate::metrics::LimitMetrics;
use crate::store::{SecretUrl, Store};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Validate the configuration and print the effective settings
    Check,
}

/// Prints the effective settings. Loading them and the files they name is the validation.
pub(super) fn run(config: &Config) -> Result<(), CliError> {
    ApplicationServices::load(&config.application_services)?;
    Store::check_certificates(&config.database())?;
    if let (Some(url), Some(file)) = (&config.redis, &config.limits.redis_root_certificate) {
        with_root_certificate(url.reveal(), file)?;
    }
    let base_url = config.base_url(config.listen);
    let tls = config.tls.as_ref();
    let or = |setting: Option<String>, default: &str| setting.unwrap_or_else(|| default.to_owned());
    let operators: Vec<_> = config.operator_addresses.iter().map(ToString::to_string).collect();
    let on_main_address = format!("on the main address, for {}", operators.join(", "));
    let policy = |policy| format!("{policy:?}").to_lowercase();
    let redis = config.redis.as_ref().map(SecretUrl::without_password);
    let redis = or(redis, "none: each process counts for itself");
    let mut out = stdout().lock();
    let rows = [
        ("listen", config.listen.to_string()),
        ("base_url", base_url.to_string()),
        ("server_name", or(config.server_name.clone(), "host of the base URL")),
        ("database", with_source(config.database().to_string(), config.sources.database.as_ref())),
        ("redis", with_source(redis, config.sources.redis.as_ref())),
        ("name_segments", config.name_segments.join(", ")),
        (
            "query_tokens",
            if config.oauth.query_tokens { "accepted" } else { "rejected" }.to_owned(),
        ),
        ("registration", policy(config.registration)),
        ("apps", format!("registration {}", policy(config.app_registration))),
        ("tls", or(tls.map(|tls| tls.certificate.display().to_string()), "none; plain HTTP")),
        ("metrics", or(config.metrics_listen.map(|address| address.to_string()), &on_main_address)),
        ("security.txt", or(config.security.contact.first().map(Url::to_string), "none")),
        ("audit", format!("addresses {:?}", config.audit.addresses).to_lowercase()),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<14} {value}")?;
    }
    let days = |duration: Duration| {
        let shown = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        format!("{shown:#}")
    };
    writeln!(out, "retention")?;
    writeln!(out, "  {:<18} {}", "tokens", days(config.retention.tokens))?;
    writeln!(out, "  {:<18} {}", "unused_apps", days(config.retention.unused_apps))?;
    writeln!(out, "  {:<18} {}", "audit_events", days(config.retention.audit_events))?;
    writeln!(out, "limits")?;
    for (name, value) in ActiveLimits::new(config, &LimitMetrics::default()).describe() {
        writeln!(out, "  {name:<18} {value}")?;
    }
    for warning in config.warnings(&base_url, SystemClock.now()) {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(writeln!(out, "the settings are valid")?)
}

/// A value, and where it comes from.
fn with_source(value: String, source: Option<&UrlSource>) -> String {
    match source {
        Some(source) => format!("{value}, from {source}"),
        None => value,
    }
}
