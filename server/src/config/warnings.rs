//! Warnings about settings and files that are valid but unsafe or probably a mistake.

use std::collections::BTreeMap;
use std::net::IpAddr;

use belfry_core::limits::cidr::Cidr;
use belfry_core::limits::setting::{LimitOverride, LimitSetting};
use jiff::Timestamp;

use super::{BaseUrl, Config, RegistrationPolicy};
use crate::tls::certificate::Certificate;

impl Config {
    /// Returns the warnings for the operator, at startup and in `belfry config check`.
    pub fn warnings(&self, base_url: &BaseUrl, now: Timestamp) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.exposure_warnings(base_url).into_iter().map(str::to_owned).collect();
        let rows = ("rows", BTreeMap::from(self.limits.rows.clone()));
        for (section, limits) in [rows, ("abuse", BTreeMap::from(self.limits.abuse.clone()))] {
            for (name, setting) in limits {
                let LimitSetting::Override(LimitOverride { requests: Some(0), .. }) = setting
                else {
                    continue;
                };
                warnings.push(format!(
                    "limits.{section}.{name} has requests = 0, which rejects every request that it \
                     counts; {name} = false removes the limit"
                ));
            }
        }
        for (key, ranges, effect) in [
            (
                "trusted_proxies",
                &self.trusted_proxies.0,
                "clients can choose the address that they are counted by: list only the addresses \
                 of your proxies",
            ),
            (
                "push.allowed_networks",
                &self.push.allowed_networks,
                "users can make Belfry send requests to every server in it: list only the networks \
                 of your push gateways",
            ),
        ] {
            warnings.extend(ranges.iter().filter_map(|range| range_warning(key, range, effect)));
        }
        let local_ranges = self.push.allowed_networks.iter().filter(|range| {
            let contains = |address: &&str| address.parse().is_ok_and(|ip| range.contains(ip));
            !range.is_too_large() && LOCAL_ADDRESSES.iter().any(contains)
        });
        warnings.extend(local_ranges.map(|range| {
            format!(
                "push.allowed_networks contains {range}, the addresses of this machine or of its \
                 cloud provider's services, so users can make Belfry send requests to them"
            )
        }));
        warnings.extend(self.certificate_warnings(base_url, now));
        warnings.extend(self.file_warnings());
        warnings
    }

    /// Returns warnings about proxies, connections in clear text and open registration.
    fn exposure_warnings(&self, base_url: &BaseUrl) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        let has_trusted_proxies = !self.trusted_proxies.0.is_empty();
        if base_url.is_https() && self.tls.is_none() && !has_trusted_proxies {
            warnings.push(
                "base_url is https but this process serves plain HTTP, so clients connect through \
                 a proxy; without its address in trusted_proxies they all share one rate limit",
            );
        }
        if self.trusted_proxy_header.is_some() && !has_trusted_proxies {
            warnings.push(
                "trusted_proxy_header has no effect without trusted_proxies: list the addresses of \
                 your proxies there",
            );
        }
        if !is_local_host(base_url.host()) {
            if !base_url.is_https() {
                warnings.push(
                    "base_url is http on a public host: passwords and tokens are sent \
                     in clear text; use a proxy with HTTPS, or [tls]",
                );
            }
            if self.registration == RegistrationPolicy::Open {
                warnings.push(
                    "registration is open: anyone who reaches this server can create accounts; \
                     set registration = \"closed\" if only the operator should",
                );
            }
        }
        if self.database.as_ref().is_some_and(|url| url.is_clear_text(is_local_host)) {
            warnings.push(
                "the connection to PostgreSQL on another host is not encrypted; add \
                 sslmode=verify-full to the database URL",
            );
        }
        if self.redis.as_ref().is_some_and(|url| url.is_clear_text(is_local_host)) {
            warnings
                .push("the connection to Redis on another host is not encrypted; use rediss://…");
        }
        warnings
    }

    /// Returns warnings about the certificate in `[tls]`; none if it cannot be read.
    fn certificate_warnings(&self, base_url: &BaseUrl, now: Timestamp) -> Vec<String> {
        let Some(path) = self.tls.as_ref().map(|tls| &tls.certificate) else { return Vec::new() };
        let Ok(certificate) = Certificate::read(path) else { return Vec::new() };
        let host = base_url.host();
        let name_problem = (!certificate.covers(host)).then(|| {
            format!(
                "is not valid for {host}, the host of base_url: clients reject it; get one for \
                 this host, or correct base_url"
            )
        });
        let problems = certificate.validity_problem(now).into_iter().chain(name_problem);
        problems.map(|problem| format!("the certificate {} {problem}", path.display())).collect()
    }
}

/// Addresses that are not in the network of any push gateway: this machine, and link-local ones,
/// where cloud providers serve the credentials of the machine.
const LOCAL_ADDRESSES: [&str; 4] = ["127.0.0.1", "::1", "169.254.169.254", "fe80::1"];

