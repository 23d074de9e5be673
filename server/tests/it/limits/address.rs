//! Rate limits by client address: behind proxies, and in IPv6.

use std::net::IpAddr;

use belfry_core::limits::forwarded::TrustedProxies;

use super::{count_admitted, is_admitted};
use crate::support::Service;
use crate::support::client::documentation_address;
use crate::support::process::{ServerProcess, run_belfry};
use crate::support::service::config_with;

async fn start_behind_proxies(ranges: &[&str]) -> Service {
    let proxies = TrustedProxies(ranges.iter().map(|range| range.parse().unwrap()).collect());
    Service::start_with(config_with(|config| config.trusted_proxies = proxies)).await
}

#[tokio::test]
async fn headers_from_an_untrusted_peer_are_ignored() {
    let service = start_behind_proxies(&["10.0.0.0/8"]).await;
    let anonymous = service.anonymous_client();
    for number in 0..300 {
        let forged_address = format!("198.51.100.{}", number % 250);
        let client = anonymous
            .with_header("x-forwarded-for", &forged_address)
            .with_header("forwarded", &format!("for={forged_address}"));
        assert!(is_admitted(&client, "GET /x").await);
    }
    assert!(
        !is_admitted(&anonymous.with_header("x-forwarded-for", "198.51.100.251"), "GET /x").await
    );
}

#[tokio::test]
async fn behind_trusted_proxies_the_rightmost_untrusted_hop_counts() {
    let service = start_behind_proxies(&["10.0.0.0/8", "fd00::/8"]).await;
    let proxy = service.anonymous_client().with_address([10, 0, 0, 1]);
    let client = proxy.with_header("x-forwarded-for", "198.51.100.1");
    assert_eq!(count_admitted(&client, "GET /x", 301).await, 300);
    let hundred_hops = vec!["6.6.6.6"; 100].join(", ");
    for (name, line) in [
        ("x-forwarded-for", "198.51.100.1, 10.9.9.9, fd00::7"),
        ("x-forwarded-for", &format!("{hundred_hops}, 198.51.100.1")),
        ("forwarded", "for=6.6.6.6, for=198.51.100.1;proto=https"),
    ] {
        assert!(!is_admitted(&proxy.with_header(name, line), "GET /x").await, "{name}: {line}");
    }
    let client_with_two_lines = proxy
        .with_header("x-forwarded-for", "6.6.6.6")
        .with_header("x-forwarded-for", "198.51.100.1");
    assert!(!is_admitted(&client_with_two_lines, "GET /x").await);
    let other_client = proxy.with_header("x-forwarded-for", "198.51.100.1, 198.51.100.2");
    assert!(
        is_admitted(&other_client, "GET /x").await,
        "other clients of the same proxy are admitted"
    );
}

/// A request whose header has no valid address is counted against the proxy that sent it.
#[tokio::test]
async fn invalid_forwarding_headers_count_against_the_proxy() {
    let service = start_behind_proxies(&["10.0.0.1"]).await;
    let proxy = service.anonymous_client().with_address([10, 0, 0, 1]);
    assert_eq!(count_admitted(&proxy, "GET /x", 300).await, 300);
    for (name, line) in [("x-forwarded-for", "198.51.100.1, "), ("forwarded", "for=_hidden")] {
        assert!(!is_admitted(&proxy.with_header(name, line), "GET /x").await, "{name}: {line}");
    }
    let conflicting_client = proxy
        .with_header("x-forwarded-for", "198.51.100.1")
        .with_header("forwarded", "for=198.51.100.2");
    assert!(!is_admitted(&conflicting_client, "GET /x").await);
}

#[tokio::test]
async fn an_ipv6_64_counts_as_one_address_and_a_mapped_address_as_ipv4() {
    let service = Service::start().await;
    let client_at =
        |ip: &str| service.anonymous_client().with_address(ip.parse::<IpAddr>().unwrap());
    for number in 0..300 {
        assert!(is_admitted(&client_at(&format!("2001:db8:1:2::{number:x}")), "GET /x").await);
    }
    assert!(!is_admitted(&client_at("2001:db8:1:2:ffff::1"), "GET /x").await);
    assert!(is_admitted(&client_at("2001:db8:1:3::1"), "GET /x").await);

    assert_eq!(count_admitted(&client_at("::ffff:192.0.2.7"), "GET /x", 300).await, 300);
    assert!(
        !is_admitted(&service.anonymous_client().with_address(documentation_address(7)), "GET /x")
            .await
    );
}

