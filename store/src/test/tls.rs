//! A PostgreSQL server with TLS and a private certificate authority.

use std::fs;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tempfile::TempDir;
use test_engines::Postgres;
use test_engines::shared::postgres_url;

type CertificateAndKey = (String, String);

pub struct CertificateAuthority(CertifiedIssuer<'static, KeyPair>);

impl CertificateAuthority {
    pub fn new(name: &str) -> Self {
        let mut params = certificate_params(name, Vec::new());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    pub fn issue(&self, name: &str) -> CertificateAndKey {
        let key = KeyPair::generate().unwrap();
        let params = certificate_params(name, vec![name.to_owned()]);
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn certificate_params(subject: &str, names: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params
}

/// A PostgreSQL server with a certificate for localhost, and a directory with files for its
/// clients.
pub struct TlsPostgres {
    pub postgres: Postgres,
    pub authority: CertificateAuthority,
    /// A directory for clients, with `ca.pem`, `other.pem` and `same-name.pem`.
    pub client_files: TempDir,
}

/// The server's `pg_hba.conf`: `belfry` and `certified` must use TLS, and `certified` must also
/// present a certificate; `postgres` may connect without TLS for the setup.
const PG_HBA: &str = "hostssl all certified 127.0.0.1/32 trust clientcert=verify-ca\n\
                      hostssl all belfry 127.0.0.1/32 trust\n\
                      host all postgres 127.0.0.1/32 trust\n";

impl TlsPostgres {
    /// Starts the server; returns `None` if PostgreSQL tests are disabled.
    pub async fn start() -> Option<Self> {
        postgres_url()?; // `None` if PostgreSQL tests are disabled.
        let authority = CertificateAuthority::new("Belfry");
        let (certificate, key) = authority.issue("localhost");
        let server_files = [
            ("server.crt", certificate.as_str()),
            ("server.key", &key),
            ("root.crt", &authority.pem()),
            ("pg_hba.conf", PG_HBA),
        ];
        let options = ["ssl=on", "ssl_ca_file=root.crt"];
        let postgres = Postgres::start_with(&server_files, &options).unwrap();
        let (client, connection) =
            tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let create_roles =
            "create role belfry superuser login; create role certified superuser login";
        client.batch_execute(create_roles).await.unwrap();
        let client_files = tempfile::tempdir().unwrap();
        fs::write(client_files.path().join("ca.pem"), authority.pem()).unwrap();
        fs::write(client_files.path().join("other.pem"), CertificateAuthority::new("Other").pem())
            .unwrap();
        fs::write(
            client_files.path().join("same-name.pem"),
            CertificateAuthority::new("Belfry").pem(),
        )
        .unwrap();
        Some(Self { postgres, authority, client_files })
    }

    /// Returns a URL with these parameters, in which `FILES` is replaced by the directory for
    /// clients.
    pub fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let url = self.postgres.url().replace("postgres@127.0.0.1", &format!("{user}@{host}"));
        let parameters = parameters.replace("FILES", self.client_files.path().to_str().unwrap());
        format!("{url}?{parameters}")
    }
}
