//! Health, readiness, metrics, and what every answer has.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::Service;
use crate::support::service::config;

#[tokio::test]
async fn healthz_answers_while_the_process_does() {
    let service = Service::start().await;
    let answer = service.anyone().get("/healthz").await;
    assert_eq!(answer.expect(StatusCode::OK), json!({ "status": "ok" }));
}

#[tokio::test]
async fn readyz_names_each_engine() {
    let service = Service::start().await;
    let answer = service.anyone().get("/readyz").await;
    assert_eq!(answer.expect(StatusCode::OK), json!({ "status": "ready", "database": "ok" }));
}

#[tokio::test]
async fn metrics_count_answers_by_class() {
    let service = Service::start().await;
    let anyone = service.anyone();
    anyone.get("/healthz").await;
    anyone.get("/nowhere").await;
    let metrics = anyone.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    for line in [
        "belfry_http_answers_total{status=\"2xx\"} 1",
        "belfry_http_answers_total{status=\"4xx\"} 1",
        "belfry_http_answer_seconds_count 2",
        "belfry_cache_in_use 1",
        "belfry_panics_total 0",
    ] {
        assert!(metrics.text.lines().any(|found| found == line), "{line}\n{}", metrics.text);
    }
}

#[tokio::test]
async fn metrics_with_an_address_of_their_own_are_not_on_the_public_one() {
    let apart = config(|config| config.metrics_listen = Some(([127, 0, 0, 1], 0).into()));
    let service = Service::with(apart).await;
    assert_eq!(service.anyone().get("/metrics").await.status, 404);
}

#[tokio::test]
async fn an_unknown_path_is_answered_in_the_shape_of_its_area() {
    let service = Service::start().await;
    let error = "There is nothing at this path";
    for (path, body) in [
        ("/_service/nothing", json!({ "errcode": "M_UNRECOGNIZED", "error": error })),
        ("/_matrix/client/v9/pushrules/", json!({ "errcode": "M_UNRECOGNIZED", "error": error })),
        ("/oauth/nothing", json!({ "error": "invalid_request", "error_description": error })),
        ("/api/v1/nothing", json!({ "error": error })),
        ("/nothing", json!({ "error": error })),
    ] {
        let answer = service.anyone().get(path).await;
        assert_eq!(answer.expect(StatusCode::NOT_FOUND), body, "{path}");
        assert_eq!(answer.header("content-length"), answer.text.len().to_string(), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_answered_in_json_with_those_allowed() {
    let service = Service::start().await;
    let answer = service.anyone().call("POST /healthz", "").await;
    let body = answer.expect(StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(body, json!({ "error": "This path cannot be called with this method" }));
    assert_eq!(answer.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn every_answer_forbids_guessing_its_type() {
    let service = Service::start().await;
    for path in ["/healthz", "/nothing"] {
        let answer = service.anyone().get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}
