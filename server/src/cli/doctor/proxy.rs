//! Reverse proxies: checks that rate limits apply to the client's address, not the proxy's.

use std::net::SocketAddr;

use axum::http::HeaderName;

use super::report::Report;
use super::server::RELOAD_ADVICE;
use crate::config::Config;
use crate::control::Arrival;

/// Checks how a request that was sent from `local_address` arrived at the server.
pub(super) fn check(
    config: &Config,
    arrival: &Arrival,
    local_address: SocketAddr,
    report: &mut Report,
) {
    if arrival.peer == SocketAddr::new(local_address.ip().to_canonical(), local_address.port()) {
        return report.ok("proxy", "none: requests through base_url arrive directly");
    }
    let proxy = arrival.peer.ip();
    let effect = "all its clients share one rate limit";
    let configured_header = config.trusted_proxy_header.as_ref().map(HeaderName::as_str);
    let trusted_headers =
        configured_header.map_or_else(|| vec!["x-forwarded-for", "forwarded"], |name| vec![name]);
    let forwarding_header =
        trusted_headers.iter().find(|name| arrival.headers.iter().any(|header| header == *name));
    if !arrival.is_trusted_proxy {
        let problem = format!("requests through base_url come from {proxy}");
        if config.trusted_proxies.contains(proxy) {
            let problem = format!("{problem}, which the server does not trust yet: {effect}");
            report.fail("proxy", problem, RELOAD_ADVICE);
        } else {
            let problem = format!("{problem}, which is not in trusted_proxies: {effect}");
            // Without the second setting, the other header, which the client sent, would be read too.
            let header_setting = match forwarding_header {
                Some(name) if configured_header.is_none() => {
                    format!(" and trusted_proxy_header = \"{name}\"")
                }
                _ => String::new(),
            };
            let fix = format!("trusted_proxies = [\"{proxy}\"]{header_setting}");
            report.fail("proxy", problem, fix);
        }
    }
    match (forwarding_header, arrival.headers.first()) {
        (Some(name), _) if arrival.is_trusted_proxy => {
            report.ok("proxy", format!("{proxy} passes the client address in {name}"));
        }
        (Some(_), _) => {}
        (None, other_header) => {
            let problem =
                format!("the proxy does not set {}: {effect}", trusted_headers.join(" or "));
            let fix = match other_header {
                Some(name) => format!("trusted_proxy_header = \"{name}\", which the proxy sets"),
                None => "make it set the header; nginx: proxy_set_header X-Forwarded-For \
                         $remote_addr;"
                    .to_owned(),
            };
            report.fail("proxy", problem, fix);
        }
    }
}