#[tokio::test]
async fn an_ipv6_48_has_eight_times_the_limit_of_a_64() {
    let service = Service::start_with(config_with(|config| {
        config.limits.rows = toml::from_str("ip = { requests = 3 }").unwrap();
    }))
    .await;
    let client_at =
        |ip: &str| service.anonymous_client().with_address(ip.parse::<IpAddr>().unwrap());
    for network in 0..8 {
        let client = client_at(&format!("2001:db8:1:{network:x}::1"));
        assert_eq!(count_admitted(&client, "GET /x", 4).await, 3, "{network}");
    }
    let rejection = client_at("2001:db8:1:ffff::1").get("/x").await;
    assert_eq!(rejection.status, 429);
    assert_eq!(rejection.header("x-ratelimit-limit"), "24");
    assert!(rejection.header("ratelimit-policy").contains("\"ip-48\";q=24"), "{rejection:?}");
    // A request that the /48 rejects does not count towards its /64 either.
    assert!(rejection.header("ratelimit").contains("\"ip\";r=3"), "{rejection:?}");
    assert!(
        is_admitted(&client_at("2001:db8:2:1::1"), "GET /x").await,
        "other /48 networks are admitted"
    );
}

#[tokio::test]
async fn only_the_configured_proxy_header_is_trusted() {
    for (configured_header, trusted_header, forged_header) in [
        ("x-forwarded-for", ("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=6.6.6.6")),
        ("forwarded", ("forwarded", "for=198.51.100.1"), ("x-forwarded-for", "6.6.6.6")),
        ("cf-connecting-ip", ("cf-connecting-ip", "198.51.100.1"), ("x-forwarded-for", "6.6.6.6")),
    ] {
        let service = Service::start_with(config_with(|config| {
            config.trusted_proxies.0 = vec!["10.0.0.1".parse().unwrap()];
            config.trusted_proxy_header = Some(configured_header.parse().unwrap());
        }))
        .await;
        let proxy = service.anonymous_client().with_address([10, 0, 0, 1]);
        let client = proxy.with_header(trusted_header.0, trusted_header.1);
        assert_eq!(count_admitted(&client, "GET /x", 301).await, 300, "{configured_header}");
        let forging_client = client.with_header(forged_header.0, forged_header.1);
        assert!(
            !is_admitted(&forging_client, "GET /x").await,
            "{configured_header}: the client stays limited"
        );
        assert!(
            is_admitted(&proxy, "GET /x").await,
            "{configured_header}: the proxy is not limited"
        );
    }
}

#[tokio::test]
async fn an_unconfigured_proxy_causes_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let base_url_flag = ["--base-url", "https://ring.example"];
    let startup_warning = "without its address in trusted_proxies they all share one rate limit";
    let server = ServerProcess::start(dir.path(), &base_url_flag);
    assert!(server.log().contains(startup_warning), "{}", server.log());

    let send_forwarded = async |server: &ServerProcess| {
        let client = reqwest::Client::new();
        let request =
            client.get(format!("{}/x", server.url)).header("x-forwarded-for", "192.0.2.1");
        request.send().await.unwrap();
    };
    let warning = "forwarding headers from a peer that is not in trusted_proxies";
    assert!(!server.log().contains(warning));
    send_forwarded(&server).await;
    send_forwarded(&server).await;
    assert_eq!(server.log().matches(warning).count(), 1, "{}", server.log());
    drop(server);

    let file = dir.path().join("belfry.toml");
    let settings = "base_url = 'https://ring.example'\ntrusted_proxies = ['127.0.0.1', '::1']\n\
                   registration = 'closed'\n";
    std::fs::write(&file, settings).unwrap();
    std::fs::remove_file(dir.path().join("belfry.log")).unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    send_forwarded(&server).await;
    assert!(!server.log().contains("WARN"), "{}", server.log());
    let config_check_messages = || {
        let output = run_belfry(dir.path(), &["config", "check"]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(config_check_messages(), "the settings are valid\n");
    std::fs::write(&file, "base_url = 'https://ring.example'").unwrap();
    assert!(
        config_check_messages().contains("warning: base_url is https"),
        "{}",
        config_check_messages()
    );
}
