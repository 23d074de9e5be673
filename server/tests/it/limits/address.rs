//! From where a call comes: behind proxies, and in IPv6.

use std::net::IpAddr;

use belfry_core::limits::forwarded::TrustedProxies;

use super::{admitted, is_admitted};
use crate::support::Service;
use crate::support::caller::address;
use crate::support::process::{Process, run_successfully};
use crate::support::service::config;

async fn behind(ranges: &[&str]) -> Service {
    let proxies = TrustedProxies::new(ranges.iter().map(|range| range.parse().unwrap()).collect());
    Service::with(config(|config| config.trusted_proxies = proxies)).await
}

/// [121]
#[tokio::test]
async fn what_an_unknown_peer_says_of_itself_is_not_believed() {
    let service = behind(&["10.0.0.0/8"]).await;
    let anyone = service.anyone();
    for call in 0..300 {
        let claimed = format!("198.51.100.{}", call % 250);
        let liar =
            anyone.with("x-forwarded-for", &claimed).with("forwarded", &format!("for={claimed}"));
        assert!(is_admitted(&liar, "GET /x").await);
    }
    assert!(!is_admitted(&anyone.with("x-forwarded-for", "198.51.100.251"), "GET /x").await);
}

/// [121]
#[tokio::test]
async fn behind_proxies_of_ours_the_right_most_foreign_hop_counts() {
    let service = behind(&["10.0.0.0/8", "fd00::/8"]).await;
    let proxy = service.anyone().at([10, 0, 0, 1]);
    let client = proxy.with("x-forwarded-for", "198.51.100.1");
    assert_eq!(admitted(&client, "GET /x", 301).await, 300);
    let hundred_hops = vec!["6.6.6.6"; 100].join(", ");
    for (name, line) in [
        ("x-forwarded-for", "6.6.6.6, 198.51.100.1"),
        ("x-forwarded-for", "198.51.100.1, 10.9.9.9, fd00::7"),
        ("x-forwarded-for", "198.51.100.1:4711"),
        ("x-forwarded-for", "::ffff:198.51.100.1"),
        ("x-forwarded-for", &format!("{hundred_hops}, 198.51.100.1")),
        ("forwarded", "for=6.6.6.6, for=198.51.100.1;proto=https"),
        ("forwarded", "For=\"198.51.100.1:80\""),
    ] {
        assert!(!is_admitted(&proxy.with(name, line), "GET /x").await, "{name}: {line}");
    }
    let two_lines =
        proxy.with("x-forwarded-for", "6.6.6.6").with("x-forwarded-for", "198.51.100.1");
    assert!(!is_admitted(&two_lines, "GET /x").await);
    let other = proxy.with("x-forwarded-for", "198.51.100.1, 198.51.100.2");
    assert!(is_admitted(&other, "GET /x").await, "another client of the same proxy");
}

/// [121] What cannot be read counts for the proxy that wrote it.
#[tokio::test]
async fn garbage_in_the_headers_of_proxies_counts_for_the_proxy() {
    let service = behind(&["10.0.0.1"]).await;
    let proxy = service.anyone().at([10, 0, 0, 1]);
    assert_eq!(admitted(&proxy, "GET /x", 300).await, 300);
    for (name, line) in [
        ("x-forwarded-for", "unknown"),
        ("x-forwarded-for", ""),
        ("x-forwarded-for", "198.51.100.1, "),
        ("x-forwarded-for", "198.51.100.1, [::1"),
        ("x-forwarded-for", "\u{e4}, %%%"),
        ("forwarded", "for=_hidden"),
        ("forwarded", "proto=https"),
    ] {
        assert!(!is_admitted(&proxy.with(name, line), "GET /x").await, "{name}: {line}");
    }
    let contradicting =
        proxy.with("x-forwarded-for", "198.51.100.1").with("forwarded", "for=198.51.100.2");
    assert!(!is_admitted(&contradicting, "GET /x").await);
}

/// [123] Wider networks than a /64 have no bucket of their own.
#[tokio::test]
async fn a_slash_64_is_one_address_and_a_mapped_ipv4_is_ipv4() {
    let service = Service::start().await;
    let at = |text: &str| service.anyone().at(text.parse::<IpAddr>().unwrap());
    for call in 0..300 {
        assert!(is_admitted(&at(&format!("2001:db8:1:2::{call:x}")), "GET /x").await);
    }
    assert!(!is_admitted(&at("2001:db8:1:2:ffff::1"), "GET /x").await);
    assert!(is_admitted(&at("2001:db8:1:3::1"), "GET /x").await);

    assert_eq!(admitted(&at("::ffff:192.0.2.7"), "GET /x", 300).await, 300);
    assert!(!is_admitted(&service.anyone().at(address(7)), "GET /x").await);
}

/// [122]
#[tokio::test]
async fn a_proxy_that_nobody_configured_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let secure = ["--base-url", "https://ring.example"];
    let doubt = "without its address in trusted_proxies they all share one rate limit";
    let server = Process::start(folder.path(), &secure);
    assert!(server.log().contains(doubt), "{}", server.log());

    let call = async |server: &Process| {
        let client = reqwest::Client::new();
        let request =
            client.get(format!("{}/x", server.url)).header("x-forwarded-for", "192.0.2.1");
        request.send().await.unwrap();
    };
    let warning = "a peer names the clients it speaks for";
    assert!(!server.log().contains(warning));
    call(&server).await;
    call(&server).await;
    assert_eq!(server.log().matches(warning).count(), 1, "{}", server.log());
    drop(server);

    let file = folder.path().join("belfry.toml");
    let trusted = "base_url = 'https://ring.example'\ntrusted_proxies = ['127.0.0.1', '::1']\n";
    std::fs::write(&file, trusted).unwrap();
    std::fs::remove_file(folder.path().join("belfry.log")).unwrap();
    let server = Process::start(folder.path(), &[]);
    call(&server).await;
    assert!(!server.log().contains("WARN"), "{}", server.log());
    let checked = run_successfully(folder.path(), &["config", "check"]);
    assert!(checked.contains("trusted_proxies    127.0.0.1/32, ::1/128\n"), "{checked}");
    assert!(!checked.contains("warning"), "{checked}");
    std::fs::write(&file, "base_url = 'https://ring.example'").unwrap();
    let checked = run_successfully(folder.path(), &["config", "check"]);
    assert!(checked.contains("warning: base_url is https"), "{checked}");
}
