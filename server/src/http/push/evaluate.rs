//! `POST …/app/v1/evaluate`: evaluates an event for many users, for application services.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::rules::evaluation_request::EvaluateRequest;

use super::member_evaluation::{MAX_BODY_BYTES, MemberEvaluation};
use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::JsonBytes;

/// Evaluates an event for many members, and returns them grouped by result. Members without an
/// account on this server and members outside the service's namespaces are omitted.
pub(crate) async fn evaluate(
    State(state): State<AppState>,
    RequestingService(service): RequestingService,
    request: Request,
) -> Result<Response, MatrixError> {
    let FullBody(body) = FullBody::read_at_most(MAX_BODY_BYTES, request, &state).await?;
    let slot = state.evaluation_pool.enter()?;
    let request = slot.run(move || EvaluateRequest::parse(&body)).await??;
    let evaluation = MemberEvaluation::new(request, None, state.clock.now());
    let evaluation = evaluation.run(&state, &slot, &service).await?;
    let response = slot.run(move || evaluation.to_json()).await?;
    Ok(JsonBytes(response.into()).into_response())
}
