//! Checks whether the base URL reaches this server.

use belfry_runtime::random;
use serde_json::Value;
use tokio::net::lookup_host;

use super::proxy;
use super::report::Report;
use super::server::{get_path, summarise};
use crate::cli::http_client::{CertificateCheck, Response};
use crate::config::{BaseUrl, Config};
use crate::control::{self, Arrival, ControlRequest, PROBE_HEADER, ProcessSettings};
use crate::paths::{HEALTHZ, METADATA};

/// Maximum number of requests through the base URL, because a load balancer sends some elsewhere.
const MAX_ATTEMPTS: usize = 8;

/// Checks that the base URL reaches this server, and that a proxy passes the client's address.
pub(super) async fn check(config: &Config, server: Option<&ProcessSettings>, report: &mut Report) {
    let base_url = config.base_url_at(server.map_or(config.listen.port, |server| server.port));
    let url = base_url.as_url();
    let host = base_url.host().trim_matches(['[', ']']);
    let port = url.port_or_known_default();
    if let Err(error) = lookup_host((host, port.unwrap_or_default())).await {
        let fix = "correct base_url, or add the name to the DNS";
        report.fail("base_url", format!("{host} cannot be resolved: {error}"), fix);
        return report.skip("proxy", "base_url cannot be reached");
    }
    if server.is_none() {
        let reason = "resolves; the other checks need a running server and its socket";
        report.skip("base_url", format!("{base_url} {reason}"));
        return report.skip("proxy", "needs a running server and its socket");
    }
    let probe = random::hex_id();
    // The first call tells the server to expect the probe.
    let arrival = async || {
        let request = ControlRequest::Arrival { probe: probe.clone() };
        control::request::<Option<Arrival>>(&config.data, &request).await.ok().flatten()
    };
    arrival().await;
    for attempt in 1..=MAX_ATTEMPTS {
        let headers = [(PROBE_HEADER, &*probe)];
        let response = match get_path(url, HEALTHZ, CertificateCheck::Authorities, &headers).await {
            Ok(response) => response,
            Err(error) => {
                let fix = "correct base_url, the DNS, the firewall or the proxy; for a certificate \
                           from a private authority, set SSL_CERT_FILE to the authority's file";
                report.fail("base_url", format!("{base_url} cannot be used: {error}"), fix);
                return report.skip("proxy", "base_url cannot be reached");
            }
        };
        if let Some(arrival) = arrival().await {
            report.ok("base_url", format!("{base_url} reaches this server"));
            return proxy::check(config, &arrival, response.local_address, report);
        }
        if attempt == MAX_ATTEMPTS || response.status.is_redirection() {
            report_other_server(config, &base_url, &response, report).await;
            break;
        }
    }
    report.skip("proxy", "no request through base_url reached this server");
}

/// Reports the server that responds at the base URL instead of this one.
async fn report_other_server(
    config: &Config,
    base_url: &BaseUrl,
    health: &Response,
    report: &mut Report,
) {
    let url = base_url.as_url();
    let location = health.location.as_ref().filter(|_| health.status.is_redirection());
    if let Some(target) = location.and_then(|location| url.join(location).ok()) {
        let origin = target.origin().ascii_serialization();
        let fix = if origin == base_url.to_string() {
            "make the proxy forward every path, without a sign-in".to_owned()
        } else {
            format!("write base_url = \"{origin}\"")
        };
        return report.fail("base_url", format!("{base_url}{HEALTHZ} redirects to {target}"), fix);
    }
    let metadata: Value = get_path(url, METADATA, CertificateCheck::Authorities, &[])
        .await
        .ok()
        .and_then(|response| serde_json::from_str(&response.body).ok())
        .unwrap_or_default();
    let issuer = metadata["issuer"].as_str().map(|issuer| issuer.trim_end_matches('/'));
    if issuer == Some(&*base_url.to_string()) {
        return report.warn(
            "base_url",
            format!("{base_url} reaches a different process, whose issuer is this base_url"),
            "if it is another node, run belfry doctor there; if not, correct the proxy",
        );
    }
    let description = issuer
        .map_or_else(|| summarise(health), |issuer| format!("a belfry with the base URL {issuer}"));
    report.fail(
        "base_url",
        format!("{base_url} reaches a different server: {description}"),
        format!(
            "make the proxy forward to {}, or correct base_url and restart the server",
            config.listen
        ),
    );
}
