//! The base URL: whether it leads to this server.

use belfry_runtime::certificate::rejection;
use rustls::CertificateError;
use tokio::net::lookup_host;
use url::Url;

use super::proxy;
use super::report::Report;
use super::response::{json, redirect, summary};
use super::running::RESTART;
use super::server::{Running, diagnostics, get, is_healthy};
use crate::cli::http_client::{CertificateCheck, GetError, Response};
use crate::config::{BaseUrl, Config};
use crate::http::diagnostics::DIAGNOSTICS_KEY;
use crate::paths::{HEALTHZ, METADATA};

/// Maximum number of requests through the base URL. A load balancer sends some to other nodes.
const ATTEMPTS: usize = 8;

/// Checks that the base URL leads to this server, and how requests arrive through it.
pub(super) async fn check(config: &Config, running: Option<&Running>, report: &mut Report) {
    let base_url = config.base_url();
    let url = base_url.as_url();
    let (host, port) = (base_url.host().trim_matches(['[', ']']), url.port_or_known_default());
    if let Err(error) = lookup_host((host, port.unwrap_or_default())).await {
        let fix = "correct base_url, or add the name to the DNS";
        report.fail("base_url", format!("{host} cannot be resolved: {error}"), fix);
        return report.skip("proxy", "base_url cannot be reached");
    }
    let Some(running) = running else {
        report.skip("base_url", format!("{base_url} resolves; the rest needs a running server"));
        return report.skip("proxy", "needs a running server");
    };
    let key = running.diagnostics.as_ref().and_then(|details| details.key.as_deref());
    let headers = proxy::forged_headers(config);
    let mut headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push((DIAGNOSTICS_KEY, key.unwrap_or_default()));
    let arrived_here = |response: &Response| {
        diagnostics(response).filter(|arrived| key.is_some() && arrived.has_key)
    };
    let request = async || get(url, HEALTHZ, CertificateCheck::Authorities, &headers).await;
    let mut response = request().await;
    for _ in 1..ATTEMPTS {
        match &response {
            Ok(elsewhere) if is_healthy(elsewhere) && arrived_here(elsewhere).is_none() => {
                response = request().await;
            }
            _ => break,
        }
    }
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            let (problem, fix) = describe_error(&error, &base_url);
            report.fail("base_url", problem, fix);
            return report.skip("proxy", "the request through base_url got no response");
        }
    };
    if let Some(arrived) = arrived_here(&response) {
        match running.base_url() {
            Some(used) if used != base_url.to_string() => report.fail(
                "base_url",
                format!("{base_url} leads to this server, which still uses {used} in every link"),
                RESTART,
            ),
            _ => report.ok("base_url", format!("{base_url} leads to this server")),
        }
        return proxy::check(config, &arrived, response.local_address, report);
    }
    if let Some(target) = redirect(&response, url) {
        let (problem, fix) = describe_redirect(&base_url, &target);
        report.fail("base_url", problem, fix);
        return report.skip("proxy", "the request through base_url did not reach this server");
    }
    let before = report.failures();
    let local = config.local_url();
    check_issuer(url, base_url.to_string(), &response, local, key.is_some(), report).await;
    if key.is_none() && report.failures() == before {
        let reason = "this machine is not in operator_addresses, so the server tells it nothing";
        return report.skip("proxy", reason);
    }
    report.skip("proxy", "the request through base_url did not reach this server");
}

/// What is wrong with the base URL if there is no response, and what to do about it.
fn describe_error(error: &GetError, base_url: &BaseUrl) -> (String, String) {
    let (scheme, rest) = base_url.as_url().as_str().split_once("://").unwrap_or_default();
    let other = if scheme == "https" { "http" } else { "https" };
    let other = format!("base_url = \"{other}://{}\"", rest.trim_end_matches('/'));
    let fix = match error {
        GetError::Certificate(reason) => return describe_rejection(reason, error, base_url),
        GetError::Refused(_) => "start the proxy, or correct base_url".to_owned(),
        GetError::NotTls => format!("let the proxy serve HTTPS there, or write {other}"),
        GetError::NotHttp(_) => format!("write {other}, if it serves HTTPS"),
        GetError::Failed(_) => "check the DNS, the firewall and the proxy".to_owned(),
    };
    (format!("{base_url} cannot be used from here: {error}"), fix)
}

fn describe_rejection(
    reason: &CertificateError,
    error: &GetError,
    base_url: &BaseUrl,
) -> (String, String) {
    let fix = match reason {
        reason if rejection::is_untrusted(reason) => {
            "use a certificate of a public authority, with its whole chain (fullchain.pem); for a \
             private authority, name its certificate in the variable SSL_CERT_FILE of this command"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("get a certificate for {}, or correct base_url", base_url.host())
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "set the clock of this machine, by NTP".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "renew the certificate, and reload the proxy".to_owned()
        }
        _ => "replace the certificate, and reload the proxy".to_owned(),
    };
    (format!("clients reject {base_url}: {error}"), fix)
}

/// What is wrong with a base URL that redirects, and what to do about it.
fn describe_redirect(base_url: &BaseUrl, target: &Url) -> (String, String) {
    let origin = target.origin().ascii_serialization();
    if origin == base_url.to_string() {
        let problem = format!("{base_url}{HEALTHZ} redirects to {target}");
        return (problem, "let the proxy forward every path, without a sign-in".to_owned());
    }
    (format!("{base_url} redirects to {origin}"), format!("write base_url = \"{origin}\""))
}

/// Finds out what responds at the base URL instead of this server.
async fn check_issuer(
    url: &Url,
    base_url: String,
    health: &Response,
    local: Option<Url>,
    has_key: bool,
    report: &mut Report,
) {
    let metadata = get(url, METADATA, CertificateCheck::Authorities, &[]).await;
    let metadata = metadata.ok().and_then(|response| json(&response)).unwrap_or_default();
    let is_same = |issuer: &str| issuer.trim_end_matches('/') == base_url;
    match metadata["issuer"].as_str() {
        Some(issuer) if is_same(issuer) && !is_healthy(health) => report.fail(
            "base_url",
            format!("{base_url} leads to belfry, but {HEALTHZ} responds with {}", summary(health)),
            "let the proxy forward every path and header",
        ),
        Some(issuer) if is_same(issuer) && !has_key => {
            report.ok("base_url", format!("{base_url} leads to a belfry with this base_url"));
        }
        Some(issuer) if is_same(issuer) => report.warn(
            "base_url",
            format!("{base_url} leads to another process of belfry with this base_url"),
            "if it is another node, run belfry doctor there; if not, correct the proxy",
        ),
        Some(issuer) => report.fail(
            "base_url",
            format!("{base_url} leads to a server whose issuer is {issuer}"),
            "correct base_url, or the address to which the proxy forwards; if you changed base_url, \
             restart the server",
        ),
        None => {
            let problem = format!("{base_url} leads to another server: {}", summary(health));
            let local = local.as_ref().map_or("this server", |url| url.as_str());
            let local = local.trim_end_matches('/');
            let fix = format!("let the proxy forward to {local}, or correct base_url");
            report.fail("base_url", problem, fix);
        }
    }
}
