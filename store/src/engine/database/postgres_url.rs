//! The URL of a PostgreSQL database, with the TLS parameters of libpq that the driver does not
//! know.

use std::error::Error;
use std::iter::successors;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{self, SslMode, TargetSessionAttrs};
use url::{Url, form_urlencoded};

use super::split_by_host;

#[derive(Debug)]
pub(crate) struct PostgresUrl {
    /// The hosts, each with separate driver parameters. If the driver got all hosts, it would wait
    /// for a first host that accepts connections but does not respond.
    pub(crate) hosts: Vec<HostConfig>,
    /// `target_session_attrs`: the required kind of server, such as one that accepts writes.
    pub(crate) target: Option<TargetSessionAttrs>,
    /// `None`: the connection is not encrypted.
    pub(crate) tls: Option<TlsParameters>,
}

/// One of the hosts, with the driver's parameters for it.
#[derive(Debug)]
pub(crate) struct HostConfig {
    /// Host and port, as in the URL; empty if the URL has only one host.
    pub(crate) name: String,
    /// The driver's parameters.
    pub(crate) config: Config,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TlsParameters {
    pub(crate) verification: Verification,
    /// `sslrootcert`: the accepted certificate authorities; those of the operating system when
    /// unset.
    pub(crate) roots: Option<PathBuf>,
    /// `sslcert` and `sslkey`: the certificate and key of this client.
    pub(crate) client: Option<ClientCertificate>,
}

/// The parts of the server certificate that are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    Issuer,
    IssuerAndName,
}

/// PEM files with this client's certificate and key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl PostgresUrl {
    /// Parses a URL with these hosts after its first. Errors do not contain values, because the URL
    /// is a secret.
    pub(super) fn parse(url: &Url, additional_hosts: &str) -> Result<Self, String> {
        let [mut mode, mut roots, mut certificate, mut key, mut target] = [const { None }; 5];
        let mut driver_parameters = Vec::new();
        for pair in url.query().unwrap_or_default().split('&') {
            // Unlike in forms, a plus sign is not a space here.
            let escaped = pair.replace('+', "%2B");
            let Some((name, value)) = form_urlencoded::parse(escaped.as_bytes()).next() else {
                continue;
            };
            match &*name {
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" => roots = Some(value.into_owned()),
                "sslcert" => certificate = Some(value.into_owned()),
                "sslkey" => key = Some(value.into_owned()),
                "target_session_attrs" => target = Some(value.into_owned()),
                _ => driver_parameters.push(pair),
            }
        }
        let verification = match mode.as_deref() {
            // Encryption without verification would not stop an attacker who can intercept the
            // connection.
            None | Some("disable" | "prefer") => None,
            Some("verify-ca") => Some(Verification::Issuer),
            Some("require" | "verify-full") => Some(Verification::IssuerAndName),
            Some(_) => {
                return Err("sslmode must be disable, require, verify-ca or verify-full".to_owned());
            }
        };
        if verification.is_none() && (roots.is_some() || certificate.is_some() || key.is_some()) {
            return Err("sslrootcert, sslcert and sslkey have no effect without encryption; add \
                        sslmode=verify-full"
                .to_owned());
        }
        let client = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                Some(ClientCertificate { certificate: certificate.into(), key: key.into() })
            }
            _ => return Err("sslcert and sslkey must be given together".to_owned()),
        };
        let roots = roots.filter(|roots| roots != "system").map(PathBuf::from);
        let tls = verification.map(|verification| TlsParameters { verification, roots, client });

        let target = target.as_deref().map(parse_target_session_attrs).transpose()?;

        let mut url = url.clone();
        url.set_query(
            (!driver_parameters.is_empty()).then(|| driver_parameters.join("&")).as_deref(),
        );
        let ssl_mode = if tls.is_some() { SslMode::Require } else { SslMode::Disable };
        let hosts = split_by_host(&url, additional_hosts).map(|(name, url)| {
            let mut config: Config = url.parse().map_err(|error| error_chain(&error))?;
            config.ssl_mode(ssl_mode);
            if config.get_hosts().len().max(config.get_hostaddrs().len()) > 1 {
                return Err("several hosts must be written before the path, separated by commas: \
                            postgres://USER:PASSWORD@HOST,HOST/DATABASE"
                    .to_owned());
            }
            let name = if additional_hosts.is_empty() { "" } else { name };
            Ok(HostConfig { name: name.to_owned(), config })
        });
        Ok(Self { hosts: hosts.collect::<Result<_, String>>()?, target, tls })
    }

    /// Returns whether connections are unencrypted and `is_local` is false for one of the hosts.
    pub(super) fn is_clear_text(&self, is_local: fn(&str) -> bool) -> bool {
        let is_remote =
            |host: &config::Host| matches!(host, config::Host::Tcp(name) if !is_local(name));
        let mut hosts = self.hosts.iter().flat_map(|host| host.config.get_hosts());
        self.tls.is_none() && hosts.any(is_remote)
    }
}

