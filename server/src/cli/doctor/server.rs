//! The running server: whether it responds here and at the base URL.

use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use super::proxy;
use super::report::Report;
use crate::config::Config;
use crate::http::diagnostics::{DIAGNOSTICS_KEY, Diagnostics};
use crate::http::paths::{HEALTHZ, METADATA, READYZ};
use crate::http_client::{CertificateCheck, Response, get_with_headers};
use crate::serve::{file_limit, needed_files};

/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn check(config: &Config, report: &mut Report) {
    let local = config.local_url();
    let running = match &local {
        None => {
            report.skip("server", "listen has no fixed port, so a server cannot be found");
            None
        }
        Some(url) => check_local(url, report).await,
    };
    check_file_limit(config, running.as_ref(), report);
    check_base_url(config, local.as_ref(), running.as_ref(), report).await;
}

/// What a server responded on this machine.
struct Running {
    /// `None` if this machine is not one of its operators.
    diagnostics: Option<Diagnostics>,
}

/// Finds the server on this machine.
async fn check_local(url: &Url, report: &mut Report) -> Option<Running> {
    let shown = url.as_str().trim_end_matches('/');
    let address = url.socket_addrs(|| None).unwrap_or_default();
    if TcpStream::connect(&*address).await.is_err() {
        report.skip("server", format!("not running: nothing listens on {shown}"));
        return None;
    }
    let not_belfry = format!("what listens on {shown} does not respond as belfry");
    let fix = "stop the other program, or change listen";
    let health = match get(url, HEALTHZ, CertificateCheck::None, &[(DIAGNOSTICS_KEY, "")]).await {
        Ok(response) if is_healthy(&response) => response,
        Ok(response) => {
            report.fail("server", format!("{not_belfry}: {}", summary(&response)), fix);
            return None;
        }
        Err(error) => {
            report.fail("server", format!("{not_belfry}: {error}"), fix);
            return None;
        }
    };
    let diagnostics = diagnostics(&health);
    match get(url, READYZ, CertificateCheck::None, &[]).await {
        Ok(ready) if ready.status.is_success() => {
            report.ok("server", format!("running at {shown}, and ready"));
        }
        Ok(response) => {
            let problem = format!("running at {shown}, but not ready: {}", summary(&response));
            report.fail("server", problem, "see its log, and the checks of the database");
        }
        Err(error) => {
            let problem = format!("running at {shown}, but not ready: {error}");
            report.fail("server", problem, "see its log");
        }
    }
    if let Some(Diagnostics { version, .. }) = &diagnostics
        && version != VERSION
    {
        let problem = format!("the server is version {version}, this command {VERSION}");
        report.warn("server", problem, "restart the server to complete the upgrade");
    }
    Some(Running { diagnostics })
}

/// Checks that the limit on open files, of the server if it runs, is enough for its connections.
fn check_file_limit(config: &Config, running: Option<&Running>, report: &mut Report) {
    let of_server = running.and_then(|running| running.diagnostics.as_ref());
    let (limit, whose) = match of_server {
        Some(server) => (server.open_files.unwrap_or(u64::MAX), "the server"),
        None => (file_limit(), "this shell"),
    };
    let needed = needed_files(config.http.max_connections);
    let message = format!("{whose} may open {limit} files, http.max_connections needs {needed}");
    match (limit >= needed, of_server) {
        (true, _) if limit == u64::MAX => report.ok("open files", format!("no limit of {whose}")),
        (true, _) => report.ok("open files", message),
        (false, Some(_)) => {
            let fix = "LimitNOFILE in the systemd unit, or a lower http.max_connections";
            report.fail("open files", message, fix);
        }
        (false, None) => {
            let fix = "ulimit -n, or LimitNOFILE in the systemd unit";
            report.warn("open files", message, fix);
        }
    }
}

/// Checks that the base URL leads to this server, and how requests arrive through it.
async fn check_base_url(
    config: &Config,
    local: Option<&Url>,
    running: Option<&Running>,
    report: &mut Report,
) {
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
    let response = match get(url, HEALTHZ, CertificateCheck::Authorities, &headers).await {
        Ok(response) => response,
        Err(error) => {
            let fix = if error.contains("certificate") {
                "use a certificate that clients accept; SSL_CERT_FILE names a private authority"
            } else {
                "check the DNS, the firewall and the proxy"
            };
            let problem = format!("{base_url} cannot be reached from here: {error}");
            report.fail("base_url", problem, fix);
            return report.skip("proxy", "base_url cannot be reached");
        }
    };
    if let Some(arrived) = diagnostics(&response).filter(|arrived| arrived.has_key) {
        report.ok("base_url", format!("{base_url} leads to this server"));
        return proxy::check(config, &arrived, response.local_address, report);
    }
    let before = report.failures();
    check_issuer(url, base_url.to_string(), &response, local, key.is_some(), report).await;
    if key.is_none() && report.failures() == before {
        let reason = "this machine is not in operator_addresses, so the server tells it nothing";
        return report.skip("proxy", reason);
    }
    report.skip("proxy", "the request through base_url did not reach this server");
}

/// Finds out what responds at the base URL instead of this server.
async fn check_issuer(
    url: &Url,
    base_url: String,
    health: &Response,
    local: Option<&Url>,
    has_key: bool,
    report: &mut Report,
) {
    let metadata = get(url, METADATA, CertificateCheck::Authorities, &[]).await;
    let metadata = metadata.ok().and_then(|response| json(&response)).unwrap_or_default();
    let is_same = |issuer: &str| issuer.trim_end_matches('/') == base_url && is_healthy(health);
    match metadata["issuer"].as_str() {
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
            "correct base_url, or the address to which the proxy forwards",
        ),
        None => {
            let problem = format!("{base_url} leads to another server: {}", summary(health));
            let local = local.map_or("this server", |url| url.as_str().trim_end_matches('/'));
            let fix = format!("let the proxy forward to {local}, or correct base_url");
            report.fail("base_url", problem, fix);
        }
    }
}

async fn get(
    url: &Url,
    path: &str,
    check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, String> {
    let url = url.join(path).map_err(|error| error.to_string())?;
    match timeout(TIMEOUT, get_with_headers(&url, check, headers)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no response within {} s", TIMEOUT.as_secs())),
    }
}

fn json(response: &Response) -> Option<Value> {
    serde_json::from_str(&response.body).ok()
}

fn is_healthy(response: &Response) -> bool {
    response.status.is_success() && json(response).is_some_and(|body| body["status"] == "ok")
}

fn diagnostics(response: &Response) -> Option<Diagnostics> {
    serde_json::from_value(json(response)?["diagnostics"].take()).ok()
}

/// The status and the beginning of the body, on one line.
fn summary(response: &Response) -> String {
    let words = response.body.split_whitespace().collect::<Vec<_>>().join(" ");
    let begin: String = words.chars().take(100).collect();
    format!("{} {begin}", response.status.as_u16())
}
