//! `POST …/pushrules/explain`: what the caller's rules say of an event, and why.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::json::write;
use belfry_core::rules::RuleAccess;
use belfry_core::rules::evaluate::CompiledRules;
use belfry_core::rules::evaluation_request::ExplainRequest;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::Whole;
use crate::http::extract::requester::Requester;
use crate::http::respond::json::JsonBytes;

/// Tells the verdict on an event, and every rule that was asked for it.
pub(crate) async fn explain(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.may(RuleAccess::Read)?;
    // The event and the room's power levels may each be as large as an event may be.
    let most = state.config.rules.max_body_bytes.saturating_mul(2);
    let Whole(body) = Whole::within(most, request, &state).await?;
    let asked = ExplainRequest::read(&body)?;
    let rulesets = state.store.rulesets(requester.account).await?;
    let user_id = requester.user_id(&state);
    // A thousand rules and a long text take a while, and somebody may have made them for that: in
    // turn, and where no other call waits for it. The work keeps its turn when its caller has gone.
    let turn = Arc::clone(&state.explain_permit).acquire_owned().await;
    let explain = move || {
        let _turn = turn;
        let rules = CompiledRules::new(&user_id, rulesets.documents());
        write(&rules.explain(&asked.event, &asked.room, asked.member()))
    };
    let explained =
        tokio::task::spawn_blocking(explain).await.map_err(|_| CommonError::Internal)?;
    Ok(JsonBytes(explained.into()).into_response())
}
