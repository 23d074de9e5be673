//! The configuration: defaults, overridden by `belfry.toml`, environment variables and flags.

mod accent;
mod check;
mod effective;
mod file;
mod limits;
mod listen;
mod overrides;
mod registration;
mod running;
mod secret_file;
mod values;
mod variables;
mod warnings;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use belfry_core::audit::AddressPolicy;
use belfry_core::limits::cidr::Cidr;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::rules::{NewRuleLimits, RuleLimits};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use url::Url;

pub use self::accent::{Accent, Color};
#[cfg(test)]
pub(crate) use self::check::RESERVED_SEGMENTS;
pub use self::effective::EXAMPLE;
pub use self::limits::LimitSettings;
pub use self::listen::ListenAddress;
pub use self::overrides::{Overrides, global_flags, serve_flags};
pub use self::registration::{ApplicationService, RegistrationSource};
pub use self::running::{ChangedSetting, RunningSettings, SettingValues, is_reloaded};
pub use self::secret_file::UrlSource;
pub use self::values::{AccessLog, BaseUrl, LimitMode, LogFormat, LogLevel, RegistrationPolicy};
pub use self::variables::ineffective_variables;
use crate::store::{self, Database, SecretUrl};

/// Every setting, under the name it has in `belfry.toml`.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on.
    #[default("127.0.0.1:8080".parse().expect("a valid address"))]
    pub listen: ListenAddress,
    /// The data directory.
    #[default(PathBuf::from("data"))]
    pub data: PathBuf,
    /// `postgres://…`; SQLite in the data directory when unset.
    pub database: Option<SecretUrl>,
    /// A file that contains this URL instead.
    pub database_file: Option<PathBuf>,
    /// `redis://…` or `rediss://…` for rate limits shared by several nodes; counted in this process
    /// when unset.
    pub redis: Option<SecretUrl>,
    /// A file that contains this URL instead.
    pub redis_file: Option<PathBuf>,
    /// The public URL; `http://LISTEN` when unset, or `https://LISTEN` with TLS.
    pub base_url: Option<BaseUrl>,
    /// Rate limits.
    pub limits: LimitSettings,
    /// Addresses of reverse proxies whose `X-Forwarded-For` and `Forwarded` headers are trusted.
    /// Reloaded on SIGHUP.
    pub trusted_proxies: TrustedProxies,
    /// The only header of trusted proxies that names the client; when unset `X-Forwarded-For` and
    /// `Forwarded`, if they agree. Reloaded on SIGHUP.
    #[serde(with = "values::header_name")]
    pub trusted_proxy_header: Option<HeaderName>,
    /// The part of a user id after the colon; the host of the base URL when unset.
    pub server_name: Option<String>,
    /// The first path segments under which the push rules are served.
    #[default(vec!["_service".to_owned(), "_matrix".to_owned()])]
    pub name_segments: Vec<String>,
    /// Who can create accounts.
    pub registration: RegistrationPolicy,
    /// Who can register apps.
    pub app_registration: RegistrationPolicy,
    /// Limits on the size of push rules.
    pub rules: Rules,
    /// Application services: paths of Matrix registration files, or tables of the same form.
    pub application_services: Vec<RegistrationSource>,
    /// Addresses that may read `/metrics` and the details of `/readyz` on the main address.
    #[default(["127.0.0.0/8", "::1"].map(|range| range.parse().expect("a valid range")).to_vec())]
    pub operator_addresses: Vec<Cidr>,
    /// A separate address for `/metrics` and the details of `/readyz`, which it shows to everybody;
    /// the main address when unset.
    pub metrics_listen: Option<ListenAddress>,
    /// The certificate and key for HTTPS; plain HTTP when unset.
    pub tls: Option<TlsSettings>,
    /// Log level and format.
    pub log: Log,
    /// Limits on connections and requests.
    pub http: Http,
    /// Database connections and cache.
    pub store: store::Options,
    /// How long rows are stored that are no longer needed.
    pub retention: store::RetentionSettings,
    /// Password hashing.
    pub passwords: PasswordSettings,
    /// The title and description of the service.
    pub instance: Instance,
    /// OAuth tokens and metadata.
    pub oauth: OAuth,
    /// Browser sessions.
    pub sessions: Sessions,
    /// Where to report vulnerabilities of this server.
    pub security: Security,
    /// The audit trail.
    pub audit: AuditSettings,
    /// The absolute path of the file that these settings were read from, if there is one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The file that these settings were read from, if it contains passwords or tokens.
    #[serde(skip)]
    pub file_with_secrets: Option<PathBuf>,
    /// Where the URLs of the engines come from.
    #[serde(skip)]
    pub sources: UrlSources,
    /// The file, variable or flag that gives each setting, by its dotted key; all others have their
    /// defaults.
    #[serde(skip)]
    pub origins: BTreeMap<String, String>,
    /// The line of each setting that the file gives, by its dotted key.
    #[serde(skip)]
    pub lines: BTreeMap<String, usize>,
}

