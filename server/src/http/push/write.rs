//! Handlers of the requests that write push rules. Each parses its request, then queues a change of
//! one ruleset.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::percent;
use belfry_core::rules::body::read_actions;
use belfry_core::rules::{
    Document, EnabledChange, MAX_CONDITIONS, NewRule, Position, RuleAccess, RuleError, RuleId,
    RuleRef, RuleScope,
};
use bytes::Bytes;

use super::path::RulePath;
use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}`: creates or replaces a rule.
pub(crate) async fn put_rule(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(RuleRef { scope, kind, id }): RulePath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require(RuleAccess::Write)?;
    let id: RuleId = id.parse().map_err(RuleError::from)?;
    let query = percent::parse_query(request.uri().query().unwrap_or_default())?;
    // Checked before the body is read. The closure parses the position again, because a position
    // borrows from the query.
    Position::read(&query)?;
    let new = NewRule::read(kind, &read_body(&state, request).await?)?;
    new.check_conditions(MAX_CONDITIONS)?;
    new.check_until(state.clock.now())?;
    change(&state, &requester, scope, move |document| {
        document.put(kind, id.clone(), new.clone(), Position::read(&query)?)
    })
    .await
}

/// `DELETE …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn delete_rule(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(RuleRef { scope, kind, id }): RulePath,
) -> Result<Response, MatrixError> {
    requester.require(RuleAccess::Write)?;
    change(&state, &requester, scope, move |document| document.remove(kind, &id)).await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn put_rule_enabled(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(RuleRef { scope, kind, id }): RulePath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require(RuleAccess::Write)?;
    let enabled = EnabledChange::read(&read_body(&state, request).await?)?;
    enabled.check_until(state.clock.now())?;
    change(&state, &requester, scope, move |document| document.change_enabled(kind, &id, enabled))
        .await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn put_rule_actions(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(RuleRef { scope, kind, id }): RulePath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require(RuleAccess::Write)?;
    let actions = read_actions(&read_body(&state, request).await?)?;
    change(&state, &requester, scope, move |document| {
        document.set_actions(kind, &id, actions.clone())
    })
    .await
}

async fn read_body(state: &AppState, request: Request) -> Result<Bytes, CommonError> {
    Ok(FullBody::within(state.config.rules.max_body_bytes, request, state).await?.0)
}

/// Changes a ruleset of the requester, and responds when the change is durable.
async fn change(
    state: &Arc<AppState>,
    requester: &Requester,
    scope: RuleScope,
    change: impl Fn(&mut Document) -> Result<(), RuleError> + Send + Sync + 'static,
) -> Result<Response, MatrixError> {
    state.rule_writer.change(requester.account, scope, change).await?;
    Ok(JsonBytes(Bytes::from_static(b"{}")).into_response())
}
