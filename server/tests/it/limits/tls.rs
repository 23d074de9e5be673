//! Rate limit counters in Redis over TLS.

use std::path::Path;

use test_engines::shared::engine_url;
use test_engines::{Redis, RedisCluster, free_port};

use super::outage::count_admitted_from_address;
use crate::support::ServerProcess;
use crate::support::files::write_certificate;
use crate::support::process::belfry_command;

/// Starts a Redis server with a certificate for localhost, and returns it with its URL
/// `rediss://…`. Returns `None` if Redis tests are skipped.
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

fn start_node(
    name: &str,
    dir: &Path,
    redis_url: &str,
    trusted_certificates: &Path,
) -> ServerProcess {
    let dir = dir.join(name);
    std::fs::create_dir(&dir).unwrap();
    let settings = "trusted_proxies = ['127.0.0.1']\n\
                    [limits]\nredis_timeout = '30s'\nrows.ip = { requests = 20 }";
    std::fs::write(dir.join("belfry.toml"), settings).unwrap();
    let mut command =
        belfry_command(&dir, &["serve", "--listen", "127.0.0.1:0", "--redis", redis_url]);
    command.env("SSL_CERT_FILE", trusted_certificates).env_remove("SSL_CERT_DIR");
    ServerProcess::launch(command, &dir)
}

async fn get_readiness(node: &ServerProcess) -> String {
    reqwest::get(format!("{}/readyz", node.url)).await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn nodes_share_counters_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    let certificate = dir.path().join("certificate.pem");
    let first_node = start_node("one", dir.path(), &url, &certificate);
    let second_node = start_node("two", dir.path(), &url, &certificate);
    for node in [&first_node, &second_node] {
        assert!(get_readiness(node).await.contains("\"redis\":\"ok\""), "{}", node.log());
    }
    assert_eq!(count_admitted_from_address(&first_node, "192.0.2.1", 15).await, 15);
    assert_eq!(count_admitted_from_address(&second_node, "192.0.2.1", 15).await, 5);
}

/// The certificate authority and the URL, which usually has a password, are in files.
#[tokio::test]
async fn the_redis_certificate_authority_can_be_configured() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    std::fs::write(dir.path().join("url"), format!("{url}\n")).unwrap();
    let settings = "redis_file = 'url'\n[limits]\nredis_timeout = '30s'\n\
                    redis_root_certificate = 'certificate.pem'";
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let node = ServerProcess::start(dir.path(), &[]);
    assert!(get_readiness(&node).await.contains("\"redis\":\"ok\""), "{}", node.log());

    let run_config_check = || belfry_command(dir.path(), &["config", "check"]).output().unwrap();
    assert!(run_config_check().status.success());
    for (file, content, problem) in [
        ("certificate.pem", "nothing", "certificate.pem: it contains no certificate"),
        ("url", "redis://localhost", "redis_root_certificate has no effect without TLS"),
    ] {
        std::fs::write(dir.path().join(file), content).unwrap();
        let output = run_config_check();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && message.contains(problem), "{message}");
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
    let first_node = start_node("one", dir.path(), &cluster.url(), &certificate);
    let second_node = start_node("two", dir.path(), &cluster.url(), &certificate);
    for node in [&first_node, &second_node] {
        assert!(get_readiness(node).await.contains("\"redis\":\"ok\""), "{}", node.log());
        // The password is not logged.
        assert!(!node.log().contains("one,two"));
    }
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] {
        assert_eq!(count_admitted_from_address(&first_node, address, 15).await, 15);
        assert_eq!(count_admitted_from_address(&second_node, address, 15).await, 5);
    }
}

#[tokio::test]
async fn a_redis_with_an_untrusted_certificate_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let Some((_redis, url)) = start_tls_redis(dir.path()) else { return };
    let other_certificate = dir.path().join("another.pem");
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&other_certificate, generated.cert.pem()).unwrap();
    let node = start_node("one", dir.path(), &url, &other_certificate);
    assert!(get_readiness(&node).await.contains("using local counters"));
    assert!(node.log().contains("invalid peer certificate"), "{}", node.log());

    let settings = format!(
        "listen = '127.0.0.1:1'\nredis = '{url}'\nlimits.redis_root_certificate = 'another.pem'"
    );
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let output = belfry_command(dir.path(), &["doctor"]).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.contains(": its certificate was issued by an authority that this machine"),
        "{report}"
    );
    assert!(report.contains(" localhost:"), "{report}");
    assert!(report.contains("; each node counts requests in its own memory"), "{report}");
    assert!(
        report.contains("set limits.redis_root_certificate to the file of its authority"),
        "{report}"
    );
}

#[test]
fn certificate_checks_cannot_be_disabled_in_the_url() {
    let dir = tempfile::tempdir().unwrap();
    let run_config_check = |url: &str| {
        let mut command = belfry_command(dir.path(), &["config", "check"]);
        command.env("BELFRY_REDIS", url).output().unwrap()
    };
    assert!(run_config_check("rediss://cache.internal").status.success());
    let output = run_config_check("rediss://cache.internal/#insecure");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("BELFRY_REDIS: a fragment (#…) is not supported"), "{message}");
}
