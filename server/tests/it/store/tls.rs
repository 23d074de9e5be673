//! TLS to PostgreSQL with a private certificate authority.

use std::fs;
use std::time::{Duration, Instant};

use belfry::store::{Database, Options, Store, StoreError};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tempfile::TempDir;
use test_engines::{Postgres, free_port};

use crate::support::databases::{engine_url, options};
use crate::support::process::belfry;

/// A certificate and its key, in PEM.
type Pair = (String, String);

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = params(name, Vec::new());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    fn issue(&self, name: &str) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = params(name, vec![name.to_owned()]);
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn params(subject: &str, names: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params
}

/// A PostgreSQL with a certificate for localhost, and a directory with files for its clients.
struct Server {
    postgres: Postgres,
    authority: Authority,
    files: TempDir,
}

/// All users must use TLS; `certified` must also show a certificate.
const ACCESS: &str = "hostssl all certified 127.0.0.1/32 trust clientcert=verify-ca\n\
                      hostssl all belfry 127.0.0.1/32 trust\n\
                      host all postgres 127.0.0.1/32 trust\n";

impl Server {
    async fn start() -> Option<Self> {
        engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES")?;
        let authority = Authority::new("Belfry");
        let (certificate, key) = authority.issue("localhost");
        let files = [
            ("server.crt", certificate.as_str()),
            ("server.key", &key),
            ("root.crt", &authority.pem()),
            ("pg_hba.conf", ACCESS),
        ];
        let options = ["ssl=on", "ssl_ca_file=root.crt"];
        let postgres = Postgres::start_with(&files, &options).unwrap();
        let (client, connection) =
            tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let users = "create role belfry superuser login; create role certified superuser login";
        client.batch_execute(users).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        fs::write(files.path().join("ca.pem"), authority.pem()).unwrap();
        fs::write(files.path().join("other.pem"), Authority::new("Other").pem()).unwrap();
        fs::write(files.path().join("same-name.pem"), Authority::new("Belfry").pem()).unwrap();
        Some(Self { postgres, authority, files })
    }