/// Where the URLs of the engines come from.
#[derive(Debug, Clone, Default)]
pub struct UrlSources {
    /// `None` if there is no URL: SQLite.
    pub database: Option<UrlSource>,
    /// `None` if there is no URL: limits are counted in this process.
    pub redis: Option<UrlSource>,
}

/// `[rules]`
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Maximum number of user-defined rules per account, in all scopes together.
    #[default(1000)]
    pub max_rules: usize,
    /// Maximum number of conditions of a new rule.
    #[default(64)]
    pub max_conditions: usize,
    /// Maximum size of an account's stored rules, in bytes.
    #[default(1024 * 1024)]
    pub max_bytes: usize,
    /// Maximum size of a request body, in bytes; twice that for explain requests. Requests with many
    /// rules may add twice `max_bytes`.
    #[default(64 * 1024)]
    #[serde(deserialize_with = "values::positive")]
    pub max_body_bytes: usize,
    /// Maximum size of the body of an evaluate request, in bytes.
    #[default(16 * 1024 * 1024)]
    #[serde(deserialize_with = "values::positive")]
    pub max_evaluate_bytes: usize,
}

impl Rules {
    /// The limits on the stored rules of an account.
    pub fn limits(&self) -> RuleLimits {
        RuleLimits { rules: self.max_rules, bytes: self.max_bytes }
    }

    /// The limits on one rule among others.
    pub fn new_rule_limits(&self) -> NewRuleLimits {
        NewRuleLimits { conditions: self.max_conditions, bytes: self.max_body_bytes }
    }

    /// Maximum size of the body of a request with many rules, in bytes. It accepts everything that
    /// an account may store, with spaces.
    pub fn max_import_bytes(&self) -> usize {
        self.max_bytes.saturating_mul(2).saturating_add(self.max_body_bytes)
    }
}

/// `[tls]`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// A PEM file with the certificate and its chain.
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    pub key: PathBuf,
}

/// `[log]`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The minimum level.
    pub level: LogLevel,
    /// Text or JSON.
    pub format: LogFormat,
    /// The requests in the access log.
    pub access: AccessLog,
}

/// `[http]`
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Maximum number of open connections. Beyond it only health requests are answered.
    #[default(10_000)]
    #[serde(deserialize_with = "values::positive")]
    pub max_connections: usize,
    /// Maximum number of open connections of one IPv4 address or IPv6 /64, and times
    /// `limits.ipv6_48_multiple` of one IPv6 /48; further ones are closed at once. Trusted proxies
    /// are exempt.
    #[default(256)]
    #[serde(deserialize_with = "values::positive")]
    pub max_connections_per_address: usize,
    /// Maximum number of headers of an HTTP/1 request.
    #[default(100)]
    #[serde(deserialize_with = "values::positive")]
    pub max_headers: usize,
    /// Maximum size of a request head, in bytes; at least 8 KiB for HTTP/1.
    #[default(32 * 1024)]
    #[serde(deserialize_with = "values::positive")]
    pub max_header_bytes: usize,
    /// Maximum size of a request body, in bytes.
    #[default(64 * 1024)]
    #[serde(deserialize_with = "values::positive")]
    pub max_body_bytes: usize,
    /// Maximum time to receive a request head; enforced after at most twice that time.
    #[default(Duration::from_secs(15))]
    #[serde(with = "crate::duration")]
    pub header_timeout: Duration,
    /// Maximum time to receive a whole request body.
    #[default(Duration::from_secs(20))]
    #[serde(with = "crate::duration")]
    pub body_timeout: Duration,
    /// Maximum time of a TLS handshake.
    #[default(Duration::from_secs(10))]
    #[serde(with = "crate::duration")]
    pub handshake_timeout: Duration,
    /// Maximum time without a request on an open connection.
    #[default(Duration::from_mins(1))]
    #[serde(with = "crate::duration")]
    pub idle_timeout: Duration,
    /// Maximum time for requests in flight after a signal to stop.
    #[default(Duration::from_secs(10))]
    #[serde(with = "crate::duration")]
    pub shutdown_timeout: Duration,
}

/// `[passwords]`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordSettings {
    /// Number of passwords hashed concurrently, at 19 MiB each; the number of cores when unset.
    pub parallel: Option<NonZeroUsize>,
}

