//! The settings: one struct with defaults, filled from a file, then the environment, then flags.

mod check;
mod file;
mod limits;
mod overrides;
mod registration;
mod values;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belfry_core::limits::forwarded::TrustedProxies;
use serde::Deserialize;
use url::Url;

pub use self::limits::Limits;
pub use self::overrides::Overrides;
pub use self::registration::{Namespace, Namespaces, Registration, RegistrationSource};
pub use self::values::{BaseUrl, LimitMode, LogFormat, LogLevel, RegistrationPolicy};
use crate::store::{self, Database, SecretUrl};

/// Every setting, under the name it has in `belfry.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The folder of the data.
    pub data: PathBuf,
    /// `postgres://…`; the SQLite file in the data folder when unset.
    pub database: Option<SecretUrl>,
    /// `redis://…` or `rediss://…`, where request counters are shared; in this process when unset.
    pub redis: Option<SecretUrl>,
    /// The address under which clients reach this service; `http://LISTEN` when unset.
    pub base_url: Option<BaseUrl>,
    /// Rate limits.
    pub limits: Limits,
    /// The addresses of proxies before this service, whose word on who calls is believed.
    pub trusted_proxies: TrustedProxies,
    /// The part of a user id after the colon; the host of the base URL when unset.
    pub server_name: Option<String>,
    /// The first path segments under which the push rules are served.
    pub name_segments: Vec<String>,
    /// Whether strangers can make accounts.
    pub registration: RegistrationPolicy,
    /// Bounds on push rules.
    pub rules: Rules,
    /// Who may act for users: paths of Matrix registration files, or tables of the same form.
    pub application_services: Vec<RegistrationSource>,
    /// Another address for `/metrics`; on the main one when unset.
    pub metrics_listen: Option<SocketAddr>,
    /// The certificate and key for HTTPS; plain HTTP when unset.
    pub tls: Option<Tls>,
    /// What is logged, and how.
    pub log: Log,
    /// Bounds on connections and requests.
    pub http: Http,
    /// The database's pool and memory.
    pub store: store::Options,
    /// Password hashing.
    pub passwords: Passwords,
    /// What the service says of itself.
    pub instance: Instance,
    /// Apps and tokens.
    pub oauth: OAuth,
    /// Browsers in which somebody is signed in.
    pub sessions: Sessions,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data: PathBuf::from("data"),
            database: None,
            redis: None,
            base_url: None,
            limits: Limits::default(),
            trusted_proxies: TrustedProxies::default(),
            server_name: None,
            name_segments: vec!["_service".to_owned(), "_matrix".to_owned()],
            registration: RegistrationPolicy::default(),
            rules: Rules::default(),
            application_services: Vec::new(),
            metrics_listen: None,
            tls: None,
            log: Log::default(),
            http: Http::default(),
            store: store::Options::default(),
            passwords: Passwords::default(),
            instance: Instance::default(),
            oauth: OAuth::default(),
            sessions: Sessions::default(),
        }
    }
}

/// `[rules]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// How many rules of their own an account may have, in all scopes together.
    pub max_rules: usize,
    /// How many bytes all that is stored of an account's rules may take.
    pub max_bytes: usize,
    /// How many bytes the body of a request may have.
    pub max_body_bytes: usize,
    /// How many bytes the body of a request for the verdicts of many users may have.
    pub max_evaluate_bytes: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_rules: 1000,
            max_bytes: 1024 * 1024,
            max_body_bytes: 64 * 1024,
            max_evaluate_bytes: 16 * 1024 * 1024,
        }
    }
}

/// `[tls]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file: the certificate, then those that vouch for it.
    pub certificate: PathBuf,
    /// A PEM file: the private key.
    pub key: PathBuf,
}

/// `[log]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The least important lines that are still written.
    pub level: LogLevel,
    /// For people or for programs.
    pub format: LogFormat,
}

