//! Handlers that write push rules. Each parses its request, then changes one ruleset.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::percent;
use belfry_core::rules::{PutTarget, RuleAccess, RuleChange};
use bytes::Bytes;

use super::path::RuleRefPath;
use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}`: creates or replaces a rule.
pub(crate) async fn put_rule(
    State(state): State<AppState>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Write)?;
    let query = percent::parse_query(request.uri().query().unwrap_or_default())?;
    // Checked before the body is read, so that an invalid target is rejected without its body.
    let target = PutTarget::new(rule, query)?;
    let body = read_body(&state, request).await?;
    let limits = state.config.rules.new_rule_limits();
    let change = RuleChange::put(target, &body, limits, requester.now)?;
    apply_change(&state, &requester, change).await
}

/// `DELETE …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn delete_rule(
    State(state): State<AppState>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Write)?;
    apply_change(&state, &requester, RuleChange::delete(rule)).await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn put_rule_enabled(
    State(state): State<AppState>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Write)?;
    let body = read_body(&state, request).await?;
    let change = RuleChange::set_enabled(rule, &body, requester.now)?;
    apply_change(&state, &requester, change).await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn put_rule_actions(
    State(state): State<AppState>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    request: Request,
) -> Result<Response, MatrixError> {
    requester.require_access(RuleAccess::Write)?;
    let body = read_body(&state, request).await?;
    let change = RuleChange::set_actions(rule, &body, state.config.rules.new_rule_limits())?;
    apply_change(&state, &requester, change).await
}

async fn read_body(state: &AppState, request: Request) -> Result<Bytes, CommonError> {
    Ok(FullBody::read_at_most(state.config.rules.max_body_bytes, request, state).await?.0)
}

/// Changes one of the requester's rules, and responds when the change is durable.
async fn apply_change(
    state: &AppState,
    requester: &Requester,
    change: RuleChange,
) -> Result<Response, MatrixError> {
    let Requester { account_id, now, .. } = *requester;
    let writer = &state.rule_writer;
    let scope = change.scope().clone();
    writer.change_document(account_id, scope, now, move |document| change.apply(document)).await?;
    Ok(JsonBytes(Bytes::from_static(b"{}")).into_response())
}
