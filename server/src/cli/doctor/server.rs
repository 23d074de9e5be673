//! Checks the server that uses the data directory, and compares its settings with this command's.

use url::Url;

use super::report::Report;
use crate::cli::http_client::{self, CertificateCheck, Response};
use crate::config::{Config, RunningSettings, is_reloaded};
use crate::control::{self, ControlRequest, ProcessSettings, socket_path};
use crate::paths::READYZ;

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
                let file = socket_path(&config.data);
                let message = format!(
                    "no server responds at {} ({error}); if one is running, run doctor as its user \
                     and with its flags; its log says why if it cannot create this file",
                    file.display()
                );
                report.skip("server", message);
                return None;
            }
        };
    if let Some(url) = config.local_url_at(server.port) {
        let address = url.as_str().trim_end_matches('/');
        let problem = match get_path(&url, READYZ, CertificateCheck::None, &[]).await {
            Ok(response) if response.status.is_success() => None,
            Ok(response) => Some(summarise(&response)),
            Err(error) => Some(error),
        };
        match problem {
            None => report.ok("server", format!("running at {address}, and ready")),
            Some(problem) => {
                let problem = format!("running at {address}, but not ready: {problem}");
                report.fail("server", problem, "see its log, and the database and redis checks");
            }
        }
    }
    compare_settings(config, &server, report);
    Some(server)
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

/// Returns the status and the start of the body on one line; for a web page only the status.
pub(super) fn summarise(response: &Response) -> String {
    let (status, words) = (response.status, response.body.split_whitespace().collect::<Vec<_>>());
    let body_start: String = words.join(" ").chars().take(MAX_BODY_CHARS).collect();
    if body_start.is_empty() || body_start.starts_with('<') {
        return status.to_string();
    }
    format!("{status}, {body_start}")
}

pub(super) async fn get_path(
    url: &Url,
    path: &str,
    certificate_check: CertificateCheck,
    headers: &[(&str, &str)],
) -> Result<Response, String> {
    let url = url.join(path).map_err(|error| error.to_string())?;
    http_client::get(&url, certificate_check, headers).await
}
