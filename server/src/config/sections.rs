//! Settings in sections of `belfry.toml`. Skipped fields are constants that tests replace: they
//! cannot be set in the file.

use std::time::Duration;

use belfry_core::limits::cidr::Cidr;
use belfry_core::rules::{MAX_CONDITIONS, NewRuleLimits, RuleLimits};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use url::Url;

use super::accent::Accent;
use super::push_contact::PushContact;
use super::values::{self, AccessLog, LogLevel};

/// `[rules]`: limits on push rules.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// Maximum number of user rules per account, in all rule scopes together.
    #[default(1000)]
    pub max_rules: usize,
    /// Maximum size of an account's stored rules, in bytes.
    #[default(1024 * 1024)]
    #[serde(skip)]
    pub max_bytes: usize,
    /// Maximum size of a request body, in bytes; twice that for explain requests. Imports
    /// may be larger by twice `max_bytes`.
    #[default(64 * 1024)]
    #[serde(skip)]
    pub max_body_bytes: usize,
}

impl RuleSettings {
    /// Returns the limits on an account's stored rules.
    pub fn limits(&self) -> RuleLimits {
        RuleLimits { rules: self.max_rules, bytes: self.max_bytes }
    }

    pub fn new_rule_limits(&self) -> NewRuleLimits {
        NewRuleLimits { conditions: MAX_CONDITIONS, bytes: self.max_body_bytes }
    }

    /// Returns the maximum body size of an import, in bytes: enough for all rules that an account
    /// may store, with whitespace.
    pub fn max_import_bytes(&self) -> usize {
        self.max_bytes.saturating_mul(2).saturating_add(self.max_body_bytes)
    }
}

/// `[log]`: log messages and the access log.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Minimum level of log messages.
    pub level: LogLevel,
    pub access: AccessLog,
}

/// `[http]`: limits on connections and requests, and the shutdown.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Maximum number of open connections. Beyond it only health requests are answered.
    #[default(10_000)]
    #[serde(deserialize_with = "values::deserialize_positive")]
    pub max_connections: usize,
    /// Maximum number of open connections per IPv4 address or IPv6 /64, and per IPv6 /48 this
    /// eightfold; additional ones are closed immediately. Trusted
    /// proxies are exempt.
    #[default(256)]
    #[serde(skip)]
    pub max_connections_per_address: usize,
    /// Maximum size of a request body, in bytes; page forms are limited to 64 KiB.
    #[default(64 * 1024)]
    #[serde(skip)]
    pub max_body_bytes: usize,
    /// Maximum time to receive a whole request body.
    #[default(Duration::from_secs(20))]
    #[serde(skip)]
    pub body_timeout: Duration,
    /// Maximum time without a request on an open connection.
    #[default(Duration::from_mins(1))]
    #[serde(skip)]
    pub idle_timeout: Duration,
    /// Time after SIGTERM during which connections are still accepted, while `/readyz` is 503 and
    /// connections are closed after their next response.
    #[serde(with = "belfry_runtime::duration::allow_zero")]
    pub shutdown_delay: Duration,
    /// Maximum time to finish requests in flight after a signal to stop and `shutdown_delay`.
    #[default(Duration::from_secs(10))]
    #[serde(skip)]
    pub shutdown_timeout: Duration,
}

/// `[instance]`: the title, appearance and links of the service.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstanceSettings {
    #[default("Belfry".to_owned())]
    pub title: String,
    /// The purpose of the service, on the front page and in the API; blank lines separate
    /// paragraphs.
    pub description: String,
    /// The colour of links and buttons on the pages.
    pub accent: Option<Accent>,
    /// Page where users who forgot their password get a new one; a link on the sign-in page.
    #[serde(deserialize_with = "values::deserialize_link")]
    pub password_reset_url: Option<Url>,
    /// The rules of the service, which people accept on the sign-up page.
    #[serde(deserialize_with = "values::deserialize_link")]
    pub rules_url: Option<Url>,
}

/// `[oauth]`: tokens and OAuth clients.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthSettings {
    /// Lifetime of access tokens; unlimited when unset.
    #[serde(with = "belfry_runtime::duration::optional")]
    pub token_lifetime: Option<Duration>,
    /// The documentation for app developers, on the front page and in the OAuth metadata; the
    /// OpenAPI document when unset.
    #[serde(deserialize_with = "values::deserialize_link")]
    pub documentation_url: Option<Url>,
    /// Client ids that may introspect every token, not only their own.
    pub resource_servers: Vec<String>,
    /// Maximum number of app tokens per app; beyond that the least recently used are deleted.
    #[default(100)]
    #[serde(skip)]
    pub max_app_tokens: usize,
    /// True if the push rules API accepts an access token in the query, which exposes it in
    /// proxy logs.
    #[default = true]
    pub query_tokens: bool,
    /// True if authorization requests without a PKCE challenge are rejected.
    pub require_pkce: bool,
}

/// `[sessions]`: the lifetime of browser sessions.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Maximum time without a request in a session.
    #[default(Duration::from_hours(14 * 24))]
    #[serde(skip)]
    pub idle_timeout: Duration,
    /// Maximum lifetime of a session.
    #[default(Duration::from_hours(90 * 24))]
    #[serde(with = "belfry_runtime::duration")]
    pub absolute_timeout: Duration,
}

/// `[push]`: the delivery of notifications to devices.
#[derive(Debug, Clone, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PushSettings {
    /// A `mailto:` or `https:` URL of the operator, sent to push services with every
    /// message. Without it nothing is delivered.
    pub contact: Option<PushContact>,
    /// Private networks to which messages may be sent, even without TLS.
    pub allowed_networks: Vec<Cidr>,
    /// Maximum number of waiting deliveries, at most half of them for one origin. Beyond that,
    /// requests get 503.
    #[default(1_000_000)]
    #[serde(skip)]
    pub max_waiting: usize,
}
