//! `POST …/pushrules/explain`: what the caller's rules say of an event, and why.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use belfry_core::json::write;
use belfry_core::rules::Access;
use belfry_core::rules::matching::Compiled;
use belfry_core::rules::verdict_request::ExplainRequest;

use super::Belfry;
use super::body::Whole;
use super::caller::Caller;
use super::error::{Problem, RuleError};
use super::json;

/// Tells the verdict on an event, and every rule that was asked for it.
pub(super) async fn explain(
    State(belfry): State<Arc<Belfry>>,
    caller: Caller,
    request: Request,
) -> Result<Response, RuleError> {
    caller.may(Access::Read)?;
    // The event and the room's power levels may each be as large as an event may be.
    let most = belfry.config.rules.max_body_bytes.saturating_mul(2);
    let Whole(body) = Whole::within(most, request, &belfry).await?;
    let asked = ExplainRequest::read(&body)?;
    let rulesets = belfry.store.rulesets(caller.account).await?;
    let user_id = caller.user_id(&belfry);
    // A thousand rules and a long text take a while, and somebody may have made them for that: in
    // turn, and where no other call waits for it. The work keeps its turn when its caller has gone.
    let turn = Arc::clone(&belfry.explaining).acquire_owned().await;
    let explain = move || {
        let _turn = turn;
        let rules = Compiled::new(&user_id, rulesets.documents());
        write(&rules.explain(&asked.event, &asked.room, asked.member()))
    };
    let explained = tokio::task::spawn_blocking(explain).await.map_err(|_| Problem::Internal)?;
    Ok(json::answer(explained.into()))
}
