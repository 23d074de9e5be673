//! `/healthz`, `/readyz` and `/metrics`, for operators.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::time::timeout;

use crate::app::AppState;
use crate::http::respond::json::Json;
use crate::limits::EngineStatus;
use crate::store::StoreError;

/// The timeout of the database in a readiness check.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// `GET /healthz`: liveness, without a check of the database.
pub(super) async fn healthz() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

/// `GET /readyz`: readiness, with the status of the database and of Redis. Without Redis, a node
/// counts locally and is still ready.
pub(super) async fn readyz(State(state): State<Arc<AppState>>) -> Response {
    let database = match timeout(PING_TIMEOUT, state.store.ping()).await {
        Ok(Ok(())) => "ok".to_owned(),
        Ok(Err(StoreError::Unavailable(why))) => why,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no response within {} s", PING_TIMEOUT.as_secs()),
    };
    let (status, text) = match &*database {
        "ok" => (StatusCode::OK, "ready"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let mut body = json!({ "status": text, "database": database });
    match state.limits.engine.state().status {
        EngineStatus::Memory => {}
        EngineStatus::Redis => body["redis"] = "ok".into(),
        EngineStatus::RedisUnavailable => {
            body["redis"] = "redis unreachable, counting locally".into();
        }
    }
    (status, Json(body)).into_response()
}

/// `GET /metrics`: all metrics in the `OpenMetrics` text format.
pub(super) async fn metrics(State(state): State<Arc<AppState>>) -> Response {
    state.metrics.cache_enabled.set(state.store.is_cache_enabled().into());
    state.limits.update_metrics(&state.metrics.limits);
    let text = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, text)], state.metrics.to_text()).into_response()
}
