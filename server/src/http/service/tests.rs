//! Tests of the HTTP service.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use belfry_runtime::test::FakeClock;
use belfry_store::{Database, Store};
use http_body_util::BodyExt;
use jiff::Timestamp;

use super::*;
use crate::app::StateParts;
use crate::config::Config;
use crate::http::AbuseGuard;
use crate::http::error::CommonError;
use crate::http::extract::body::FullBody;
use crate::http::router::{AreaRouter, DEFAULT_AREA, MATRIX, Routes};

/// Returns the state of a service with default settings and an empty database in this directory.
pub(crate) async fn test_state(dir: &std::path::Path) -> AppState {
    AppState::new(test_state_parts(dir).await)
}

pub(crate) async fn test_state_parts(dir: &std::path::Path) -> StateParts {
    let key_file = Some(dir.join("belfry.key"));
    let config = Config { secret_key_file: key_file, ..Config::default() };
    let database = Database::Sqlite(dir.join("belfry.db"));
    let options = config.store;
    let store = Store::open(&database, &options, Timestamp::UNIX_EPOCH).await.unwrap();
    let base_url = config.base_url();
    let clock = Arc::new(FakeClock::at_second(0));
    StateParts::new(config, base_url, store, clock).await.unwrap()
}

/// The size of the response to `/large`, in bytes.
pub(crate) const LARGE_RESPONSE_BYTES: usize = 200_000;

/// Returns a service with test routes: one panics, one has a guard, one is slow, one reads a body,
/// one has a large response, and one just succeeds.
pub(crate) async fn test_service(dir: &std::path::Path) -> HttpService {
    let state = test_state(dir).await;
    let slow_handler = async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        "done"
    };
    let panicking_handler = async || -> &'static str { panic!("a secret of the handler") };
    let guarded_handler = async |guard: AbuseGuard| -> Result<&'static str, CommonError> {
        guard.count_app_registration().await?;
        Ok("registered")
    };
    let matrix = AreaRouter::new(MATRIX)
        .route("/_matrix/panic", get(panicking_handler))
        .route("/_matrix/register", post(guarded_handler));
    let plain = AreaRouter::new(DEFAULT_AREA)
        .route("/slow", get(slow_handler))
        .route("/body", post(async |FullBody(_): FullBody| "read"))
        .route("/large", get(async || vec![b'a'; LARGE_RESPONSE_BYTES]))
        .route("/well", get(async || "well"));
    let routes = Routes::join(vec![matrix, plain], DEFAULT_AREA, &state);
    HttpService { routes: Arc::new(routes), state }
}

const PEER: Peer = Peer(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1));

#[tokio::test]
async fn a_panic_in_a_handler_fails_only_its_own_request() {
    let dir = tempfile::tempdir().unwrap();
    let service = test_service(dir.path()).await;
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();

    let response = service.respond(PEER, get("/_matrix/panic")).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let remaining = response.headers().get("x-ratelimit-remaining").cloned();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["errcode"], "M_UNKNOWN");
    assert!(remaining.is_some_and(|value| value == "299"), "the response reports the limits");
    assert!(!body.to_string().contains("a secret of the handler"), "{body}");

    assert_eq!(service.respond(PEER, get("/well")).await.status(), StatusCode::OK);
    assert_eq!(service.state.metrics.http.panics.get(), 1);
}

#[tokio::test]
async fn rate_limit_headers_also_report_guard_limits() {
    let dir = tempfile::tempdir().unwrap();
    let service = test_service(dir.path()).await;
    let register = async || {
        let request = Request::post("/_matrix/register").body(Body::empty()).unwrap();
        let response = service.respond(PEER, request).await;
        let headers = ["x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "retry-after"]
            .map(|name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()))
            .map(str::to_owned);
        let status = response.status();
        (status, headers, response.into_body().collect().await.unwrap().to_bytes())
    };
    let (status, headers, _) = register().await;
    let rate_limit = r#""ip";r=299;t=300, "app_registration";r=29;t=600"#;
    assert_eq!(
        (status, headers),
        (StatusCode::OK, ["30", "29", rate_limit, ""].map(str::to_owned))
    );
    for _ in 0..29 {
        assert_eq!(register().await.0, StatusCode::OK);
    }
    let (status, headers, body) = register().await;
    let rate_limit = r#""ip";r=269;t=300, "app_registration";r=0;t=600"#;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(headers, ["30", "0", rate_limit, "600"].map(str::to_owned));
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["errcode"], "M_LIMIT_EXCEEDED");
    assert_eq!(body["retry_after_ms"], 600_000);
}