/// `[instance]`
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instance {
    /// The name of the service.
    #[default("Belfry".to_owned())]
    pub title: String,
    /// Its purpose, on the front page and in the API; blank lines separate paragraphs.
    pub description: String,
    /// An SVG or PNG file that the pages show beside the title.
    pub logo: Option<PathBuf>,
    /// The colour of links and buttons on the pages.
    pub accent: Option<Accent>,
    /// Where users who forgot their password get a new one; a link on the sign-in page.
    #[serde(deserialize_with = "values::link")]
    pub password_reset_url: Option<Url>,
    /// Where people get an account; a link on the sign-in page.
    #[serde(deserialize_with = "values::link")]
    pub sign_up_url: Option<Url>,
}

/// `[oauth]`
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuth {
    /// Lifetime of access tokens; until they are revoked when unset.
    #[serde(with = "crate::duration::some")]
    pub token_lifetime: Option<Duration>,
    /// The developer documentation named in the OAuth metadata.
    #[default(Url::parse("https://docs.joinmastodon.org/api/").expect("the URL is valid"))]
    pub documentation_url: Url,
    /// Client ids that may introspect every token, not only their own.
    pub resource_servers: Vec<String>,
    /// Maximum number of authorization requests that wait for sign-in or consent; beyond that the
    /// oldest are deleted.
    #[default(100_000)]
    #[serde(deserialize_with = "values::positive")]
    pub max_pending_requests: usize,
    /// Maximum number of tokens without a user per app; beyond that the least recently used are
    /// deleted.
    #[default(100)]
    #[serde(deserialize_with = "values::positive")]
    pub max_app_tokens: usize,
    /// Whether the push rules accept an access token in the query, where logs of proxies show it.
    #[default = true]
    pub query_tokens: bool,
    /// Whether authorization requests without a PKCE challenge are rejected.
    pub require_pkce: bool,
}

/// `[sessions]`
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// Maximum time without a request.
    #[default(Duration::from_hours(14 * 24))]
    #[serde(with = "crate::duration")]
    pub idle_timeout: Duration,
    /// Maximum lifetime.
    #[default(Duration::from_hours(90 * 24))]
    #[serde(with = "crate::duration")]
    pub absolute_timeout: Duration,
}

/// `[security]`: the content of `/.well-known/security.txt` (RFC 9116).
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Security {
    /// `mailto:` or `https:` URLs to report vulnerabilities to, the preferred one first. Without
    /// one there is no `security.txt`.
    pub contact: Vec<Url>,
    /// When the other settings must have been reviewed.
    #[serde(with = "values::timestamp")]
    pub expires: Option<Timestamp>,
    /// The disclosure policy.
    pub policy: Option<Url>,
    /// A key to encrypt reports with.
    pub encryption: Option<Url>,
}

/// `[audit]`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditSettings {
    /// How much of a client's address is recorded.
    pub addresses: AddressPolicy,
}

/// An invalid configuration. The message names the setting and its source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// Loads the configuration. Flags and variables take precedence over the file, which takes
    /// precedence over the defaults. Without a named file, `./belfry.toml` is read if it exists.
    /// URLs with passwords can be in files of their own.
    pub fn load(overrides: &Overrides) -> Result<Self, ConfigError> {
        let mut config = match overrides.file() {
            Some(path) => file::read(path)?,
            None => file::read_default()?,
        };
        overrides.apply(&mut config)?;
        let credentials = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
        config.read_secret_files(credentials.as_deref())?;
        config.check()?;
        Ok(config)
    }

    /// The database to open.
    pub fn database(&self) -> Database {
        match &self.database {
            Some(url) => Database::Postgres(url.clone()),
            None => Database::Sqlite(self.data.join("belfry.db")),
        }
    }

    /// The part of a user id after the colon: the configured name, or the host of the base URL.
    pub fn server_name_for<'a>(&'a self, base_url: &'a BaseUrl) -> &'a str {
        self.server_name.as_deref().unwrap_or_else(|| base_url.host())
    }

    /// The configured base URL, or the one of the address to listen on.
    pub fn base_url(&self) -> BaseUrl {
        self.base_url_at(self.listen.port)
    }

    /// The configured base URL, or the one of the host to listen on with the port that is bound.
    pub fn base_url_at(&self, port: u16) -> BaseUrl {
        let default = || self.listening_url(port).parse().expect("a host and a port are a URL");
        self.base_url.clone().unwrap_or_else(default)
    }

    /// The URL under which this machine reaches its server; `None` if its port is not fixed.
    pub fn local_url(&self) -> Option<Url> {
        let Self { listen, tls, .. } = self;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{}", listen.reachable()));
        url.ok().filter(|_| listen.port != 0)
    }

    /// The URL of the host to listen on with the port that is bound.
    pub fn listening_url(&self, port: u16) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.listen.authority(port))
    }
}
