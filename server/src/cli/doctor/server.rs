//! Checks whether a server responds on this machine, and compares its settings with this command's.

use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::report::Report;
use crate::cli::http_client::{self, CertificateCheck, GetError, Response};
use crate::config::{Config, SettingDigests, is_reloaded};
use crate::diagnostics_key::{Challenge, DiagnosticsKey, DiagnosticsPurpose};
use crate::http::diagnostics::{DIAGNOSTICS_HEADER, Health, ProcessSettings};
use crate::paths::{HEALTHZ, READYZ};
use crate::serve::needed_files;

/// Maximum length of a response body in a message, in characters.
const MAX_BODY_CHARS: usize = 300;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) const RELOAD_ADVICE: &str = "reload the server (SIGHUP, or systemctl reload belfry)";

/// The server that runs on this machine.
pub(super) struct RunningServer {
    /// The diagnostics key, or the reason why it cannot be read.
    pub(super) key: Result<DiagnosticsKey, String>,
}

/// Checks the server on this machine. Returns `None` if it does not run, or if the process that
/// listens instead does not have its key.
pub(super) async fn check(config: &Config, report: &mut Report) -> Option<RunningServer> {
    let Some(url) = config.local_url() else {
        report.skip("server", "listen has no fixed port, so a server cannot be found");
        return None;
    };
    let address = url.as_str().trim_end_matches('/');
    let path = DiagnosticsKey::path(&config.data, config.listen.port);
    let file = path.display();
    let key = DiagnosticsKey::read(&path).map_err(|error| format!("{file}: {error}"));
    let challenge = Challenge::new(DiagnosticsPurpose::Settings);
    let header = key.as_ref().map(|key| challenge.to_header(key));
    let headers: Vec<_> =
        header.iter().map(|header| (DIAGNOSTICS_HEADER, header.as_str())).collect();
    let health = match get_path(&url, HEALTHZ, CertificateCheck::None, &headers).await {
        Ok(response) if is_healthy(&response) => response,
        Err(GetError::Refused(_)) => {
            let message = "if serve was started with flags, run doctor with the same ones";
            report.skip("server", format!("not running: nothing listens on {address}; {message}"));
            return None;
        }
        result => {
            let response =
                result.map_or_else(|error| error.to_string(), |response| summarise(&response));
            let problem = format!(
                "the process listening on {address} does not respond like belfry: {response}"
            );
            report.fail("server", problem, "stop the other program, or change listen");
            return None;
        }
    };
    let settings = key.as_ref().ok().map(|key| verify_diagnostics(&health, &challenge, key));
    if let Some(None) = settings {
        let problem =
            format!("the process listening on {address} is not the server that wrote {file}");
        let fix =
            "stop the other program, or run doctor with the server's flags, variables and file";
        report.fail("server", problem, fix);
        return None;
    }
    match get_path(&url, READYZ, CertificateCheck::None, &[]).await {
        Ok(ready) if ready.status.is_success() => {
            let note = match &key {
                Ok(_) => String::new(),
                Err(error) => format!("; not verified, because its key cannot be read ({error})"),
            };
            report.ok("server", format!("running at {address}, and ready{note}"));
        }
        result => {
            let response =
                result.map_or_else(|error| error.to_string(), |response| summarise(&response));
            let problem = format!("running at {address}, but not ready: {response}");
            report.fail("server", problem, "see its log, and the database and redis checks");
        }
    }
    if let Some(settings) = settings.flatten() {
        compare_settings(config, &settings, report);
    }
    Some(RunningServer { key })
}

/// Compares the server's version and settings with this command's, and its limit on open files with
/// the configured number of connections.
fn compare_settings(config: &Config, server: &ProcessSettings, report: &mut Report) {
    let ProcessSettings { version, settings, open_files } = server;
    if version != VERSION {
        let problem = format!("the server is version {version}, this command {VERSION}");
        report.warn("server", problem, "restart the server to complete the upgrade");
    }
    let expected = SettingDigests::new(config).without_secrets();
    let changes = expected.changes_since(settings).into_iter();
    // The log does not matter to any check.
    for key in changes.filter(|key| !key.starts_with("log.")) {
        let message = format!("the server uses a different value for {key} than this command");
        let apply = if is_reloaded(key) { RELOAD_ADVICE } else { "restart the server" };
        let fix = format!("{apply}, or run doctor with the server's flags, variables and file");
        report.warn("server", message, fix);
    }
    let needed_limit = needed_files(config);
    match open_files {
        Some(limit) if *limit < needed_limit => report.fail(
            "open files",
            format!("the server may open {limit} files, http.max_connections needs {needed_limit}"),
            "LimitNOFILE in the systemd unit, or a lower http.max_connections",
        ),
        _ => report.ok("open files", "the server's limit is enough for http.max_connections"),
    }
}

/// Returns the status and the start of the body on one line; for a web page only the status.
pub(super) fn summarise(response: &Response) -> String {
    let (status, words) = (response.status, response.body.split_whitespace().collect::<Vec<_>>());
    let body_start: String = words.join(" ").chars().take(MAX_BODY_CHARS).collect();
    if body_start.is_empty() || body_start.starts_with('<') {
        return status.to_string();
    }
    format!("{status}, {body_start}")
}

pub(super) fn parse_json(response: &Response) -> Option<Value> {
    serde_json::from_str(&response.body).ok()
}

pub(super) async fn get_path(
    url: &Url,
    path: &str,
    certificate_check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, GetError> {
    let url = url.join(path).map_err(|error| error.to_string())?;
    http_client::get(&url, certificate_check, headers).await
}

pub(super) fn is_healthy(response: &Response) -> bool {
    response.status.is_success() && parse_json(response).is_some_and(|body| body["status"] == "ok")
}

/// Returns the diagnostics in a response, if they were made with `key` for `challenge`.
pub(super) fn verify_diagnostics<T: DeserializeOwned>(
    response: &Response,
    challenge: &Challenge,
    key: &DiagnosticsKey,
) -> Option<T> {
    let health: Health = serde_json::from_str(&response.body).ok()?;
    health.diagnostics?.verify(challenge, key)
}
