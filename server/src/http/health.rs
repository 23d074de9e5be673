//! `GET /healthz`, `GET /readyz`, `GET /metrics`: for those who keep the service running.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::time::timeout;

use crate::app::AppState;
use crate::http::respond::json::Json;
use crate::limits::Place;
use crate::store::StoreError;

/// How long an engine may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, r#"{"status":"ok"}"#).into_response()
}

/// `GET /readyz`: the engines answer, each by its name. Without its Redis a process counts alone,
/// and is ready all the same.
pub(super) async fn readyz(State(state): State<Arc<AppState>>) -> Response {
    let database = match timeout(PATIENCE, state.store.ping()).await {
        Ok(Ok(())) => "ok".to_owned(),
        Ok(Err(StoreError::Unavailable(why))) => why,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    let (status, word) = if database == "ok" {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    let mut body = json!({ "status": word, "database": database });
    match state.limits.state().place {
        Place::Memory => {}
        Place::Redis => body["redis"] = "ok".into(),
        Place::Alone => body["redis"] = "no answer; this process counts alone".into(),
    }
    (status, Json(body)).into_response()
}

/// `GET /metrics`: what is counted, as Prometheus reads it.
pub(super) async fn metrics(State(state): State<Arc<AppState>>) -> Response {
    state.metrics.cache_in_use.set(state.store.is_cache_enabled().into());
    state.metrics.limits.observe(state.limits.state());
    let text = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, text)], state.metrics.to_text()).into_response()
}
