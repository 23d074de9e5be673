//! `POST …/pushrules/explain`: evaluates an event for one user and explains the result.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::json::to_bytes;
use belfry_core::rules::RuleAccess;
use belfry_core::rules::evaluation_request::ExplainRequest;
use belfry_core::rules::explain::EffectiveRules;

use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// Evaluates an event against the requester's rules, and returns the result of each rule up to the
/// first one that matches.
pub(crate) async fn explain(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Read)?;
    // The event and the room's power levels may each have the maximum size of an event.
    let max_bytes = state.config.rules.max_body_bytes.saturating_mul(2);
    let FullBody(body) = FullBody::read_at_most(max_bytes, request, &state).await?;
    let request = ExplainRequest::read(&body)?;
    let rulesets = state.store.rulesets(requester.account_id, state.clock.now()).await?;
    let user_id = requester.user_id(&state);
    let start = Instant::now();
    let slot = state.evaluation_pool.enter_for_account(requester.account_id)?;
    let explain = move || {
        let rules = EffectiveRules::new(&user_id, rulesets.documents());
        let explanation = rules.explain(&request.event, &request.room, request.member());
        (to_bytes(&explanation), explanation.exceeds_work_limit())
    };
    let (explanation, exceeds_work_limit) = slot.run(explain).await?;
    state.metrics.evaluation.record_explanation(start, exceeds_work_limit);
    let explanation = state.unread_responses.count(requester.account_id, explanation.into())?;
    Ok(JsonBytes(explanation).into_response())
}