/// `[http]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// How many connections may be open; more wait to be accepted.
    pub max_connections: usize,
    /// How many headers a request may have.
    pub max_headers: usize,
    /// How many bytes the head of a request may have.
    pub max_header_bytes: usize,
    /// How many bytes the body of a request may have.
    pub max_body_bytes: usize,
    /// How long the head of a request may take; found at the latest after twice that time.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub header_timeout: Duration,
    /// How long the whole body of a request may take.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub body_timeout: Duration,
    /// How long a connection may be open without a request; also for the TLS handshake.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub idle_timeout: Duration,
    /// How long calls in flight may go on after a signal to stop.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub shutdown_timeout: Duration,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_headers: 100,
            max_header_bytes: 32 * 1024,
            max_body_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

/// `[passwords]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Passwords {
    /// How many are hashed at the same time, at 19 MiB each; the number of cores when unset.
    pub parallel: Option<NonZeroUsize>,
}

/// `[instance]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instance {
    /// The name of the service, for people.
    pub title: String,
    /// What it is for, in a sentence.
    pub description: String,
}

impl Default for Instance {
    fn default() -> Self {
        Self { title: "Belfry".to_owned(), description: String::new() }
    }
}

/// `[oauth]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuth {
    /// How long a token is good; until it is revoked when unset.
    #[serde(deserialize_with = "crate::duration::deserialize_some")]
    pub token_lifetime: Option<Duration>,
    /// The page that tells developers how to use the service.
    pub documentation_url: Url,
    /// The client ids of those who may ask what any token is, not only their own.
    pub resource_servers: Vec<String>,
}

impl Default for OAuth {
    fn default() -> Self {
        // Whoever wrote a client for this interface wrote it by that page.
        let documentation_url = Url::parse("https://docs.joinmastodon.org/api/");
        Self {
            token_lifetime: None,
            documentation_url: documentation_url.expect("this is a URL"),
            resource_servers: Vec::new(),
        }
    }
}

/// `[sessions]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// How long somebody stays signed in without coming back.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub idle_timeout: Duration,
    /// How long somebody stays signed in at most.
    #[serde(deserialize_with = "crate::duration::deserialize")]
    pub absolute_timeout: Duration,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_hours(14 * 24),
            absolute_timeout: Duration::from_hours(90 * 24),
        }
    }
}

/// Why the settings cannot be used. Every text names the setting and its place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// Reads the settings: flags beat the environment, which beats the file, which beats the
    /// defaults. `flags` or `env` may name the file; `./belfry.toml` is read when it is there.
    pub fn load(flags: &Overrides, env: &Overrides) -> Result<Self, ConfigError> {
        let named = flags.config.as_ref().or(env.config.as_ref());
        let mut config = match named {
            Some((path, _)) => file::read(Path::new(path))?,
            None if Path::new(DEFAULT_FILE).exists() => file::read(Path::new(DEFAULT_FILE))?,
            None => Self::default(),
        };
        env.lay_over(&mut config)?;
        flags.lay_over(&mut config)?;
        config.check()?;
        Ok(config)
    }

    /// Where the data is.
    #[must_use]
    pub fn database(&self) -> Database {
        match &self.database {
            Some(url) => Database::Postgres(url.clone()),
            None => Database::Sqlite(self.data.join("belfry.db")),
        }
    }

    /// The part of a user id after the colon, where clients reach this service at this address.
    #[must_use]
    pub fn server_name_for<'a>(&'a self, base_url: &'a BaseUrl) -> &'a str {
        self.server_name.as_deref().unwrap_or_else(|| base_url.host())
    }

    /// The base URL, given the address that was really bound.
    #[must_use]
    pub fn base_url(&self, bound: SocketAddr) -> BaseUrl {
        self.base_url.clone().unwrap_or_else(|| BaseUrl::of(bound, self.tls.is_some()))
    }
}

const DEFAULT_FILE: &str = "belfry.toml";
