//! The base URL: whether it leads to this server.

use belfry_runtime::certificate::rejection;
use rustls::CertificateError;
use tokio::net::lookup_host;
use url::Url;

use super::proxy;
use super::report::Report;
use super::response::{json, redirect, summary};
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
    let mut attempts = 0;
    let response = loop {
        attempts += 1;
        let header = [(DIAGNOSTICS_KEY, key.unwrap_or_default())];
        let response = match get(url, HEALTHZ, CertificateCheck::Authorities, &header).await {
            Ok(response) => response,
            Err(error) => {
                let fix = fix_for(&error, &base_url);
                report.fail("base_url", format!("{base_url} cannot be used: {error}"), fix);
                break None;
            }
        };
        if let Some(arrived) = diagnostics(&response).filter(|arrived| arrived.has_key) {
            report.ok("base_url", format!("{base_url} leads to this server"));
            return proxy::check(config, &arrived, response.local_address, report);
        }
        if attempts == ATTEMPTS || key.is_none() || !is_healthy(&response) {
            break Some(response);
        }
    };
    if let Some(response) = response {
        let (is_elsewhere, message, fix) = describe_other(config, &response, key.is_some()).await;
        match (is_elsewhere, key) {
            (true, _) => report.fail("base_url", message, fix),
            (false, Some(_)) => report.warn("base_url", message, fix),
            (false, None) => {
                report.ok("base_url", message);
                let reason =
                    "this machine is not in operator_addresses, so the server tells it nothing";
                return report.skip("proxy", reason);
            }
        }
    }
    report.skip("proxy", "no request through base_url reached this server");
}

/// What to do about a base URL without a response.
fn fix_for(error: &GetError, base_url: &BaseUrl) -> String {
    let (scheme, rest) = base_url.as_url().as_str().split_once("://").unwrap_or_default();
    let other = if scheme == "https" { "http" } else { "https" };
    let other = format!("base_url = \"{other}://{}\"", rest.trim_end_matches('/'));
    let fix = match error {
        GetError::Refused(_) => "start the proxy, or correct base_url",
        GetError::NotTls => return format!("let the proxy serve HTTPS there, or write {other}"),
        GetError::NotHttp(_) => return format!("write {other}, if it serves HTTPS"),
        GetError::Failed(_) => "check the DNS, the firewall and the proxy",
        GetError::Certificate(reason) if rejection::is_untrusted(reason) => {
            "use a certificate of a public authority, with its whole chain (fullchain.pem); for a \
             private authority, name its certificate in the variable SSL_CERT_FILE of this command"
        }
        GetError::Certificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => return format!("get a certificate for {}, or correct base_url", base_url.host()),
        GetError::Certificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "set the clock of this machine, by NTP",
        GetError::Certificate(_) => "renew the certificate, and reload the proxy",
    };
    fix.to_owned()
}

/// Describes what responds at the base URL instead of this server: whether it is a mistake, what it
/// is, and what to do.
async fn describe_other(
    config: &Config,
    health: &Response,
    is_operator: bool,
) -> (bool, String, String) {
    let base_url = config.base_url();
    let url = base_url.as_url();
    if let Some(target) = redirect(health, url) {
        let origin = target.origin().ascii_serialization();
        if origin == base_url.to_string() {
            let problem = format!("{base_url}{HEALTHZ} redirects to {target}");
            let fix = "let the proxy forward every path, without a sign-in";
            return (true, problem, fix.to_owned());
        }
        let problem = format!("{base_url} redirects to {origin}");
        return (true, problem, format!("write base_url = \"{origin}\""));
    }
    let metadata = get(url, METADATA, CertificateCheck::Authorities, &[]).await;
    let metadata = metadata.ok().and_then(|response| json(&response)).unwrap_or_default();
    match metadata["issuer"].as_str() {
        Some(issuer) if issuer.trim_end_matches('/') != base_url.to_string() => (
            true,
            format!("{base_url} leads to a server whose issuer is {issuer}"),
            "correct base_url, or the address to which the proxy forwards; if you changed base_url, \
             restart the server"
                .to_owned(),
        ),
        Some(_) => {
            let what = if is_operator { "another process of belfry" } else { "a belfry" };
            let fix = "if it is another node, run belfry doctor there; if not, correct the proxy";
            (false, format!("{base_url} leads to {what} with this base_url"), fix.to_owned())
        }
        None => {
            let local = config.local_url().map_or_else(|| "this server".to_owned(), Url::into);
            let fix = format!("let the proxy forward to {}, or correct base_url", local.trim_end_matches('/'));
            (true, format!("{base_url} leads to another server: {}", summary(health)), fix)
        }
    }
}
