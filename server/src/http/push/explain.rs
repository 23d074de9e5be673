//! `POST …/pushrules/explain`: evaluates an event for one user and explains the result.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use belfry_core::json::to_bytes;
use belfry_core::rules::access::READ_RULES;
use belfry_core::rules::evaluation_request::ExplainRequest;
use belfry_core::rules::explain::EffectiveRules;

use crate::account_memory::UnreadResponses;
use crate::config::RuleSettings;
use crate::evaluation::Evaluator;
use crate::evaluation::event_delivery::{EventDelivery, ExplainResponse};
use crate::http::error::MatrixError;
use crate::http::extract::body::UnreadBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// Evaluates an event against the requester's rules. Returns the outcome of each rule up to the first
/// match, and the deliveries of the event to the requester's receivers.
pub(crate) async fn explain(
    State(settings): State<RuleSettings>,
    State(evaluator): State<Arc<Evaluator>>,
    State(unread_responses): State<UnreadResponses>,
    requester: Requester,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(READ_RULES)?;
    // The event, two related events and the room's power levels may each have the maximum size of
    // an event.
    let max_bytes = settings.max_body_bytes.saturating_mul(4);
    let body = body.read(max_bytes).await?;
    let slot = evaluator.pool.enter_for_account(requester.account_id)?;
    let request = ExplainRequest::parse(&body)?;
    let Requester { account_id, user_id, now, .. } = requester;
    let rulesets = evaluator.store.rulesets(account_id, now).await?;
    let event_id = request.event.event_id();
    let deliveries = EventDelivery::load_all(&evaluator.store, account_id, event_id, now).await?;
    let start = Instant::now();
    let evaluate = move || {
        let rules = EffectiveRules::new(&user_id, rulesets.documents());
        let explanation = rules.explain(&request.event, &request.room, request.member(), now);
        let response = ExplainResponse { explanation: &explanation, deliveries };
        (to_bytes(&response), explanation.exceeds_work_budget())
    };
    let (response, exceeds_work_budget) = slot.run(evaluate).await?;
    evaluator.metrics.record_explanation(start, exceeds_work_budget);
    Ok(JsonBytes(unread_responses.count(account_id, response.into())?))
}
