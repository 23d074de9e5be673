//! Handlers that write push rules. Each parses its request, then changes one ruleset.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use belfry_core::percent;
use belfry_core::rules::access::WRITE_RULES;
use belfry_core::rules::{PutTarget, RuleChange};
use belfry_store::RuleWriter;
use bytes::Bytes;

use super::path::RuleRefPath;
use crate::config::RuleSettings;
use crate::http::error::MatrixError;
use crate::http::extract::body::UnreadBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}`: creates or replaces a rule.
pub(crate) async fn put_rule(
    State(settings): State<RuleSettings>,
    State(writer): State<Arc<RuleWriter>>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    RawQuery(query): RawQuery,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(WRITE_RULES)?;
    let query = percent::parse_query(query.as_deref().unwrap_or_default())?;
    // Checked before the body is read, so that an invalid target is rejected without its body.
    let target = PutTarget::new(rule, query)?;
    let body = body.read(settings.max_body_bytes).await?;
    let limits = settings.new_rule_limits();
    let change = RuleChange::put(target, &body, limits, requester.now)?;
    apply_change(&writer, &requester, change).await
}

/// `DELETE …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn delete_rule(
    State(writer): State<Arc<RuleWriter>>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(WRITE_RULES)?;
    apply_change(&writer, &requester, RuleChange::delete(rule)).await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn put_rule_enabled(
    State(settings): State<RuleSettings>,
    State(writer): State<Arc<RuleWriter>>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(WRITE_RULES)?;
    let body = body.read(settings.max_body_bytes).await?;
    let change = RuleChange::set_enabled(rule, &body, requester.now)?;
    apply_change(&writer, &requester, change).await
}

/// `PUT …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn put_rule_actions(
    State(settings): State<RuleSettings>,
    State(writer): State<Arc<RuleWriter>>,
    requester: Requester,
    RuleRefPath(rule): RuleRefPath,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(WRITE_RULES)?;
    let body = body.read(settings.max_body_bytes).await?;
    let change = RuleChange::set_actions(rule, &body, settings.new_rule_limits())?;
    apply_change(&writer, &requester, change).await
}

/// Changes one of the requester's rules, and responds when the change is durable.
async fn apply_change(
    writer: &RuleWriter,
    requester: &Requester,
    change: RuleChange,
) -> Result<JsonBytes, MatrixError> {
    let Requester { account_id, now, .. } = *requester;
    let scope = change.scope().clone();
    writer.change_document(account_id, scope, now, move |document| change.apply(document)).await?;
    Ok(JsonBytes(Bytes::from_static(b"{}")))
}
