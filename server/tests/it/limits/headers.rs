//! What answers tell of limits.

use serde_json::json;

use super::admitted;
use crate::support::Service;
use crate::support::caller::address;

const HEADERS: [&str; 5] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
];

#[tokio::test]
async fn every_answer_tells_of_the_closest_limit_and_of_all() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    service.clock.advance_millis(250);
    let answer = alice.call("POST /api/v1/media", "").await;
    let told = HEADERS.map(|name| answer.header(name));
    let expected = [
        "30",
        "29",
        "2027-01-15T08:30:00.250Z",
        r#""account";r=299;t=300, "media";r=29;t=1800, "ip";r=299;t=300"#,
        r#""account";q=300;w=300, "media";q=30;w=1800, "ip";q=300;w=300"#,
    ];
    assert_eq!(told, expected);
    assert_eq!(answer.header("retry-after"), "");
}

#[tokio::test]
async fn errors_tell_too() {
    let service = Service::start().await;
    let anyone = service.anyone();
    for (what, status) in [
        ("GET /api/v1/nothing", 404),
        ("GET /_matrix/client/v3/nothing", 404),
        ("GET /oauth/nothing", 404),
        ("POST /gateway/check", 400),
        ("POST /gateway/check/x", 401),
    ] {
        let answer = anyone.call(what, "").await;
        assert_eq!(answer.status, status, "{what}");
        for name in HEADERS {
            assert_ne!(answer.header(name), "", "{what}: {name}");
        }
    }
}

/// [130]
#[tokio::test]
async fn of_equally_close_limits_the_one_that_resets_later_is_told() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    alice.at(address(2)).get("/x").await;
    service.clock.advance(100);
    service.anyone().get("/x").await;
    let answer = alice.get("/x").await;
    assert_eq!(answer.header("ratelimit"), r#""account";r=298;t=200, "ip";r=298;t=300"#);
    assert_eq!(answer.header("x-ratelimit-reset"), "2027-01-15T08:06:40.000Z");
}

/// [126]
#[tokio::test]
async fn a_refusal_tells_when_to_come_back_in_the_shape_of_its_area() {
    let service = Service::start().await;
    let anyone = service.anyone();
    assert_eq!(admitted(&anyone, "GET /x", 300).await, 300);
    service.clock.advance_millis(100_700);
    let plain = json!({ "error": "Too many requests" });
    let of_rules = json!({
        "errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests", "retry_after_ms": 199_300,
    });
    for (path, body) in [
        ("/api/v1/statuses", &plain),
        ("/oauth/token", &plain),
        ("/nowhere", &plain),
        ("/_matrix/client/v3/pushrules/", &of_rules),
        ("/_service/client/api/v1/pushrules/", &of_rules),
    ] {
        let answer = anyone.get(path).await;
        assert_eq!((answer.status, &answer.json()), (429, body), "{path}");
        let told = HEADERS.map(|name| answer.header(name));
        let expected =
            ["300", "0", "2027-01-15T08:05:00.000Z", r#""ip";r=0;t=200"#, r#""ip";q=300;w=300"#];
        assert_eq!(told, expected, "{path}");
        assert_eq!(answer.header("retry-after"), "200", "{path}");
    }
    service.clock.advance(200);
    assert_eq!(anyone.get("/x").await.header("x-ratelimit-remaining"), "299", "as was told");
}

#[tokio::test]
async fn metrics_tell_of_each_limit_by_its_name() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    assert_eq!(admitted(&alice, "POST /api/v1/media", 33).await, 30);
    let metrics = alice.get("/metrics").await.text;
    for line in [
        "belfry_limit_allowed_total{limit=\"media\"} 30",
        "belfry_limit_refused_total{limit=\"media\"} 3",
        "belfry_limit_near_total{limit=\"media\"} 7",
        "belfry_limit_allowed_total{limit=\"account\"} 30",
        "belfry_limit_refused_total{limit=\"account\"} 0",
        "belfry_limit_near_total{limit=\"account\"} 0",
        "belfry_limit_allowed_total{limit=\"ip\"} 30",
        "belfry_limit_allowed_total{limit=\"sign_in_name\"} 0",
        "belfry_limit_keys 3",
        "belfry_limit_keys_evicted_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains("redis"), "there is none");
}
