//! Checks the server that uses the data directory, and compares its settings with this command's.

use std::io;

use belfry_store::Database;
use serde_json::Value;
use url::Url;

use super::report::Report;
use crate::cli::http_client::{self, CertificateCheck, GetError, Response};
use crate::config::{Config, RunningSettings, is_reloaded};
use crate::control::{self, ControlRequest, ProcessSettings, socket_path};
use crate::paths::{HEALTHZ, READYZ};

/// Maximum length of a response body in a message, in characters.
const MAX_BODY_CHARS: usize = 300;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) const RELOAD_ADVICE: &str = "reload the server (SIGHUP, or systemctl reload belfry)";

/// Checks the running server, and returns its settings. Returns `None` if it does not run or does
/// not respond at its control socket.
pub(super) async fn check(config: &Config, report: &mut Report) -> Option<ProcessSettings> {
    let server: ProcessSettings =
        match control::request(&config.data, &ControlRequest::Settings).await {
            Ok(server) => server,
            Err(error) => {
                check_without_socket(config, &error, report).await;
                return None;
            }
        };
    if let Some(url) = config.local_url_at(server.port) {
        let address = url.as_str().trim_end_matches('/');
        match get_path(&url, READYZ, CertificateCheck::None, &[]).await {
            Ok(ready) if ready.status.is_success() => {
                report.ok("server", format!("running at {address}, and ready"));
            }
            result => {
                let response = summarise_result(result);
                let problem = format!("running at {address}, but not ready: {response}");
                report.fail("server", problem, "see its log, and the database and redis checks");
            }
        }
    }
    compare_settings(config, &server, report);
    Some(server)
}

/// Reports whether the server runs without a control socket, or another program listens instead.
async fn check_without_socket(config: &Config, error: &io::Error, report: &mut Report) {
    let Some(url) = config.local_url() else {
        return report.skip("server", "not running: listen has no fixed port");
    };
    let address = url.as_str().trim_end_matches('/');
    match get_path(&url, HEALTHZ, CertificateCheck::None, &[]).await {
        Ok(response) if is_healthy(&response) => {
            let file = socket_path(&config.data);
            let problem = format!(
                "the server at {address} does not respond at {}, so its settings cannot be checked \
                 ({error})",
                file.display()
            );
            let has_directory = config.data.is_dir();
            let fix = match config.database() {
                Database::Postgres(_) if !has_directory => {
                    format!("create the directory {} for the server's user", config.data.display())
                }
                _ => "run doctor as the server's user and with its data directory; if the server \
                      cannot create the socket, its log says why"
                    .to_owned(),
            };
            report.warn("server", problem, fix);
        }
        Err(GetError::Refused(_)) => {
            let advice = "if serve was started with flags, run doctor with the same ones";
            report.skip("server", format!("not running: nothing listens on {address}; {advice}"));
        }
        result => {
            let response = summarise_result(result);
            let problem = format!(
                "the process listening on {address} does not respond like belfry: {response}"
            );
            report.fail("server", problem, "stop the other program, or change listen");
        }
    }
}

/// Compares the server's version and settings with this command's.
fn compare_settings(config: &Config, server: &ProcessSettings, report: &mut Report) {
    let ProcessSettings { version, settings, .. } = server;
    if version != VERSION {
        let problem = format!("the server is version {version}, this command {VERSION}");
        report.warn("server", problem, "restart the server to complete the upgrade");
    }
    let expected = RunningSettings::new(config).without_secrets();
    let changes = expected.changes_since(settings).into_iter();
    // The log does not matter to any check.
    for key in changes.filter(|key| !key.starts_with("log.")) {
        let message = format!("the server uses a different value for {key} than this command");
        let apply = if is_reloaded(key) { RELOAD_ADVICE } else { "restart the server" };
        let fix = format!("{apply}, or run doctor with the server's flags, variables and file");
        report.warn("server", message, fix);
    }
}

fn summarise_result(result: Result<Response, GetError>) -> String {
    result.map_or_else(|error| error.to_string(), |response| summarise(&response))
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

fn is_healthy(response: &Response) -> bool {
    response.status.is_success() && parse_json(response).is_some_and(|body| body["status"] == "ok")
}
