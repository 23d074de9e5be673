//! `/healthz` and `/readyz`: liveness and readiness.
//!
//! On the main address, readiness details are for operators only: clients on this machine. The
//! metrics address shows them to everyone.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use belfry_limits::EngineStatus;
use belfry_runtime::log_throttle::LogThrottle;
use belfry_store::StoreError;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::app::AppState;
use crate::control::{Arrival, PROBE_HEADER};
use crate::http::extract::client;
use crate::http::extract::client::FORWARDING_HEADERS;
use crate::http::json::Json;
use crate::log::request_context::RequestContext;

static NOT_READY_LOG: LogThrottle = LogThrottle::new("not ready");
static READY_LOG: LogThrottle = LogThrottle::new("ready again");

const DATABASE_READY: &str = "ok";

/// Maximum time for the database to respond to a readiness check.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for which the result of a readiness check is reused, to limit the load from anonymous
/// requests.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// `GET /healthz`: liveness, without a database check.
pub(super) async fn healthz(State(state): State<AppState>, parts: Parts) -> Response {
    if let Some(probe) = parts.headers.get(PROBE_HEADER) {
        state.expected_probe.record(probe.as_bytes(), || describe_arrival(&state, &parts));
    }
    Json(json!({ "status": "ok" })).into_response()
}

fn describe_arrival(state: &AppState, parts: &Parts) -> Option<Arrival> {
    let limits = state.limits.active();
    let peer = RequestContext::with_current(|request| request.peer)?;
    let configured_header = limits.proxy_header.as_ref().map(HeaderName::as_str);
    let headers = configured_header.into_iter().chain(FORWARDING_HEADERS);
    Some(Arrival {
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
        is_trusted_proxy: limits.proxies.contains(peer.ip()),
        headers: headers
            .filter(|name| parts.headers.contains_key(*name))
            .map(str::to_owned)
            .collect(),
    })
}

/// `GET /readyz`: readiness, with details for operators.
pub(super) async fn readyz(State(state): State<AppState>, parts: Parts) -> Response {
    respond_with_readiness(&state, is_operator(&state, &parts)).await
}

/// `GET /readyz` on the metrics address.
pub(super) async fn readyz_with_details(State(state): State<AppState>) -> Response {
    respond_with_readiness(&state, true).await
}

/// Responds to a readiness check. The details are the status of the database and of Redis, and the
/// background tasks that fail repeatedly. While Redis is unreachable, a node counts rate limits
/// locally and is still ready. A stopping node is never ready.
async fn respond_with_readiness(state: &AppState, include_details: bool) -> Response {
    if state.is_stopping() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "stopping" })))
            .into_response();
    }
    let database_check = check_database(state);
    let database = reuse_or_check(&state.database_status, Instant::now(), database_check).await;
    let mut failing_tasks = state.task_statuses();
    failing_tasks.retain(|task| task.is_failing_repeatedly());
    let (status, status_text) = if database == DATABASE_READY && failing_tasks.is_empty() {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    let mut body = json!({ "status": status_text });
    if include_details {
        body["database"] = database.into();
        if !failing_tasks.is_empty() {
            let names: Vec<&str> = failing_tasks.iter().map(|task| task.name).collect();
            body["tasks"] = format!("failing repeatedly: {}", names.join(", ")).into();
        }
        match state.limits.engine.state().status {
            EngineStatus::Memory => {}
            EngineStatus::Redis => body["redis"] = "ok".into(),
            EngineStatus::RedisDegraded { unavailable, shards } => {
                let count = unavailable.len();
                let redis_status = format!(
                    "{count} of {shards} shards unavailable, using local counters for them: {}",
                    unavailable.join(", ")
                );
                body["redis"] = redis_status.into();
            }
            EngineStatus::RedisUnavailable => {
                body["redis"] = "Redis unavailable, using local counters".into();
            }
        }
    }
    (status, Json(body)).into_response()
}

/// Returns [`DATABASE_READY`], or the reason why the database cannot be used. Failures are logged,
/// throttled.
async fn check_database(state: &AppState) -> String {
    let status = match timeout(PING_TIMEOUT, state.store.ping()).await {
        Ok(Ok(())) => return DATABASE_READY.to_owned(),
        Ok(Err(StoreError::Unavailable(reason))) => reason,
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            let status = format!("no response within {} s", PING_TIMEOUT.as_secs());
            // With several hosts, one may not respond while the others do not accept writes.
            match state.store.connection_error() {
                Some(error) => format!("{status}: {error}"),
                None => status,
            }
        }
    };
    if NOT_READY_LOG.admits() {
        tracing::warn!(database = status, "not ready");
    }
    status
}

/// Returns the last result of a check if it is recent, otherwise a new one. Concurrent requests
/// wait for one check.
async fn reuse_or_check(
    last_check: &Mutex<Option<(Instant, String)>>,
    now: Instant,
    check: impl Future<Output = String>,
) -> String {
    let mut last_check = last_check.lock().await;
    match &*last_check {
        Some((time, status)) if now.saturating_duration_since(*time) < CHECK_INTERVAL => {
            status.clone()
        }
        _ => {
            let status = check.await;
            let was_ready = last_check.as_ref().is_none_or(|(_, status)| status == DATABASE_READY);
            if status == DATABASE_READY && !was_ready && READY_LOG.admits() {
                tracing::info!("ready again");
            }
            last_check.insert((now, status)).1.clone()
        }
    }
}

/// Returns whether the client is known to be on this machine. The address of a peer that may be a
/// proxy does not suffice, because all clients of a proxy on this machine would then count as local.
pub(super) fn is_operator(state: &AppState, parts: &Parts) -> bool {
    client::verified_address(&state.limits.active(), parts)
        .is_some_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_readiness_check_is_reused_for_a_second() {
        let last_check = Mutex::new(None);
        let start = Instant::now();
        let check_at = async |millis, status: &str| {
            let now = start + Duration::from_millis(millis);
            reuse_or_check(&last_check, now, async { status.to_owned() }).await
        };
        assert_eq!(check_at(0, "ok").await, "ok");
        assert_eq!(check_at(999, "failed").await, "ok");
        assert_eq!(check_at(1000, "failed").await, "failed");
        assert_eq!(check_at(1999, "ok").await, "failed");
        assert_eq!(check_at(2000, "ok").await, "ok");
    }
}
