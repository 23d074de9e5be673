use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use http_body_util::BodyExt;
use jiff::Timestamp;

use super::*;
use crate::clock::FakeClock;
use crate::config::Config;
use crate::http::Guard;
use crate::http::error::CommonError;
use crate::http::router::{AreaRouter, MATRIX, PLAIN, join};
use crate::store::{Database, Store};

/// The state of a service with default settings and an empty database in this folder.
pub(crate) async fn test_state(folder: &std::path::Path) -> Arc<AppState> {
    let config = Config::default();
    let database = Database::Sqlite(folder.join("belfry.db"));
    let options = config.store;
    let store = Store::open(&database, &options, Timestamp::UNIX_EPOCH).await.unwrap();
    let base_url = config.base_url(config.listen);
    let clock = Arc::new(FakeClock::at(0));
    Arc::new(AppState::new(config, base_url, store, clock).await.unwrap())
}

/// A service with routes for tests: one panics, one is slow, one has a guard.
pub(crate) async fn test_service(folder: &std::path::Path) -> HttpService {
    let state = test_state(folder).await;
    let slowly = async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        "done"
    };
    let panics = async || -> &'static str { panic!("this is what the test is about") };
    let registers = async |guard: Guard| -> Result<&'static str, CommonError> {
        guard.app_registration().await?;
        Ok("registered")
    };
    let matrix = AreaRouter::new(MATRIX)
        .route("/_matrix/panic", get(panics))
        .route("/_matrix/register", post(registers));
    let plain =
        AreaRouter::new(PLAIN).route("/slow", get(slowly)).route("/well", get(async || "well"));
    HttpService { router: join(vec![matrix, plain], PLAIN, &state), state }
}

const PEER: Peer = Peer(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1));

#[tokio::test]
async fn a_handler_that_panics_costs_its_caller_a_500_and_nobody_else_anything() {
    let folder = tempfile::tempdir().unwrap();
    let site = test_service(folder.path()).await;
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();

    let answer = site.respond(PEER, get("/_matrix/panic")).await;
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let limits = answer.headers().get("x-ratelimit-remaining").cloned();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["errcode"], "M_UNKNOWN");
    assert!(limits.is_some_and(|left| left == "299"), "told what is left of the limits");
    assert!(!body.to_string().contains("what the test is about"), "{body}");

    assert_eq!(site.respond(PEER, get("/well")).await.status(), StatusCode::OK);
    assert!(site.state.metrics.to_text().contains("belfry_panics_total 1"));
}

#[tokio::test]
async fn a_guard_is_told_of_beside_the_limits_of_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let site = test_service(folder.path()).await;
    let register = async || {
        let request = Request::post("/_matrix/register").body(Body::empty()).unwrap();
        let answer = site.respond(PEER, request).await;
        let told = ["x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "retry-after"]
            .map(|name| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()))
            .map(str::to_owned);
        let status = answer.status();
        (status, told, answer.into_body().collect().await.unwrap().to_bytes())
    };
    let (status, told, _) = register().await;
    let all = r#""ip";r=299;t=300, "app_registration";r=29;t=600"#;
    assert_eq!((status, told), (StatusCode::OK, ["30", "29", all, ""].map(str::to_owned)));
    for _ in 0..29 {
        assert_eq!(register().await.0, StatusCode::OK);
    }
    let (status, told, body) = register().await;
    let all = r#""ip";r=269;t=300, "app_registration";r=0;t=600"#;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(told, ["30", "0", all, "600"].map(str::to_owned));
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["errcode"], "M_LIMIT_EXCEEDED");
    assert_eq!(body["retry_after_ms"], 600_000);
}