/// Returns a warning about a range that is too large, or whose address has host bits set, such as
/// `10.0.0.5/8`.
fn range_warning(key: &str, range: &Cidr, effect: &str) -> Option<String> {
    if range.is_too_large() {
        return Some(format!(
            "{key} contains {range}, which is larger than any private network, so {effect}"
        ));
    }
    let network = range.normalize()?;
    let address = range.address();
    Some(format!(
        "{key}: {range} matches all of {network}; write {network} for the range, or {address} for \
         a single address"
    ))
}

/// Returns whether a host is this machine: a loopback address, `localhost` or a name below it.
fn is_local_host(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn warnings_for(settings: &str) -> Vec<String> {
        // The developer's data directory might cause warnings.
        let data = PathBuf::from("/nonexistent");
        let config = Config { data, ..toml::from_str(settings).unwrap() };
        config.warnings(&config.base_url(), Timestamp::from_second(1).unwrap())
    }

    #[test]
    fn an_unsafe_or_ineffective_setting_causes_one_warning() {
        for (settings, warning) in [
            ("base_url = 'https://ring.example'\nregistration = 'closed'", "trusted_proxies"),
            ("trusted_proxy_header = 'x-real-ip'", "trusted_proxy_header has no effect"),
            ("base_url = 'http://ring.example'\nregistration = 'closed'", "clear text"),
            ("listen = '0.0.0.0:80'\nregistration = 'closed'", "clear text"),
            (
                "base_url = 'https://ring.example'\ntrusted_proxies = ['127.0.0.1']\n\
                 app_registration = 'closed'",
                "can create accounts; set",
            ),
            ("database = 'postgres://db/belfry'", "PostgreSQL on another host"),
            ("database = 'postgres://db/belfry?sslmode=prefer'", "PostgreSQL on another host"),
            ("database = 'postgres:///belfry?host=10.0.0.1'", "PostgreSQL on another host"),
            ("redis = 'redis://cache'", "Redis on another host"),
            ("redis = 'redis://[2001:db8::1]:6379'", "Redis on another host"),
            (
                "limits.rows.media.requests = 0",
                "limits.rows.media has requests = 0, which rejects every request that it counts; \
                 media = false removes the limit",
            ),
            ("limits.abuse.sign_in_name.requests = 0", "limits.abuse.sign_in_name has"),
            ("trusted_proxies = ['0.0.0.0/0']", "trusted_proxies contains 0.0.0.0/0, which is"),
            ("trusted_proxies = ['10.0.0.1', '::/0']", "trusted_proxies contains ::/0, which is"),
            (
                "trusted_proxies = ['10.0.0.5/8']",
                "trusted_proxies: 10.0.0.5/8 matches all of 10.0.0.0/8; write 10.0.0.0/8 for the \
                 range, or 10.0.0.5 for a single address",
            ),
            ("trusted_proxies = ['10.0.0.5/4']", "contains 10.0.0.5/4, which is"),
            ("push.allowed_networks = ['0.0.0.0/0']", "contains 0.0.0.0/0, which is larger"),
            ("push.allowed_networks = ['127.0.0.0/8']", "contains 127.0.0.0/8, the addresses of"),
            ("push.allowed_networks = ['169.254.0.0/16']", "contains 169.254.0.0/16, the"),
            ("push.allowed_networks = ['::1']", "contains ::1, the addresses of this machine"),
        ] {
            let messages = warnings_for(settings);
            let [message] = &*messages else { panic!("{settings}: {messages:?}") };
            assert!(message.contains(warning), "{settings}: {message}");
        }
    }

    #[test]
    fn safe_settings_cause_no_warning() {
        for settings in [
            "",
            "listen = '[::1]:8080'",
            "base_url = 'http://belfry.localhost:8080'",
            "base_url = 'https://ring.example'\nregistration = 'closed'\n\
             trusted_proxies = ['127.0.0.1']",
            "database = 'postgres://me:x@127.0.0.1/belfry'",
            "database = 'postgres://localhost/belfry'",
            "database = 'postgres://%2Frun%2Fpostgresql/belfry'",
            "database = 'postgres:///belfry?host=/run/postgresql'",
            "database = 'postgres://db/belfry?sslmode=require'",
            "redis = 'redis://127.0.0.1'",
            "redis = 'rediss://cache'",
            "trusted_proxies = ['10.0.0.0/8', 'fc00::/7']",
            "push.allowed_networks = ['10.0.0.0/8', 'fc00::/7']",
            "limits.rows.media.requests = 1\nlimits.abuse.sign_in_name = false",
        ] {
            assert_eq!(warnings_for(settings), [""; 0], "{settings}");
        }
    }
}
