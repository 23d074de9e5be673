//! Reverse proxies: whether requests through the base URL count for their clients.
//!
//! The request through the base URL has forged forwarding headers. A proxy that is configured right
//! replaces them, or appends the address of its client to them; the server reads them from the end,
//! and ignores what is before the first address that is not of a trusted proxy. A proxy that passes
//! a header on, or writes its own value before it, lets clients choose their address.
//!
//! This command usually runs on the machine of the proxy, whose address is trusted. Then the server
//! ignores the appended address, too, and the request counts for the forged one. That says nothing
//! about other clients, so the address at the end of the header is judged, not the result.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::HeaderName;

use super::report::Report;
use super::running::RELOAD;
use crate::config::Config;
use crate::http::diagnostics::{Diagnostics, FORWARDING_HEADERS};

/// An address for documentation (RFC 5737), which is nobody's.
const FORGED: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// The headers to send.
pub(super) fn forged_headers(config: &Config) -> Vec<(String, String)> {
    let configured = config.trusted_proxy_header.as_ref().map(HeaderName::as_str);
    let mut names: Vec<&str> = FORWARDING_HEADERS.to_vec();
    names.extend(configured.filter(|name| !FORWARDING_HEADERS.contains(name)));
    names.into_iter().map(|name| (name.to_owned(), forged_value(name))).collect()
}

fn forged_value(name: &str) -> String {
    if name == "forwarded" { format!("for={FORGED}") } else { FORGED.to_string() }
}

/// What a proxy did with a forged header.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Treatment {
    /// It does not arrive.
    Removed,
    /// The forged value is at its end, where the server reads first.
    PassedOn,
    /// The forged value is gone.
    Replaced,
    /// This value follows the forged one.
    Appended(String),
}

impl Treatment {
    fn of(arrived: &Diagnostics, name: &str) -> Self {
        let lines = arrived.headers.get(name).map(Vec::as_slice).unwrap_or_default();
        let hops: Vec<&str> =
            lines.iter().flat_map(|line| line.split(',')).map(str::trim).collect();
        let forged = forged_value(name);
        match hops.last() {
            None => Self::Removed,
            Some(last) if *last == forged => Self::PassedOn,
            Some(last) if hops.contains(&&*forged) => Self::Appended((*last).to_owned()),
            Some(_) => Self::Replaced,
        }
    }

    fn is_set(&self) -> bool {
        matches!(self, Self::Replaced | Self::Appended(_))
    }
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
    let treatment = |name: &str| Treatment::of(arrived, name);
    let configured = config.trusted_proxy_header.as_ref().map(HeaderName::as_str);
    let trusted = configured.map_or_else(|| FORWARDING_HEADERS[..2].to_vec(), |name| vec![name]);
    let set: Vec<&str> =
        FORWARDING_HEADERS.into_iter().filter(|name| treatment(name).is_set()).collect();
    let before = report.failures();
    let mut has_warned = false;
    check_trust(config, arrived, proxy, report);
    if !trusted.iter().any(|name| treatment(name).is_set()) {
        let shown = trusted.join(" and ");
        let problem = if trusted.iter().any(|name| treatment(name) == Treatment::PassedOn) {
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
    } else if let Some(passed) = trusted.iter().find(|name| treatment(name) == Treatment::PassedOn)
    {
        has_warned = true;
        let problem = format!("the proxy passes {passed} on as clients send it");
        let set = set.first().copied().unwrap_or_default();
        report.warn("proxy", problem, format!("trusted_proxy_header = \"{set}\""));
    }
    if report.failures() == before
        && !has_warned
        && let Some(name) = trusted.iter().find(|name| treatment(name).is_set())
    {
        report.ok("proxy", describe(arrived, name, &treatment(name), proxy));
    }
}

/// Checks that the proxy is trusted, and not everybody.
fn check_trust(config: &Config, arrived: &Diagnostics, proxy: IpAddr, report: &mut Report) {
    if config.trusted_proxies.contains(FORGED.into()) {
        let problem = "trusted_proxies contains addresses of clients, which can choose the address \
                       that they count for";
        report.fail("proxy", problem, format!("trusted_proxies = [\"{proxy}\"]"));
    }
    if arrived.is_trusted_proxy {
        return;
    }
    let problem = format!("requests through base_url come from {proxy}");
    let effect = "all its clients share one rate limit";
    if config.trusted_proxies.contains(proxy) {
        let problem = format!("{problem}, which the server does not trust yet: {effect}");
        report.fail("proxy", problem, RELOAD);
    } else {
        let problem = format!("{problem}, which is not in trusted_proxies: {effect}");
        report.fail("proxy", problem, format!("trusted_proxies = [\"{proxy}\"]"));
    }
}

/// Which client the proxy names, and how.
fn describe(arrived: &Diagnostics, name: &str, treatment: &Treatment, proxy: IpAddr) -> String {
    let client = arrived.client;
    match treatment {
        Treatment::Appended(last) if client == IpAddr::from(FORGED) => format!(
            "{proxy} appends the client, here {last}, to {name}. {last} is a trusted proxy itself, \
             so it may name another client; other addresses may not"
        ),
        Treatment::Appended(_) => format!("{proxy} appends the client, here {client}, to {name}"),
        _ => format!("{proxy} names the client {client} in {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn treatment(lines: &[&str]) -> Treatment {
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        let arrived = Diagnostics {
            key: None,
            has_key: true,
            settings: None,
            version: String::new(),
            open_files: None,
            peer: ([127, 0, 0, 1], 1).into(),
            is_trusted_proxy: true,
            client: Ipv4Addr::LOCALHOST.into(),
            headers: [("x-forwarded-for".to_owned(), lines)].into(),
        };
        Treatment::of(&arrived, "x-forwarded-for")
    }

    #[test]
    fn the_end_of_a_header_shows_who_set_it() {
        assert_eq!(treatment(&[]), Treatment::Removed);
        assert_eq!(treatment(&["198.51.100.7"]), Treatment::PassedOn);
        assert_eq!(treatment(&["10.0.0.1, 198.51.100.7"]), Treatment::PassedOn);
        assert_eq!(treatment(&["10.0.0.1", "198.51.100.7"]), Treatment::PassedOn);
        assert_eq!(treatment(&["10.0.0.1"]), Treatment::Replaced);
        assert_eq!(treatment(&["198.51.100.7, 10.0.0.1"]), Treatment::Appended("10.0.0.1".into()));
        let lines = ["198.51.100.7", "192.0.2.1, 10.0.0.1"];
        assert_eq!(treatment(&lines), Treatment::Appended("10.0.0.1".into()));
    }
}
