//! The running server: whether it responds on this machine, and with which settings.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::report::Report;
use super::response::{json, summary};
use super::running;
use crate::cli::http_client::{CertificateCheck, GetError, Response, get_with_headers};
use crate::cli::lock::lock_holder;
use crate::config::Config;
use crate::http::diagnostics::{DIAGNOSTICS_KEY, Diagnostics};
use crate::paths::{HEALTHZ, READYZ};
use crate::serve::{file_limit, needed_files};

/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks the server, and returns what it responded, if it runs.
pub(super) async fn check(config: &Config, report: &mut Report) -> Option<Running> {
    let running = match config.local_url() {
        None => {
            report.skip("server", "listen has no fixed port, so a server cannot be found");
            None
        }
        Some(url) => check_local(config, &url, report).await,
    };
    let settings = running.as_ref().and_then(|running| running.diagnostics.as_ref());
    if let Some(settings) = settings.and_then(|diagnostics| diagnostics.settings.as_ref()) {
        running::check(config, settings, report);
    }
    check_file_limit(config, running.as_ref(), report);
    running
}

/// What a server responded on this machine.
pub(super) struct Running {
    /// `None` if this machine is not one of its operators.
    pub(super) diagnostics: Option<Diagnostics>,
}

/// Finds the server on this machine.
async fn check_local(config: &Config, url: &Url, report: &mut Report) -> Option<Running> {
    let shown = url.as_str().trim_end_matches('/');
    let address = url.socket_addrs(|| None).unwrap_or_default();
    if TcpStream::connect(&*address).await.is_err() {
        match lock_holder(&config.database()) {
            Some(process) => report.warn(
                "server",
                format!("process {process} uses the data, but nothing listens on {shown}"),
                "if serve was started with flags, give doctor the same ones, such as --listen; if \
                 you changed listen, restart the server; otherwise wait until it has started",
            ),
            None => report.skip("server", format!("not running: nothing listens on {shown}")),
        }
        return None;
    }
    let not_belfry = format!("what listens on {shown} does not respond as belfry");
    let fix = "stop the other program, or change listen";
    let health = match get(url, HEALTHZ, CertificateCheck::None, &[(DIAGNOSTICS_KEY, "")]).await {
        Ok(response) if is_healthy(&response) => Ok(response),
        Ok(response) => Err(summary(&response)),
        Err(error) => Err(error.to_string()),
    };
    let health = match health {
        Ok(response) => response,
        Err(problem) => {
            report.fail("server", format!("{not_belfry}: {problem}"), fix);
            return None;
        }
    };
    let diagnostics = diagnostics(&health);
    let problem = match get(url, READYZ, CertificateCheck::None, &[]).await {
        Ok(ready) if ready.status.is_success() => None,
        Ok(response) => Some(summary(&response)),
        Err(error) => Some(error.to_string()),
    };
    match problem {
        None => report.ok("server", format!("running at {shown}, and ready")),
        Some(problem) => {
            let problem = format!("running at {shown}, but not ready: {problem}");
            report.fail("server", problem, "see its log, and the checks of the engines");
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

pub(super) async fn get(
    url: &Url,
    path: &str,
    check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, GetError> {
    let url = url.join(path).map_err(|error| error.to_string())?;
    match timeout(TIMEOUT, get_with_headers(&url, check, headers)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no response within {} s", TIMEOUT.as_secs()).into()),
    }
}

pub(super) fn is_healthy(response: &Response) -> bool {
    response.status.is_success() && json(response).is_some_and(|body| body["status"] == "ok")
}

pub(super) fn diagnostics(response: &Response) -> Option<Diagnostics> {
    serde_json::from_value(json(response)?["diagnostics"].take()).ok()
}
