//! `POST …/pushrules/explain`: evaluates an event for one user and explains the result.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::json::to_bytes;
use belfry_core::rules::RuleAccess;
use belfry_core::rules::evaluate::UserRules;
use belfry_core::rules::evaluation_request::ExplainRequest;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::respond::json::JsonBytes;

/// Evaluates an event against the requester's rules, and returns the result of every rule.
pub(crate) async fn explain(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require(RuleAccess::Read)?;
    // The event and the room's power levels may each have the maximum size of an event.
    let max_bytes = state.config.rules.max_body_bytes.saturating_mul(2);
    let FullBody(body) = FullBody::within(max_bytes, request, &state).await?;
    let request = ExplainRequest::read(&body)?;
    let rulesets = state.store.rulesets(requester.account).await?;
    let user_id = requester.user_id(&state);
    // A thousand rules and a long text can take a second, so explanations run on a blocking thread,
    // one at a time. The thread holds the permit even if the client disconnects.
    let permit = Arc::clone(&state.explain_permit).acquire_owned().await;
    let explain = move || {
        let _permit = permit;
        let rules = UserRules::new(&user_id, rulesets.documents());
        to_bytes(&rules.explain(&request.event, &request.room, request.member()))
    };
    let explanation =
        tokio::task::spawn_blocking(explain).await.map_err(|_| CommonError::Internal)?;
    Ok(JsonBytes(explanation.into()).into_response())
}
