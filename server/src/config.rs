//! The configuration: defaults, overridden by `belfry.toml`, environment variables and flags.

mod accent;
mod check;
mod effective;
mod file;
mod file_modes;
mod limits;
mod listen;
mod overrides;
mod push_contact;
mod registration;
mod running;
mod secret_file;
mod sections;
mod values;
mod warnings;

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::http::HeaderName;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_store::{Database, SecretUrl};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use url::Url;

pub use self::accent::Accent;
#[cfg(test)]
pub(crate) use self::check::RESERVED_SEGMENTS;
pub use self::effective::EXAMPLE;
pub use self::limits::{IPV6_48_MULTIPLE, LimitSettings};
pub use self::listen::ListenAddress;
pub use self::overrides::{Overrides, global_flags, serve_flags};
pub use self::push_contact::PushContact;
pub use self::registration::{ApplicationService, RegistrationSource};
pub use self::running::{RunningSettings, is_reloaded};
pub use self::sections::{
    HttpSettings, InstanceSettings, LogSettings, OAuthSettings, PushSettings, RuleSettings,
    SessionSettings,
};
pub use self::values::{AccessLog, BaseUrl, LogLevel, RateLimitMode, RegistrationPolicy};
pub use crate::tls::TlsSettings;

/// Every setting, with its name in `belfry.toml`.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    #[default("127.0.0.1:8080".parse().expect("a valid address"))]
    pub listen: ListenAddress,
    #[default(PathBuf::from("data"))]
    pub data: PathBuf,
    /// `postgres://…`; SQLite in the data directory when unset.
    #[serde(deserialize_with = "values::deserialize_database_url")]
    pub database: Option<SecretUrl>,
    /// A file that contains the PostgreSQL URL, in place of `database`.
    pub database_file: Option<PathBuf>,
    /// `redis://…` or `rediss://…` for rate limits shared by several nodes; requests are counted in
    /// this process when unset.
    #[serde(deserialize_with = "values::deserialize_redis_url")]
    pub redis: Option<SecretUrl>,
    /// A file that contains the Redis URL, in place of `redis`.
    pub redis_file: Option<PathBuf>,
    /// A file with the key that seals secrets in the database; `belfry.key` in the data directory
    /// when unset.
    pub secret_key_file: Option<PathBuf>,
    /// The public URL; `http://LISTEN` when unset, or `https://LISTEN` with TLS.
    pub base_url: Option<BaseUrl>,
    pub limits: LimitSettings,
    /// Addresses of reverse proxies whose `X-Forwarded-For` and `Forwarded` headers are trusted.
    /// Reloaded on SIGHUP.
    pub trusted_proxies: TrustedProxies,
    /// The only trusted header with the client's address. If it is unset, `X-Forwarded-For` and
    /// `Forwarded` are used, if they agree. Reloaded on SIGHUP.
    #[serde(with = "values::as_string")]
    pub trusted_proxy_header: Option<HeaderName>,
    /// The part of a user id after the colon; the host of the base URL when unset.
    pub server_name: Option<String>,
    /// The first path segments under which the Matrix API is served.
    #[default(vec!["_service".to_owned(), "_matrix".to_owned()])]
    pub name_segments: Vec<String>,
    /// Permission to create accounts.
    pub registration: RegistrationPolicy,
    pub app_registration: RegistrationPolicy,
    /// Limits on the size of push rules.
    pub rules: RuleSettings,
    /// Application services: paths of Matrix registration files, or tables of the same form.
    pub application_services: Vec<RegistrationSource>,
    /// A separate listener for `/metrics` and the details of `/readyz`, without access control;
    /// when unset, both are served on the main address to clients on this machine.
    pub metrics_listen: Option<ListenAddress>,
    /// The certificate and key for HTTPS; plain HTTP when unset.
    pub tls: Option<TlsSettings>,
    pub log: LogSettings,
    /// Limits on connections and requests.
    pub http: HttpSettings,
    /// Database connections and cache.
    pub store: belfry_store::Options,
    /// Retention of rows that are no longer needed.
    pub retention: belfry_store::RetentionSettings,
    /// The title and description of the service.
    pub instance: InstanceSettings,
    pub oauth: OAuthSettings,
    pub sessions: SessionSettings,
    /// The delivery of notifications to devices.
    pub push: PushSettings,
    /// The file that the settings were read from, if it contains passwords or tokens.
    #[serde(skip)]
    pub file_with_secrets: Option<PathBuf>,
    /// The file, variable, flag or credential that sets each setting, by dotted key. Settings
    /// without an entry have their defaults.
    #[serde(skip)]
    pub origins: BTreeMap<String, String>,
    /// The line of each setting in the file, by dotted key.
    #[serde(skip)]
    pub lines: BTreeMap<String, usize>,
}

/// An invalid configuration. Each problem names the setting and, if known, its source.
#[derive(Debug, thiserror::Error)]
#[error("{}", .problems.join("; "))]
pub struct ConfigError {
    pub problems: Vec<String>,
}

impl ConfigError {
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()] }
    }

    /// Returns an error if there are problems.
    pub fn from_problems(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }
}

impl Config {
    /// Loads the configuration. Flags take precedence over variables, variables over the file, and
    /// the file over the defaults. Without a named file, `./belfry.toml` is read if it exists.
    /// URLs with passwords can be in separate files.
    pub fn load(overrides: &Overrides) -> Result<Self, ConfigError> {
        let (mut config, table) = match overrides.file() {
            Some(path) => file::read(path)?,
            None => file::read_default()?,
        };
        overrides.apply(&mut config, table)?;
        config.check_data_flag()?;
        let credentials_directory = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
        config.read_secret_files(credentials_directory.as_deref())?;
        config.check()?;
        Ok(config)
    }

    pub fn database(&self) -> Database {
        match &self.database {
            Some(url) => Database::Postgres(url.clone()),
            None => Database::Sqlite(self.data.join("belfry.db")),
        }
    }

    /// Returns the path of the sealing key. Nodes that share PostgreSQL need the same key, so there
    /// it has no default.
    pub fn sealing_key_path(&self) -> Option<PathBuf> {
        match (&self.secret_key_file, &self.database) {
            (Some(path), _) => Some(path.clone()),
            (None, None) => Some(self.data.join("belfry.key")),
            (None, Some(_)) => None,
        }
    }

    /// Returns the part of a user id after the colon: the configured name, or the host of the base
    /// URL.
    pub fn server_name_for<'a>(&'a self, base_url: &'a BaseUrl) -> &'a str {
        self.server_name.as_deref().unwrap_or_else(|| base_url.host())
    }

    /// Returns the configured base URL, or the URL of the listen address.
    pub fn base_url(&self) -> BaseUrl {
        self.base_url_at(self.listen.port)
    }

    /// Returns the configured base URL, or the URL of the listen host with this port.
    pub fn base_url_at(&self, port: u16) -> BaseUrl {
        let listen_url = || self.listening_url(port).parse().expect("a host and a port are a URL");
        self.base_url.clone().unwrap_or_else(listen_url)
    }

    /// Returns the URL at which this machine reaches the server; `None` if the port is not fixed.
    pub fn local_url(&self) -> Option<Url> {
        self.local_url_at(self.listen.port)
    }

    /// Returns the URL at which this machine reaches a server on this port.
    pub fn local_url_at(&self, port: u16) -> Option<Url> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut address = self.listen.reachable_address();
        address.port = port;
        let url = Url::parse(&format!("{scheme}://{address}"));
        url.ok().filter(|_| port != 0)
    }

    pub fn listening_url(&self, port: u16) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.listen.authority_with_port(port))
    }
}
