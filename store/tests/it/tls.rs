//! TLS to PostgreSQL with a private certificate authority.

use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use belfry_store::test::{TlsPostgres, options};
use belfry_store::{Database, Options, Store, StoreError};
use jiff::Timestamp;
use test_engines::free_port;
use tokio::runtime::Builder;

async fn open_as(
    server: &TlsPostgres,
    user: &str,
    host: &str,
    parameters: &str,
) -> Result<Store, String> {
    let outcome = open(&server.url(user, host, parameters), &options()).await;
    outcome.map_err(|error| error.to_string())
}

/// Asserts that all of Belfry's connections are encrypted, and returns their number.
async fn count_encrypted_connections(server: &TlsPostgres) -> i64 {
    let (client, connection) =
        tokio_postgres::connect(&server.postgres.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let count_sessions = "select count(*), count(*) filter (where ssl) from pg_stat_activity \
                    join pg_stat_ssl using (pid) where application_name = 'belfry'";
    let row = client.query_one(count_sessions, &[]).await.unwrap();
    let (total_count, encrypted_count): (i64, i64) = (row.get(0), row.get(1));
    assert_eq!(total_count, encrypted_count);
    encrypted_count
}

async fn open(url: &str, options: &Options) -> Result<Store, StoreError> {
    Store::open(&Database::Postgres(url.parse().unwrap()), options, Timestamp::UNIX_EPOCH).await
}

#[tokio::test]
async fn the_postgres_certificate_is_verified() {
    let Some(server) = TlsPostgres::start().await else { return };
    for (host, parameters, expected_error) in [
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
        match (open_as(&server, "belfry", host, parameters).await, expected_error) {
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
async fn each_hosts_certificate_is_verified() {
    let Some(server) = TlsPostgres::start().await else { return };
    let url = server.url("belfry", "localhost", "sslmode=verify-full&sslrootcert=FILES/ca.pem");
    let closed_port = free_port().unwrap();
    let port = server.postgres.port();
    let url_with_two_hosts = |host| {
        url.replace(&format!("localhost:{port}"), &format!("localhost:{closed_port},{host}:{port}"))
    };
    open(&url_with_two_hosts("localhost"), &options()).await.unwrap();
    let error = open(&url_with_two_hosts("127.0.0.1"), &options()).await.err().unwrap().to_string();
    assert!(error.contains("use a host name of the certificate in the URL"), "{error}");
}

/// These are the pooled connections and the one that receives notifications.
#[tokio::test(flavor = "multi_thread")]
async fn all_connections_to_postgres_are_encrypted() {
    let Some(server) = TlsPostgres::start().await else { return };
    let parameters = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
    let store = open_as(&server, "belfry", "localhost", parameters).await.unwrap();
    wait_for_cache(&store, true).await;
    store.ping().await.unwrap();
    assert!(count_encrypted_connections(&server).await >= 2);
}

async fn wait_for_cache(store: &Store, is_enabled: bool) {
    let start = Instant::now();
    while store.is_cache_enabled() != is_enabled {
        assert!(start.elapsed() < Duration::from_mins(1), "expected {is_enabled}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// If the closed connection were polled again and again, it would block the only thread of the
/// runtime.
#[test]
fn a_closed_listening_connection_is_replaced() {
    let (done_sender, done_receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Some(server) = TlsPostgres::start().await else { return };
            let parameters = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
            let store = open_as(&server, "belfry", "localhost", parameters).await.unwrap();
            wait_for_cache(&store, true).await;
            let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                         where application_name = 'belfry'";
            server.postgres.execute(terminate).unwrap();
            wait_for_cache(&store, false).await;
            wait_for_cache(&store, true).await;
        });
        done_sender.send(()).unwrap();
    });
    done_receiver.recv_timeout(Duration::from_mins(3)).unwrap();
}

/// A cancel request is sent over a separate connection, which must use TLS too.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_cancelled_over_tls() {
    let Some(server) = TlsPostgres::start().await else { return };
    // Without these options, the server would cancel the statement earlier.
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
async fn postgres_can_require_a_client_certificate() {
    let Some(server) = TlsPostgres::start().await else { return };
    let (certificate, key) = server.authority.issue("client");
    fs::write(server.client_files.path().join("client.pem"), certificate).unwrap();
    fs::write(server.client_files.path().join("client.key"), &key).unwrap();
    let verify_full = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
    let with_key = |key: &str| format!("{verify_full}&sslcert=FILES/client.pem&sslkey=FILES/{key}");

    let error = open_as(&server, "certified", "localhost", verify_full).await.err().unwrap();
    assert!(error.contains("client certificate"), "{error}");
    let error =
        open_as(&server, "certified", "localhost", &with_key("ca.pem")).await.err().unwrap();
    assert!(error.contains("sslkey: cannot use ") && error.contains("ca.pem: "), "{error}");
    open_as(&server, "certified", "localhost", &with_key("client.key")).await.unwrap();
}
