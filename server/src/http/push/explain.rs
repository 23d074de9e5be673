//! `POST …/pushrules/explain`: evaluates an event for one user and explains the result.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::json::to_bytes;
use belfry_core::rules::RuleAccess;
use belfry_core::rules::evaluation_request::ExplainRequest;
use belfry_core::rules::explain::EffectiveRules;

use crate::app::AppState;
use crate::evaluation::event_delivery::{EventDelivery, ExplainResponse};
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// Evaluates an event against the requester's rules. Returns the outcome of each rule up to the first
/// match, and the deliveries of the event to the requester's receivers.
pub(crate) async fn explain(
    State(state): State<AppState>,
    requester: Requester,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Read)?;
    // The event and the room's power levels may each have the maximum size of an event.
    let max_bytes = state.config.rules.max_body_bytes.saturating_mul(2);
    let FullBody(body) = FullBody::read_at_most(max_bytes, request, &state).await?;
    let slot = state.evaluation_pool.enter_for_account(requester.account_id)?;
    let request = ExplainRequest::parse(&body)?;
    let Requester { account_id, now, .. } = requester;
    let rulesets = state.store.rulesets(account_id, now).await?;
    let event_id = request.event.event_id();
    let deliveries = EventDelivery::load_all(&state.store, account_id, event_id, now).await?;
    let user_id = requester.user_id(&state);
    let start = Instant::now();
    let evaluate = move || {
        let rules = EffectiveRules::new(&user_id, rulesets.documents());
        let explanation = rules.explain(&request.event, &request.room, request.member(), now);
        let response = ExplainResponse { explanation: &explanation, deliveries };
        (to_bytes(&response), explanation.exceeds_work_budget())
    };
    let (response, exceeds_work_budget) = slot.run(evaluate).await?;
    state.metrics.evaluation.record_explanation(start, exceeds_work_budget);
    let response = state.unread_responses.count(account_id, response.into())?;
    Ok(JsonBytes(response).into_response())
}