    /// A URL with these parameters, in which `FILES` is the directory of the client's files.
    fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let url = self.postgres.url().replace("postgres@127.0.0.1", &format!("{user}@{host}"));
        let parameters = parameters.replace("FILES", self.files.path().to_str().unwrap());
        format!("{url}?{parameters}")
    }

    async fn open(&self, user: &str, host: &str, parameters: &str) -> Result<Store, String> {
        let url = self.url(user, host, parameters);
        let opened = open(&url, &options()).await;
        opened.map_err(|error| error.to_string())
    }

    /// Asserts that all connections of Belfry are encrypted, and returns their number.
    async fn encrypted_connections(&self) -> i64 {
        let (client, connection) =
            tokio_postgres::connect(&self.postgres.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let sessions = "select count(*), count(*) filter (where ssl) from pg_stat_activity \
                        join pg_stat_ssl using (pid) where application_name = 'belfry'";
        let row = client.query_one(sessions, &[]).await.unwrap();
        let (all, encrypted): (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(all, encrypted);
        encrypted
    }
}

async fn open(url: &str, options: &Options) -> Result<Store, StoreError> {
    Store::open(&Database::Postgres(url.parse().unwrap()), options, Timestamp::UNIX_EPOCH).await
}

#[tokio::test]
async fn the_certificate_of_postgres_is_verified() {
    let Some(server) = Server::start().await else { return };
    for (host, parameters, rejected) in [
        ("localhost", "sslmode=verify-full&sslrootcert=FILES/ca.pem", None),
        ("localhost", "sslmode=require&sslrootcert=FILES/ca.pem", None),
        ("localhost", "sslmode=verify-ca&sslrootcert=FILES/ca.pem", None),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=FILES/ca.pem", None),
        (
            "127.0.0.1",
            "sslmode=verify-full&sslrootcert=FILES/ca.pem",
            Some("use a host name of the certificate in the URL, or sslmode=verify-ca"),
        ),
        (
            "127.0.0.1",
            "sslmode=require&sslrootcert=FILES/ca.pem",
            Some("use a host name of the certificate in the URL, or sslmode=verify-ca"),
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=FILES/other.pem",
            Some("name the certificate authority that issued it with sslrootcert=PATH"),
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=FILES/same-name.pem",
            Some("name the certificate authority that issued it with sslrootcert=PATH"),
        ),
        (
            "localhost",
            "sslmode=verify-ca&sslrootcert=FILES/other.pem",
            Some("name the certificate authority that issued it with sslrootcert=PATH"),
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=FILES/no.pem",
            Some("sslrootcert: cannot use "),
        ),
        ("localhost", "sslmode=disable", Some("no encryption")),
        ("localhost", "", Some("no encryption")),
    ] {
        match (server.open("belfry", host, parameters).await, rejected) {
            (Ok(_), None) => {}
            (Err(error), Some(reason)) => {
                assert!(error.contains(reason), "{host} {parameters}: {error}");
            }
            (Ok(_), Some(_)) => panic!("{host} {parameters}: accepted"),
            (Err(error), None) => panic!("{host} {parameters}: {error}"),
        }
    }
}

#[tokio::test]
async fn the_certificate_of_each_host_is_verified() {
    let Some(server) = Server::start().await else { return };
    let url = server.url("belfry", "localhost", "sslmode=verify-full&sslrootcert=FILES/ca.pem");
    let (dead, port) = (free_port().unwrap(), server.postgres.port());
    let several = |host| {
        url.replace(&format!("localhost:{port}"), &format!("localhost:{dead},{host}:{port}"))
    };
    open(&several("localhost"), &options()).await.unwrap();
    let error = open(&several("127.0.0.1"), &options()).await.err().unwrap().to_string();
    assert!(error.contains("use a host name of the certificate in the URL"), "{error}");
}

/// The connections of the pool and the one that receives notifications.
#[tokio::test(flavor = "multi_thread")]
async fn all_connections_to_postgres_are_encrypted() {
    let Some(server) = Server::start().await else { return };
    let parameters = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
    let store = server.open("belfry", "localhost", parameters).await.unwrap();
    let start = Instant::now();
    while !store.is_cache_enabled() {
        assert!(start.elapsed() < Duration::from_mins(1), "no notifications");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    store.ping().await.unwrap();
    assert!(server.encrypted_connections().await >= 2);
}

/// A cancel request has a connection of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_cancelled_over_tls() {
    let Some(server) = Server::start().await else { return };
    // Otherwise the server would cancel it earlier.
    let no_timeouts = "options=-c%20statement_timeout%3D0%20-c%20lock_timeout%3D0";
    let parameters = format!("sslmode=verify-full&sslrootcert=FILES/ca.pem&{no_timeouts}");
    let url = server.url("belfry", "localhost", &parameters);
    let options = Options { timeout: Duration::from_secs(1), ..options() };
    let store = open(&url, &options).await.unwrap();
    let (locker, connection) =
        tokio_postgres::connect(&server.postgres.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    locker.batch_execute("begin; lock table accounts").await.unwrap();
    let start = Instant::now();
    loop {
        // On a busy machine the cancel request itself may take too long.
        let error = store.account_by_name("alice").await.unwrap_err().to_string();
        if error.contains("canceling statement due to user request") {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{error}");
    }
}

#[tokio::test]
async fn postgres_can_require_a_certificate_of_the_client() {
    let Some(server) = Server::start().await else { return };
    let (certificate, key) = server.authority.issue("client");
    fs::write(server.files.path().join("client.pem"), certificate).unwrap();
    fs::write(server.files.path().join("client.key"), &key).unwrap();
    let verified = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
    let with_key = |key: &str| format!("{verified}&sslcert=FILES/client.pem&sslkey=FILES/{key}");

    let error = server.open("certified", "localhost", verified).await.err().unwrap();
    assert!(error.contains("client certificate"), "{error}");
    let error = server.open("certified", "localhost", &with_key("ca.pem")).await.err().unwrap();
    assert!(error.contains("sslkey: cannot use ") && error.contains("ca.pem: "), "{error}");
    server.open("certified", "localhost", &with_key("client.key")).await.unwrap();
}

/// The command line and `serve` use the same parameters.
#[tokio::test]
async fn commands_connect_to_postgres_with_a_private_certificate_authority() {
    let Some(server) = Server::start().await else { return };
    let run = |authority: &str| {
        let parameters = format!("sslmode=verify-full&sslrootcert=FILES/{authority}");
        let url = server.url("belfry", "localhost", &parameters);
        let mut command = belfry(server.files.path(), &["account", "add", "alice"]);
        command.env("BELFRY_DATABASE", url).output().unwrap()
    };
    let rejected = run("other.pem");
    let message = String::from_utf8(rejected.stderr).unwrap();
    assert!(message.contains("sslrootcert=PATH") && !rejected.status.success(), "{message}");
    assert!(run("ca.pem").status.success());
}

#[test]
fn the_configuration_is_invalid_if_a_certificate_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ca.pem"), Authority::new("Belfry").pem()).unwrap();
    fs::write(folder.path().join("empty.pem"), "").unwrap();
    for (parameters, problem) in [
        ("sslmode=verify-full&sslrootcert=ca.pem", None),
        ("sslmode=verify-full&sslrootcert=none.pem", Some("sslrootcert: cannot use none.pem: ")),
        ("sslmode=verify-ca&sslrootcert=empty.pem", Some("empty.pem contains no certificate")),
        ("sslmode=verify", Some("sslmode must be disable, require, verify-ca or verify-full")),
        ("sslrootcert=ca.pem", Some("have no effect without encryption")),
    ] {
        let mut command = belfry(folder.path(), &["config", "check"]);
        command.env("BELFRY_DATABASE", format!("postgres://localhost/belfry?{parameters}"));
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), problem.is_none(), "{parameters}: {message}");
        assert!(message.contains(problem.unwrap_or_default()), "{parameters}: {message}");
    }
}
