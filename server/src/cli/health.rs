//! `belfry health`: checks whether a running server responds, for containers and scripts.

use std::io::{Write, stdout};

use clap::{Args, ValueHint};
use url::Url;

use super::CliError;
use super::http_client::{CertificateCheck, Response, get};
use crate::config::{Config, ConfigError};
use crate::escape::escape;
use crate::paths::{HEALTHZ, READYZ};

#[derive(Args)]
pub(super) struct Command {
    /// URL of the server [default: the `listen` address on this machine]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    url: Option<Url>,
    /// Also check whether its database can be read and written
    #[arg(long)]
    ready: bool,
}

impl Command {
    /// Checks the server at the URL, or the one that the configuration starts on this machine.
    pub(super) fn run(
        self,
        load_config: impl FnOnce() -> Result<Config, ConfigError>,
    ) -> Result<(), CliError> {
        let (url, certificate_check, advice) = if let Some(url) = self.url {
            (url, CertificateCheck::Authorities, "")
        } else {
            let url = load_config()?.local_url().ok_or("listen has no fixed port; use --url")?;
            // The certificate is for the server's public name.
            (url, CertificateCheck::None, "; use --url if the server listens elsewhere")
        };
        let url = url.join(if self.ready { READYZ } else { HEALTHZ })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let Response { status, body, .. } = runtime
            .block_on(get(&url, certificate_check, &[]))
            .map_err(|error| format!("{url}: {error}{advice}"))?;
        if !status.is_success() {
            return Err(format!("{url}: {status} {body}").into());
        }
        Ok(writeln!(stdout(), "{url}: {status} {}", escape(&body))?)
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
