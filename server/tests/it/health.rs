//! Health, readiness, probes, access to metrics, and properties that all responses share.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use belfry::control::PROBE_HEADER;
use belfry_runtime::supervisor::Task;
use serde_json::json;

use crate::support::Service;
use crate::support::service::config_with;

#[tokio::test]
async fn healthz_reports_that_the_process_responds() {
    let service = Service::start().await;
    let response = service.anonymous_client().get("/healthz").await;
    assert_eq!(response.expect_json(StatusCode::OK), json!({ "status": "ok" }));
}

#[tokio::test]
async fn readyz_reports_the_database() {
    let service = Service::start().await;
    let response = service.operator_client().get("/readyz").await;
    assert_eq!(
        response.expect_json(StatusCode::OK),
        json!({ "status": "ready", "database": "ok" })
    );
}

#[tokio::test]
async fn a_repeatedly_failing_task_is_restarted_counted_and_named_by_readyz() {
    let service = Service::start().await;
    let broken_task = || async { panic!("a broken task") };
    service.state.tasks.add(Task::spawn("broken", broken_task));
    let idle_task = || std::future::pending::<()>();
    service.state.tasks.add(Task::spawn("healthy", idle_task));
    let start = Instant::now();
    let response = loop {
        let response = service.operator_client().get("/readyz").await;
        if response.status == 503 {
            break response;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{}", response.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let tasks = "failing repeatedly: broken";
    let expected = json!({ "status": "not ready", "database": "ok", "tasks": tasks });
    assert_eq!(response.expect_json(StatusCode::SERVICE_UNAVAILABLE), expected);
    let response = service.anonymous_client().get("/readyz").await;
    assert_eq!(
        response.expect_json(StatusCode::SERVICE_UNAVAILABLE),
        json!({ "status": "not ready" }),
        "details are for operators"
    );
    let metrics = service.metrics().await;
    assert!(metrics.contains("belfry_task_restarts_total{task=\"broken\"} 4\n"), "{metrics}");
    assert!(metrics.contains("belfry_task_restarts_total{task=\"healthy\"} 0\n"), "{metrics}");
    service.state.tasks.stop().await;
    assert_eq!(service.operator_client().get("/readyz").await.status, 200);
}

#[tokio::test]
async fn metrics_with_a_separate_address_are_not_served_on_the_public_address() {
    let config = config_with(|config| config.metrics_listen = "127.0.0.1:0".parse().ok());
    let service = Service::start_with(config).await;
    assert_eq!(service.operator_client().get("/metrics").await.status, 404);
}

#[tokio::test]
async fn only_operators_see_metrics_and_the_details_of_readiness() {
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let loopback6 = "::1".parse().unwrap();
    let untrusted = IpAddr::from([192, 0, 2, 1]);
    let proxy = IpAddr::from([10, 0, 0, 1]);
    let service = Service::start_with(config_with(|config| {
        config.trusted_proxies.0 = vec!["10.0.0.1".parse().unwrap()];
    }))
    .await;
    for (peer, forwarded_for, is_operator) in [
        (loopback, None, true),
        (loopback6, None, true),
        (untrusted, None, false),
        // A proxy on this machine that is not configured as trusted: anyone may be behind it.
        (loopback, Some("192.0.2.1"), false),
        (loopback, Some("127.0.0.1"), false),
        (untrusted, Some("127.0.0.1"), false),
        (proxy, None, false),
        (proxy, Some("192.0.2.1"), false),
        (proxy, Some("127.0.0.1, 192.0.2.1"), false),
        (proxy, Some("127.0.0.1"), true),
    ] {
        let mut client = service.anonymous_client().with_address(peer);
        if let Some(forwarded_for) = forwarded_for {
            client = client.with_header("x-forwarded-for", forwarded_for);
        }
        let metrics = client.get("/metrics").await;
        let readiness = client.get("/readyz").await;
        let expected = if is_operator {
            (200, json!({ "status": "ready", "database": "ok" }))
        } else {
            (404, json!({ "status": "ready" }))
        };
        let actual = (metrics.status, readiness.expect_json(StatusCode::OK));
        assert_eq!(actual, expected, "{peer} {forwarded_for:?}");
    }
}

/// Proxies on the same machine connect from a loopback address. They are recognised by a forwarding
/// header or, because many add none, by a `Host` that is neither an IP address nor `localhost`.
#[tokio::test]
async fn a_request_that_a_proxy_may_have_forwarded_is_not_from_an_operator() {
    let service = Service::start_with(config_with(|config| {
        config.trusted_proxy_header = Some("x-client".parse().unwrap());
        config.trusted_proxies.0 = vec!["127.0.0.2".parse().unwrap()];
    }))
    .await;
    let trusting_service = Service::start_with(config_with(|config| {
        config.trusted_proxies.0 = vec!["127.0.0.1".parse().unwrap()];
    }))
    .await;
    let is_operator = async |service: &Service, target: &str, headers: &[(&str, &str)]| {
        let client = headers.iter().fold(service.operator_client(), |client, (name, value)| {
            client.with_header(name, value)
        });
        client.send(target, "").await.status == 200
    };
    let metrics_request = "GET /metrics";
    for (headers, expected) in [
        (&[][..], true),
        (&[("host", "127.0.0.1:8080")], true),
        (&[("host", "[::1]:8080")], true),
        (&[("host", "10.1.2.3")], true),
        (&[("host", "localhost:8080")], true),
        (&[("host", "LocalHost")], true),
        (&[("host", "ring.example")], false),
        (&[("host", "belfry:8080")], false),
        (&[("host", "localhost.ring.example")], false),
        (&[("host", "127.0.0.1.ring.example")], false),
        (&[("host", "")], false),
        (&[("x-forwarded-for", "127.0.0.1")], false),
        (&[("x-forwarded-proto", "https")], false),
        (&[("x-forwarded-host", "127.0.0.1")], false),
        (&[("x-forwarded-anything", "")], false),
        (&[("x-real-ip", "127.0.0.1")], false),
        (&[("x-client-ip", "127.0.0.1")], false),
        (&[("x-original-forwarded-for", "127.0.0.1")], false),
        (&[("cdn-loop", "edge")], false),
        (&[("forwarded", "for=127.0.0.1")], false),
        (&[("via", "1.1 proxy")], false),
        (&[("cf-connecting-ip", "127.0.0.1")], false),
        (&[("true-client-ip", "127.0.0.1")], false),
        (&[("fly-client-ip", "127.0.0.1")], false),
        (&[("x-client", "127.0.0.1")], false),
    ] {
        assert_eq!(is_operator(&service, metrics_request, headers).await, expected, "{headers:?}");
    }
    // With HTTP/2, or HTTP/1.1 with an absolute URL, the host is in the target.
    for (target, expected) in [
        ("GET http://127.0.0.1:8080/metrics", true),
        ("GET http://[::1]/metrics", true),
        ("GET http://localhost/metrics", true),
        ("GET http://ring.example/metrics", false),
    ] {
        let host_header = &[("host", "127.0.0.1")][..];
        assert_eq!(is_operator(&service, target, host_header).await, expected, "{target}");
        assert_eq!(is_operator(&service, target, &[]).await, expected, "{target}");
    }
    // A trusted proxy with a loopback address, which by itself would count as an operator's.
    for (headers, expected) in [
        (&[("host", "127.0.0.1")][..], true),
        (&[("x-forwarded-for", "127.0.0.9")], true),
        (&[("x-forwarded-for", "192.0.2.1")], false),
        (&[("x-forwarded-for", "unknown")], false),
        (&[("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=127.0.0.9")], false),
        (&[("host", "ring.example")], false),
        (&[("via", "1.1 proxy")], false),
    ] {
        assert_eq!(
            is_operator(&trusting_service, metrics_request, headers).await,
            expected,
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn an_unknown_path_has_the_error_format_of_its_area() {
    let service = Service::start().await;
    let error = "There is nothing at this path";
    for (path, body) in [
        ("/_service/nothing", json!({ "errcode": "M_UNRECOGNIZED", "error": error })),
        ("/_matrix/client/v9/pushrules/", json!({ "errcode": "M_UNRECOGNIZED", "error": error })),
        ("/oauth/nothing", json!({ "error": "invalid_request", "error_description": error })),
        ("/api/v1/nothing", json!({ "error": error })),
        ("/nothing", json!({ "error": error })),
    ] {
        let response = service.anonymous_client().get(path).await;
        assert_eq!(response.expect_json(StatusCode::NOT_FOUND), body, "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_rejected_with_the_allowed_methods() {
    let service = Service::start().await;
    let response = service.anonymous_client().send("POST /healthz", "").await;
    let body = response.expect_json(StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(body, json!({ "error": "This path cannot be called with this method" }));
    assert_eq!(response.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn successful_and_error_responses_forbid_content_sniffing() {
    let service = Service::start().await;
    for path in ["/healthz", "/nothing"] {
        let response = service.anonymous_client().get(path).await;
        assert_eq!(response.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn only_the_expected_probe_is_recorded() {
    let service = Service::start_with(config_with(|config| {
        config.trusted_proxies.0 = vec!["10.0.0.1".parse().unwrap()];
    }))
    .await;
    let expect = || service.state.expected_probe.expect("0123".to_owned());
    assert_eq!(expect(), None);
    for (probe, is_expected) in [("guess", false), ("", false), ("0123", true)] {
        let client = service.anonymous_client().with_address([10, 0, 0, 1]);
        let client = client.with_header("x-forwarded-for", "192.0.2.1");
        let response = client.with_header(PROBE_HEADER, probe).get("/healthz").await;
        assert_eq!(response.text, r#"{"status":"ok"}"#);
        assert_eq!(expect().is_some(), is_expected, "{probe}");
    }
    let arrival = expect().unwrap();
    assert!(arrival.is_trusted_proxy && arrival.peer.to_string().starts_with("10.0.0.1:"));
    assert_eq!(arrival.headers, ["x-forwarded-for"]);
}
