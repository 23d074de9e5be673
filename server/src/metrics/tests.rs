//! Tests of request metrics.

use std::time::Duration;

use axum::http::StatusCode;

use super::*;

fn render(write: impl FnOnce(&mut Exposition)) -> String {
    let mut out = Exposition::default();
    write(&mut out);
    out.finish()
}

#[test]
fn requests_are_counted_by_route_method_and_status() {
    let metrics = HttpMetrics::default();
    let item_route = metrics.route("/a/{b}");
    let unmatched_route = metrics.route("unmatched");
    for (route, method, status) in [
        (&item_route, "GET", 200),
        (&item_route, "GET", 404),
        (&metrics.route("/a/{b}"), "GET", 200),
        (&item_route, "PUT", 201),
        (&unmatched_route, "BREW", 404),
    ] {
        route.record(method, StatusCode::from_u16(status).unwrap(), Duration::from_millis(3));
    }
    let exposition = render(|out| metrics.write(out));
    let samples = |name: &str| -> Vec<&str> {
        exposition.lines().filter_map(|line| line.strip_prefix(name)).collect()
    };
    assert_eq!(
        samples("belfry_http_requests_total"),
        [
            "{route=\"/a/{b}\",method=\"GET\",status=\"200\"} 2",
            "{route=\"/a/{b}\",method=\"GET\",status=\"404\"} 1",
            "{route=\"/a/{b}\",method=\"PUT\",status=\"201\"} 1",
            "{route=\"unmatched\",method=\"other\",status=\"404\"} 1",
        ]
    );
    assert_eq!(
        samples("belfry_http_request_duration_seconds_count"),
        [
            "{route=\"/a/{b}\",method=\"GET\"} 3",
            "{route=\"/a/{b}\",method=\"PUT\"} 1",
            "{route=\"unmatched\",method=\"other\"} 1",
        ]
    );
}

#[test]
fn concurrent_responses_are_all_counted() {
    const RESPONSES_PER_THREAD: u16 = 2_000;
    let metrics = HttpMetrics::default();
    let route = metrics.route("/a");
    std::thread::scope(|scope| {
        for thread in 0..4_u16 {
            let route = &route;
            scope.spawn(move || {
                for number in 0..RESPONSES_PER_THREAD {
                    let status = StatusCode::from_u16(400 + (number + thread) % 8).unwrap();
                    route.record("GET", status, Duration::ZERO);
                }
            });
        }
    });
    let exposition = render(|out| metrics.write(out));
    for status in 400..408 {
        let line = format!(
            "belfry_http_requests_total{{route=\"/a\",method=\"GET\",status=\"{status}\"}} {}",
            RESPONSES_PER_THREAD * 4 / 8
        );
        assert!(
            exposition.lines().any(|output_line| output_line == line),
            "{line} in\n{exposition}"
        );
    }
}
