//! Metrics: every metric family is documented, and its value changes when the event occurs. The
//! dashboard and the alerts use only metrics that exist.

mod authentication;
mod changes;
mod documents;
mod promtool;
mod text;

use axum::http::StatusCode;
use belfry::config::Config;
use belfry_store::Database;

use self::text::Scrape;
use crate::support::{Service, TestDatabase};

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let service = Service::start().await;
    let operator = service.operator_client();
    let alice = service.user_client("alice").await;
    operator.get("/healthz").await;
    operator.send("BREW /healthz", "").await;
    operator.get("/nowhere").await;
    for path in ["/_matrix/client/v3/pushrules/", "/_service/client/r0/pushrules/"] {
        alice.get(path).await.expect_json(StatusCode::OK);
    }
    operator.get("/_matrix/client/v3/pushrules/").await;

    let scrape = Scrape::parse(&service.metrics().await);
    let rules_route = "/{segment}/client/{api}/pushrules/";
    for (route, method, status, count) in [
        ("/healthz", "GET", "200", 1.0),
        ("/healthz", "other", "405", 1.0),
        ("unmatched", "GET", "404", 1.0),
        (rules_route, "GET", "200", 2.0),
        (rules_route, "GET", "401", 1.0),
    ] {
        let labels = [("route", route), ("method", method), ("status", status)];
        assert_eq!(scrape.value("belfry_http_requests_total", &labels), Some(count), "{route}");
    }
    let durations = "belfry_http_request_duration_seconds_count";
    let labels = [("route", rules_route), ("method", "GET")];
    assert_eq!(scrape.value(durations, &labels), Some(3.0));
    assert_eq!(scrape.value(durations, &[("route", "/metrics"), ("method", "GET")]), None);
}

#[tokio::test]
async fn metrics_are_served_in_the_prometheus_text_format() {
    let service = Service::start().await;
    for accept in ["*/*", "application/openmetrics-text;version=1.0.0,text/plain;q=0.1"] {
        let response =
            service.operator_client().with_header("accept", accept).get("/metrics").await;
        assert_eq!(response.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
        assert!(response.text.contains("\n# TYPE belfry_panics_total counter\n"), "{accept}");
        assert!(response.text.contains("\nbelfry_panics_total 0\n"), "{accept}");
        assert!(response.text.ends_with('\n') && !response.text.contains("\n\n"), "{accept}");
    }
}

#[tokio::test]
async fn store_failures_are_counted_in_the_metrics() {
    let database = TestDatabase::sqlite();
    let sqlite_database = database.database.clone();
    let service = Service::start_on(database, Config::default()).await;
    let alice = service.user_client("alice").await;
    let failure_count = async || {
        let metrics = service.metrics().await;
        let series =
            "belfry_store_failures_total{engine=\"sqlite\",operation=\"read\",reason=\"failed\"} ";
        let count = metrics.lines().find_map(|line| line.strip_prefix(series));
        count.expect("the metric exists").to_owned()
    };
    assert_eq!(failure_count().await, "0");

    let Database::Sqlite(path) = &sqlite_database else { panic!("{sqlite_database:?}") };
    rusqlite::Connection::open(path).unwrap().execute_batch("drop table rulesets").unwrap();

    assert_eq!(alice.get("/_matrix/client/v3/pushrules/").await.status, 500);
    assert_eq!(failure_count().await, "1");
}
