//! The running server: whether it responds on this machine, and with which settings.

use serde_json::Value;
use url::Url;

use super::report::Report;
use crate::cli::http_client::{self, CertificateCheck, GetError, Response};
use crate::config::{Config, SettingDigests, is_reloaded};
use crate::http::diagnostics::{DIAGNOSTICS_KEY, Diagnostics};
use crate::paths::{HEALTHZ, READYZ};
use crate::serve::needed_files;

/// Maximum length of a body in a message.
const MAX_LENGTH: usize = 300;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) const RELOAD: &str = "reload the server (SIGHUP, or systemctl reload belfry)";

/// What a server responded on this machine.
pub(super) struct Running {
    /// `None` if this machine is not one of its operators.
    pub(super) diagnostics: Option<Diagnostics>,
}

/// Checks the server on this machine, and returns what it responded, if it runs.
pub(super) async fn check(config: &Config, report: &mut Report) -> Option<Running> {
    let Some(url) = config.local_url() else {
        report.skip("server", "listen has no fixed port, so a server cannot be found");
        return None;
    };
    let shown = url.as_str().trim_end_matches('/');
    let health = match get(&url, HEALTHZ, CertificateCheck::None, &[(DIAGNOSTICS_KEY, "")]).await {
        Ok(response) if is_healthy(&response) => response,
        Err(GetError::Refused(_)) => {
            let message = "if serve was started with flags, give doctor the same ones";
            report.skip("server", format!("not running: nothing listens on {shown}; {message}"));
            return None;
        }
        other => {
            let problem = other.map_or_else(|error| error.to_string(), |found| summary(&found));
            let problem = format!("what listens on {shown} does not respond as belfry: {problem}");
            report.fail("server", problem, "stop the other program, or change listen");
            return None;
        }
    };
    match get(&url, READYZ, CertificateCheck::None, &[]).await {
        Ok(ready) if ready.status.is_success() => {
            report.ok("server", format!("running at {shown}, and ready"));
        }
        other => {
            let problem = other.map_or_else(|error| error.to_string(), |found| summary(&found));
            let problem = format!("running at {shown}, but not ready: {problem}");
            report.fail("server", problem, "see its log, and the checks of the engines");
        }
    }
    let diagnostics = diagnostics(&health);
    if let Some(diagnostics) = &diagnostics {
        compare(config, diagnostics, report);
    }
    Some(Running { diagnostics })
}

/// Compares the version, the settings and the limit of a server with those of this command.
fn compare(config: &Config, server: &Diagnostics, report: &mut Report) {
    let Diagnostics { version, settings, open_files, .. } = server;
    if version != VERSION {
        let problem = format!("the server is version {version}, this command {VERSION}");
        report.warn("server", problem, "restart the server to complete the upgrade");
    }
    let expected = SettingDigests::new(config).without_secrets();
    let changes = settings.as_ref().map(|settings| expected.changes_since(settings));
    // The log does not matter to any check.
    for key in changes.into_iter().flatten().filter(|key| !key.starts_with("log.")) {
        let message = format!("the server uses a different value of {key} than this command");
        let apply = if is_reloaded(key) { RELOAD } else { "restart the server" };
        let fix = format!("{apply}, or give doctor the flags, variables and file of the server");
        report.warn("server", message, fix);
    }
    let needed = needed_files(config.http.max_connections);
    match open_files {
        Some(limit) if *limit < needed => report.fail(
            "open files",
            format!("the server may open {limit} files, http.max_connections needs {needed}"),
            "LimitNOFILE in the systemd unit, or a lower http.max_connections",
        ),
        _ => report.ok("open files", "the limit of the server is enough for http.max_connections"),
    }
}

/// The status and the begin of the body, on one line; of a web page the status alone.
pub(super) fn summary(response: &Response) -> String {
    let (status, words) = (response.status, response.body.split_whitespace().collect::<Vec<_>>());
    let text: String = words.join(" ").chars().take(MAX_LENGTH).collect();
    if text.is_empty() || text.starts_with('<') {
        return status.to_string();
    }
    format!("{status}, {text}")
}

pub(super) fn json(response: &Response) -> Option<Value> {
    serde_json::from_str(&response.body).ok()
}

pub(super) async fn get(
    url: &Url,
    path: &str,
    check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, GetError> {
    let url = url.join(path).map_err(|error| error.to_string())?;
    http_client::get(&url, check, headers).await
}

pub(super) fn is_healthy(response: &Response) -> bool {
    response.status.is_success() && json(response).is_some_and(|body| body["status"] == "ok")
}

pub(super) fn diagnostics(response: &Response) -> Option<Diagnostics> {
    serde_json::from_value(json(response)?["diagnostics"].take()).ok()
}