/// Parses `target_session_attrs`. A `primary` must also accept writes, because Belfry has no use
/// for one that does not.
fn parse_target_session_attrs(value: &str) -> Result<TargetSessionAttrs, String> {
    match value {
        "any" => Ok(TargetSessionAttrs::Any),
        "read-write" | "primary" => Ok(TargetSessionAttrs::ReadWrite),
        "read-only" | "standby" => Ok(TargetSessionAttrs::ReadOnly),
        _ => Err("target_session_attrs must be read-write or any".to_owned()),
    }
}

/// Returns an error's message with those of its causes; the first is often only "db error".
pub(crate) fn error_chain(error: &tokio_postgres::Error) -> String {
    let chain = successors(Some(error as &dyn Error), |error| (*error).source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<PostgresUrl, String> {
        PostgresUrl::parse(&Url::parse(&format!("postgres://me:x@db/belfry{query}")).unwrap(), "")
    }

    #[test]
    fn sslmode_selects_the_certificate_verification() {
        for (query, verification) in [
            ("", None),
            ("?sslmode=disable", None),
            ("?sslmode=prefer", None),
            ("?sslmode=require", Some(Verification::IssuerAndName)),
            ("?connect_timeout=3&sslmode=verify-full", Some(Verification::IssuerAndName)),
            ("?sslmode=verify-ca&application_name=a%26b", Some(Verification::Issuer)),
        ] {
            let url = parse(query).unwrap();
            assert_eq!(url.tls.map(|tls| tls.verification), verification, "{query}");
            let mode = if verification.is_some() { SslMode::Require } else { SslMode::Disable };
            assert_eq!(url.hosts[0].config.get_ssl_mode(), mode, "{query}");
        }
        let url = parse("?application_name=a%26b&sslmode=verify-ca&options=-c%20a%3D1").unwrap();
        assert_eq!(url.hosts[0].config.get_application_name(), Some("a&b"));
        assert_eq!(url.hosts[0].config.get_options(), Some("-c a=1"));
    }

    #[test]
    fn tls_parameters_contain_the_certificate_paths() {
        let tls = parse("?sslmode=verify-full&sslrootcert=/etc/my%20c+a.pem").unwrap().tls.unwrap();
        assert_eq!(tls.roots, Some("/etc/my c+a.pem".into()));
        assert_eq!(tls.client, None);
        let tls = parse("?sslrootcert=system&sslcert=a.pem&sslkey=b.pem&sslmode=verify-ca")
            .unwrap()
            .tls
            .unwrap();
        assert_eq!(tls.roots, None);
        let client = ClientCertificate { certificate: "a.pem".into(), key: "b.pem".into() };
        assert_eq!(tls.client, Some(client));
    }

    #[test]
    fn each_host_has_its_port_and_all_other_parameters() {
        let query = "?target_session_attrs=read-write&sslmode=verify-full&keepalives_idle=7";
        let url = PostgresUrl::parse(
            &Url::parse(&format!("postgres://me:x@a:1/belfry{query}")).unwrap(),
            ",b,[::1]:3",
        )
        .unwrap();
        let names: Vec<_> = url.hosts.iter().map(|host| &*host.name).collect();
        assert_eq!(names, ["a:1", "b", "[::1]:3"]);
        for (host, (name, port)) in url.hosts.iter().zip([("a", 1), ("b", 5432), ("::1", 3)]) {
            let mut expected: Config = "postgres:///belfry?keepalives_idle=7".parse().unwrap();
            expected.user("me").password("x").ssl_mode(SslMode::Require).host(name).port(port);
            assert_eq!(host.config, expected);
        }
        assert_eq!(url.target, Some(TargetSessionAttrs::ReadWrite));
        assert_eq!(url.tls.unwrap().verification, Verification::IssuerAndName);
        assert_eq!(parse("").unwrap().target, None);
    }

    #[test]
    fn invalid_parameters_are_rejected_without_repeating_their_values() {
        for (query, problem) in [
            ("?sslmode=hunter2", "sslmode must be disable, require, verify-ca or verify-full"),
            ("?sslrootcert=hunter2", "have no effect without encryption; add sslmode=verify-full"),
            ("?sslmode=disable&sslcert=a&sslkey=b", "have no effect without encryption"),
            ("?sslmode=require&sslcert=hunter2", "sslcert and sslkey must be given together"),
            ("?sslmode=require&sslkey=hunter2", "sslcert and sslkey must be given together"),
            ("?port=hunter2", "invalid value for option `port`"),
            ("?target_session_attrs=hunter2", "target_session_attrs must be read-write or any"),
            ("?host=hunter2", "several hosts must be written before the path"),
        ] {
            let error = parse(query).unwrap_err();
            assert!(error.contains(problem) && !error.contains("hunter2"), "{query}: {error}");
        }
    }
}
