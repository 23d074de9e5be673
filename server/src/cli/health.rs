//! `belfry health`: checks whether a running server responds, for containers and scripts.

use std::io::{Write, stdout};

use clap::{Args, ValueHint};
use url::Url;

use super::CliError;
use super::http_client::{CertificateCheck, Response, get};
use crate::config::Config;
use crate::escape::escape;
use crate::paths::{HEALTHZ, READYZ};

#[derive(Args)]
pub(super) struct Command {
    /// URL of the server [default: the `listen` address on this machine]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(super) url: Option<Url>,
    /// Also check whether its database can be read and written
    #[arg(long)]
    pub(super) ready: bool,
}

impl Command {
    /// Checks the server that `config` starts on this machine. Its certificate is not verified,
    /// because it is for the server's public name.
    pub(super) fn run(&self, config: &Config) -> Result<(), CliError> {
        let url = config.local_url().ok_or("listen has no fixed port; use --url")?;
        let response = fetch_status(&url, self.ready, CertificateCheck::None);
        print_response(
            response
                .map_err(|error| format!("{error}; use --url if the server listens elsewhere"))?,
        )
    }
}

/// Checks the server at this URL, whose path is ignored.
pub(super) fn check(
    url: &Url,
    ready: bool,
    certificate_check: CertificateCheck,
) -> Result<(), CliError> {
    print_response(fetch_status(url, ready, certificate_check)?)
}

fn fetch_status(
    url: &Url,
    ready: bool,
    certificate_check: CertificateCheck,
) -> Result<(Url, Response), CliError> {
    let url = url.join(if ready { READYZ } else { HEALTHZ })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let response = runtime.block_on(get(&url, certificate_check, &[]));
    response.map_err(|error| format!("{url}: {error}").into()).map(|response| (url, response))
}

fn print_response((url, response): (Url, Response)) -> Result<(), CliError> {
    let status = response.status;
    let body = response.body;
    if status.is_success() {
        Ok(writeln!(stdout(), "{url}: {status} {}", escape(&body))?)
    } else {
        Err(format!("{url}: {status} {body}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TlsSettings;

    #[test]
    fn the_default_url_is_the_listening_address_on_this_machine() {
        let url = |listen: &str, tls| {
            let listen = listen.parse().unwrap();
            Config { listen, tls, ..Config::default() }.local_url().unwrap().to_string()
        };
        assert_eq!(url("127.0.0.1:8080", None), "http://127.0.0.1:8080/");
        assert_eq!(url("0.0.0.0:80", None), "http://127.0.0.1/");
        assert_eq!(url("192.0.2.1:8080", None), "http://192.0.2.1:8080/");
        assert_eq!(url("localhost:8080", None), "http://localhost:8080/");
        assert_eq!(url("[::]:8443", Some(TlsSettings::default())), "https://[::1]:8443/");
    }
}
