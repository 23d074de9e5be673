//! Rate limit counters in Redis over TLS.

use std::path::Path;

use test_engines::shared::engine_url;
use test_engines::{Redis, RedisCluster, free_port};

use super::outage::count_admitted;
use crate::support::Process;
use crate::support::files::write_certificate;
use crate::support::process::belfry;

/// Starts a Redis with a certificate for localhost, and returns it with its URL `rediss://…`.
/// Returns `None` if Redis tests are skipped.
fn start_tls_redis(dir: &Path) -> Option<(Redis, String)> {
    engine_url("Redis", "BELFRY_TEST_REDIS")?;
    write_certificate(dir, "localhost");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| dir.join(name));
    let port = free_port().unwrap();
    let options = [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", certificate.display().to_string()),
        ("--tls-key-file", key.display().to_string()),
        ("--tls-auth-clients", "no".to_owned()),
    ];
    let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    let redis = Redis::start_with(options.collect()).unwrap();
    Some((redis, format!("rediss://localhost:{port}")))
}

/// Starts a node that trusts the certificates in this file.
fn node(name: &str, dir: &Path, redis: &str, trusted: &Path) -> Process {
    let dir = dir.join(name);
    std::fs::create_dir(&dir).unwrap();
    let settings = "trusted_proxies = ['127.0.0.1']\n\
                    [limits]\nredis_timeout = '30s'\nrows.ip = { requests = 20 }";
    std::fs::write(dir.join("belfry.toml"), settings).unwrap();
    let mut command = belfry(&dir, &["serve", "--listen", "127.0.0.1:0", "--redis", redis]);
    command.env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
    Process::launch(command, &dir)
}

async fn readiness(node: &Process) -> String {
    reqwest::get(format!("{}/readyz", node.url)).await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn nodes_share_counters_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    let trusted = dir.path().join("certificate.pem");
    let one = node("one", dir.path(), &url, &trusted);
    let two = node("two", dir.path(), &url, &trusted);
    for node in [&one, &two] {
        assert!(readiness(node).await.contains("\"redis\":\"ok\""), "{}", node.log());
    }
    assert_eq!(count_admitted(&one, "192.0.2.1", 15).await, 15);
    assert_eq!(count_admitted(&two, "192.0.2.1", 15).await, 5);
}

/// The certificate authority and the URL, which usually has a password, are in files.
#[tokio::test]
async fn the_certificate_authority_of_redis_can_be_configured() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    std::fs::write(dir.path().join("url"), format!("{url}\n")).unwrap();
    let settings = "redis_file = 'url'\n[limits]\nredis_timeout = '30s'\n\
                    redis_root_certificate = 'certificate.pem'";
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let node = Process::start(dir.path(), &[]);
    assert!(readiness(&node).await.contains("\"redis\":\"ok\""), "{}", node.log());

    let check = || belfry(dir.path(), &["config", "check"]).output().unwrap();
    assert!(check().status.success());
    for (file, content, problem) in [
        ("certificate.pem", "nothing", "certificate.pem: it contains no certificate"),
        ("url", "redis://localhost", "redis_root_certificate has no effect without TLS"),
    ] {
        std::fs::write(dir.path().join(file), content).unwrap();
        let rejected = check();
        let message = String::from_utf8(rejected.stderr).unwrap();
        assert!(!rejected.status.success() && message.contains(problem), "{message}");
    }
}

/// All cluster nodes use the same certificate, and accept the user and password in the URL.
#[tokio::test]
async fn nodes_share_counters_in_a_cluster_over_tls() {
    if engine_url("Redis", "BELFRY_TEST_REDIS").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "localhost");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| dir.path().join(name));
    let cluster = RedisCluster::start_tls(&certificate, &key).unwrap();
    let one = node("one", dir.path(), &cluster.url(), &certificate);
    let two = node("two", dir.path(), &cluster.url(), &certificate);
    for node in [&one, &two] {
        assert!(readiness(node).await.contains("\"redis\":\"ok\""), "{}", node.log());
        assert!(!node.log().contains("one,two"));
    }
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] {
        assert_eq!(count_admitted(&one, address, 15).await, 15);
        assert_eq!(count_admitted(&two, address, 15).await, 5);
    }
}

#[tokio::test]
async fn a_redis_with_an_untrusted_certificate_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    let other_certificate = dir.path().join("another.pem");
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&other_certificate, generated.cert.pem()).unwrap();
    let node = node("one", dir.path(), &url, &other_certificate);
    assert!(readiness(&node).await.contains("counting locally"));
    assert!(node.log().contains("invalid peer certificate"), "{}", node.log());

    let settings = format!(
        "listen = '127.0.0.1:1'\nredis = '{url}'\nlimits.redis_root_certificate = 'another.pem'"
    );
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let output = belfry(dir.path(), &["doctor"]).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.contains(": its certificate was issued by an authority that this machine"),
        "{report}"
    );
    assert!(report.contains("each node counts on its own: localhost:"), "{report}");
    assert!(report.contains("name its authority in limits.redis_root_certificate"), "{report}");
}

#[test]
fn certificate_checks_cannot_be_disabled_in_the_url() {
    let dir = tempfile::tempdir().unwrap();
    let check = |url: &str| {
        let mut command = belfry(dir.path(), &["config", "check"]);
        command.env("BELFRY_REDIS", url).output().unwrap()
    };
    assert!(check("rediss://cache.internal").status.success());
    let rejected = check("rediss://cache.internal/#insecure");
    let message = String::from_utf8(rejected.stderr).unwrap();
    assert!(message.contains("redis: a fragment (#…) is not supported"), "{message}");
}
