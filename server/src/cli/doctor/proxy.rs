//! Reverse proxies: whether requests through the base URL count for their clients.
//!
//! The request through the base URL has forged forwarding headers. A proxy that is configured right
//! replaces them or appends to them; one that passes a header on unchanged does not set it, and
//! clients can forge it.

use std::net::SocketAddr;

use axum::http::HeaderName;

use super::report::Report;
use crate::config::Config;
use crate::http::diagnostics::{Diagnostics, FORWARDING_HEADERS};

/// An address for documentation (RFC 5737), which is nobody's.
const FORGED: &str = "198.51.100.7";

/// The headers to send.
pub(super) fn forged_headers(config: &Config) -> Vec<(String, String)> {
    let configured = config.trusted_proxy_header.as_ref().map(HeaderName::as_str);
    let mut names: Vec<&str> = FORWARDING_HEADERS.to_vec();
    names.extend(configured.filter(|name| !FORWARDING_HEADERS.contains(name)));
    names.into_iter().map(|name| (name.to_owned(), forged_value(name))).collect()
}

fn forged_value(name: &str) -> String {
    if name == "forwarded" { format!("for={FORGED}") } else { FORGED.to_owned() }
}

/// Judges how the request arrived, which was sent from `local`.
pub(super) fn check(
    config: &Config,
    arrived: &Diagnostics,
    local: SocketAddr,
    report: &mut Report,
) {
    let proxy = arrived.peer.ip();
    if arrived.peer == SocketAddr::new(local.ip().to_canonical(), local.port()) {
        return report.ok("proxy", "none: requests through base_url arrive directly");
    }
    let is_set = |name: &str| {
        let values = arrived.headers.get(name);
        values.is_some_and(|values| *values != [forged_value(name)])
    };
    let is_passed = |name: &str| arrived.headers.contains_key(name) && !is_set(name);
    let configured = config.trusted_proxy_header.as_ref().map(HeaderName::as_str);
    let trusted = configured.map_or_else(|| FORWARDING_HEADERS[..2].to_vec(), |name| vec![name]);
    let set: Vec<&str> = FORWARDING_HEADERS.into_iter().filter(|name| is_set(name)).collect();
    let before = report.failures();
    let mut has_warned = false;
    if !arrived.is_trusted_proxy {
        report.fail(
            "proxy",
            format!(
                "requests through base_url come from {proxy}, which is not in trusted_proxies: \
                 all its clients share one rate limit"
            ),
            format!("trusted_proxies = [\"{proxy}\"]"),
        );
    }
    if !trusted.iter().any(|name| is_set(name)) {
        let shown = trusted.join(" and ");
        let problem = if trusted.iter().any(|name| is_passed(name)) {
            format!("the proxy passes {shown} on as clients send it, so they can forge an address")
        } else {
            format!("the proxy does not set {shown}: all its clients share one rate limit")
        };
        let fix = match set.first() {
            Some(name) => format!("trusted_proxy_header = \"{name}\", which the proxy sets"),
            None => "let it set the header; nginx: proxy_set_header X-Forwarded-For $remote_addr;"
                .to_owned(),
        };
        report.fail("proxy", problem, fix);
    } else if let Some(passed) = trusted.iter().find(|name| is_passed(name)) {
        has_warned = true;
        let problem = format!("the proxy passes {passed} on as clients send it");
        let set = set.first().copied().unwrap_or_default();
        report.warn("proxy", problem, format!("trusted_proxy_header = \"{set}\""));
    }
    if report.failures() == before && !has_warned {
        let client = arrived.client;
        report.ok("proxy", format!("{proxy} names the client {client} in {}", set.join(", ")));
    }
}
