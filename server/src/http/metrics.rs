//! `/metrics`, for Prometheus.
//!
//! On the main address, metrics are for operators only: clients on this machine. The metrics address
//! shows them to everyone.

use axum::extract::State;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use belfry_runtime::metrics::exposition::{CONTENT_TYPE, Exposition};
use belfry_store::metrics::write_cache_metrics;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::health::is_operator;
use crate::metrics::families;

/// `GET /metrics` on the main address; responds with 404 to clients other than operators.
pub(super) async fn serve_metrics_to_operators(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Response, CommonError> {
    if is_operator(&state, &parts) {
        Ok(serve_metrics(State(state)).await)
    } else {
        Err(CommonError::NotFound)
    }
}

/// `GET /metrics` on the metrics address.
pub(super) async fn serve_metrics(State(state): State<AppState>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], render_metrics(&state)).into_response()
}

/// Returns all metrics in the Prometheus text format.
fn render_metrics(state: &AppState) -> String {
    let mut out = Exposition::default();
    state.metrics.write(&mut out);
    out.value(&families::HTTP_MAX_CONNECTIONS, state.config.http.max_connections);
    let mut restarts = out.family(&families::TASK_RESTARTS);
    for task in state.task_statuses() {
        restarts.value(&[task.name], task.restarts.get());
    }
    state.limits.engine.write_metrics(&mut out);
    out.value(&families::PASSWORD_HASHES, state.passwords.hash_count.get());
    out.value(&families::PASSWORD_QUEUE, state.passwords.queue_length());
    let evaluator = &state.evaluator;
    evaluator.metrics.write(&mut out);
    evaluator.pool.failures.write(&mut out);
    out.value(&families::EVALUATION_QUEUE, evaluator.pool.queue_length());
    out.value(&families::EVALUATION_MAX_QUEUE, evaluator.pool.max_queue_length);
    state.store.write_metrics(&mut out);
    let [tokens, rules, apps, apps_by_id, accounts] = state.store.cache_status();
    let rule_index = evaluator.rule_index_cache.status();
    write_cache_metrics(&mut out, &[tokens, rules, apps, apps_by_id, accounts, rule_index]);
    if let Some(delivery) = &state.delivery {
        delivery.write_metrics(&mut out);
    }
    out.finish()
}
