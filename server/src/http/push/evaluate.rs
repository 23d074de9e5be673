//! `POST …/app/v1/evaluate`: evaluates an event for many users, for application services.

use std::sync::Arc;

use axum::extract::State;
use belfry_core::rules::evaluation_request::EvaluateRequest;

use super::member_evaluation::{MAX_BODY_BYTES, MemberEvaluation};
use crate::evaluation::Evaluator;
use crate::http::error::MatrixError;
use crate::http::extract::body::UnreadBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::JsonBytes;

/// Evaluates an event for many members, and returns them grouped by result. Members without an
/// account on this server and members outside the service's namespaces are omitted.
pub(crate) async fn evaluate(
    State(evaluator): State<Arc<Evaluator>>,
    RequestingService(service): RequestingService,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    let body = body.read(MAX_BODY_BYTES).await?;
    let slot = evaluator.pool.enter()?;
    let request = slot.run(move || EvaluateRequest::parse(&body)).await??;
    let evaluation = MemberEvaluation::new(request, None, evaluator.clock.now());
    let evaluation = evaluation.run(&evaluator, &slot, &service).await?;
    let response = slot.run(move || evaluation.to_json()).await?;
    Ok(JsonBytes(response.into()))
}
