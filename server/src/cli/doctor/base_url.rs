//! Checks whether the base URL reaches this server.

use belfry_runtime::certificate::rejection;
use belfry_store::Database;
use tokio::net::lookup_host;

use super::proxy;
use super::report::Report;
use super::server::{RunningServer, get_path, parse_json, summarise, verify_diagnostics};
use crate::cli::http_client::{CertificateCheck, GetError, Response};
use crate::config::{BaseUrl, Config};
use crate::diagnostics_key::{Challenge, DiagnosticsPurpose};
use crate::http::diagnostics::DIAGNOSTICS_HEADER;
use crate::paths::{HEALTHZ, METADATA};

/// Maximum number of requests through the base URL, because a load balancer sends some elsewhere.
const MAX_ATTEMPTS: usize = 8;

/// Checks that the base URL reaches this server, and that a proxy passes the client's address.
pub(super) async fn check(
    config: &Config,
    running_server: Option<&RunningServer>,
    report: &mut Report,
) {
    let base_url = config.base_url();
    let url = base_url.as_url();
    let host = base_url.host().trim_matches(['[', ']']);
    let port = url.port_or_known_default();
    if let Err(error) = lookup_host((host, port.unwrap_or_default())).await {
        let fix = "correct base_url, or add the name to the DNS";
        report.fail("base_url", format!("{host} cannot be resolved: {error}"), fix);
        return report.skip("proxy", "base_url cannot be reached");
    }
    let Some(running_server) = running_server else {
        report.skip(
            "base_url",
            format!("{base_url} resolves; the other checks need a running server"),
        );
        return report.skip("proxy", "needs a running server");
    };
    for attempt in 1..=MAX_ATTEMPTS {
        let challenge = Challenge::new(DiagnosticsPurpose::Arrival);
        let header = running_server.key.as_ref().map(|key| challenge.to_header(key));
        let headers: Vec<_> =
            header.iter().map(|header| (DIAGNOSTICS_HEADER, header.as_str())).collect();
        let response = match get_path(url, HEALTHZ, CertificateCheck::Authorities, &headers).await {
            Ok(response) => response,
            Err(error) => {
                let fix = suggest_fix(&error, &base_url);
                report.fail("base_url", format!("{base_url} cannot be used: {error}"), fix);
                return report.skip("proxy", "base_url cannot be reached");
            }
        };
        if let Ok(key) = &running_server.key
            && let Some(received_request) = verify_diagnostics(&response, &challenge, key)
        {
            report.ok("base_url", format!("{base_url} reaches this server"));
            return proxy::check(config, &received_request, response.local_address, report);
        }
        let is_redirect = response.status.is_redirection();
        if attempt == MAX_ATTEMPTS || running_server.key.is_err() || is_redirect {
            report_other_server(config, &response, running_server.key.is_ok(), report).await;
            break;
        }
    }
    let reason = match &running_server.key {
        Ok(_) => "no request through base_url reached this server".to_owned(),
        Err(error) => {
            let directory = std::path::absolute(&config.data).unwrap_or(config.data.clone());
            let has_no_directory = matches!(config.database(), Database::Postgres(_))
                && matches!(directory.try_exists(), Ok(false));
            let advice = if has_no_directory {
                let directory = directory.display();
                format!("create {directory} for the server's user and restart the server")
            } else {
                "run doctor as the server's user, with its data directory".to_owned()
            };
            format!("needs the server's key, which cannot be read ({error}); {advice}")
        }
    };
    report.skip("proxy", reason);
}

/// Returns advice for a base URL that cannot be used.
fn suggest_fix(error: &GetError, base_url: &BaseUrl) -> String {
    let (scheme, address) = base_url.as_url().as_str().split_once("://").unwrap_or_default();
    let other_scheme = if scheme == "https" { "http" } else { "https" };
    let other_setting =
        format!("base_url = \"{other_scheme}://{}\"", address.trim_end_matches('/'));
    match error {
        GetError::Refused(_) => "start the proxy, or correct base_url".to_owned(),
        GetError::NotTls => format!("make the proxy serve HTTPS there, or write {other_setting}"),
        GetError::NotHttp(_) => format!("write {other_setting}, if it serves HTTPS"),
        GetError::Other(_) => "check the DNS, the firewall and the proxy".to_owned(),
        GetError::Certificate(reason) if rejection::is_untrusted(reason) => {
            "use a certificate from a public authority, with its whole chain (fullchain.pem); for \
             a private authority, run this command with SSL_CERT_FILE set to its certificate"
                .to_owned()
        }
        GetError::Certificate(_) => {
            format!("renew the certificate, for {}, and reload the proxy", base_url.host())
        }
    }
}

/// Reports the server that responds at the base URL instead of this one.
async fn report_other_server(
    config: &Config,
    health: &Response,
    has_key: bool,
    report: &mut Report,
) {
    let base_url = config.base_url();
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
    let metadata = get_path(url, METADATA, CertificateCheck::Authorities, &[])
        .await
        .ok()
        .and_then(|response| parse_json(&response))
        .unwrap_or_default();
    match metadata["issuer"].as_str().map(|issuer| issuer.trim_end_matches('/')) {
        Some(issuer) if issuer == base_url.to_string() && has_key => report.warn(
            "base_url",
            format!("{base_url} reaches a different process, whose issuer is this base_url"),
            "if it is another node, run belfry doctor there; if not, correct the proxy",
        ),
        Some(issuer) if issuer == base_url.to_string() => {
            let reason = "responds with this issuer; whether it is this server cannot be verified";
            report.skip("base_url", format!("{base_url} {reason}"));
        }
        Some(issuer) => report.fail(
            "base_url",
            format!("{base_url} reaches a server whose issuer is {issuer}"),
            "correct base_url, or the address to which the proxy forwards; if you changed base_url, \
             restart the server",
        ),
        None => report.fail(
            "base_url",
            format!("{base_url} reaches a different server: {}", summarise(health)),
            format!("make the proxy forward to {}, or correct base_url", config.listen),
        ),
    }
}
