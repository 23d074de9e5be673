//! Handlers of requests that replace rulesets: all of them, or none if one is invalid.

use axum::extract::State;
use belfry_core::rules::access::WRITE_RULES;
use belfry_core::rules::body::parse_reset_scope;
use belfry_core::rules::{RuleError, UserRuleDocuments, read_import};
use bytes::Bytes;

use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::body::UnreadBody;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// `POST …/pushrules/import`: replaces the rules of all scopes with those of an export.
pub(crate) async fn import_rulesets(
    State(state): State<AppState>,
    requester: Requester,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    let limits = state.rule_settings.new_rule_limits();
    let now = requester.now;
    let parse = move |body: &[u8]| read_import(body, limits, now);
    change_rulesets(&state, &requester, body, parse, |imported, documents| {
        documents.replace_all(imported);
    })
    .await
}

/// `POST …/pushrules/reset`: removes the user rules, and the overrides of built-in rules, of one
/// scope or of all.
pub(crate) async fn reset_rulesets(
    State(state): State<AppState>,
    requester: Requester,
    body: UnreadBody,
) -> Result<JsonBytes, MatrixError> {
    change_rulesets(&state, &requester, body, parse_reset_scope, |scope, documents| match scope {
        Some(scope) => documents.reset(scope),
        None => documents.reset_all(),
    })
    .await
}

/// Parses the body, applies it to the requester's rulesets, and responds when the change is
/// durable.
async fn change_rulesets<T: Send + Sync + 'static>(
    state: &AppState,
    requester: &Requester,
    body: UnreadBody,
    parse: impl FnOnce(&[u8]) -> Result<T, RuleError> + Send + 'static,
    apply: fn(&T, &mut UserRuleDocuments<'_>),
) -> Result<JsonBytes, MatrixError> {
    requester.require_scope(WRITE_RULES)?;
    let Requester { account_id, now, .. } = *requester;
    let rules = state.rule_settings;
    let max_small_bytes = rules.max_body_bytes;
    let is_small = body.is_at_most(max_small_bytes);
    // Held until the change is stored, because parsed rules take several times the size of their
    // JSON.
    let _large_body =
        if is_small { None } else { Some(state.large_body_slots.acquire(account_id)?) };
    let max_bytes = if is_small { max_small_bytes } else { rules.max_import_bytes() };
    let body = body.read(max_bytes).await?;
    let parsed_body = if body.len() <= max_small_bytes {
        parse(&body)?
    } else {
        // Runs on a thread of the pool, because it takes milliseconds.
        let slot = state.evaluator.pool.enter_for_account(account_id)?;
        slot.run(move || parse(&body)).await??
    };
    state
        .rule_writer
        .change_documents(account_id, now, move |documents| {
            apply(&parsed_body, documents);
            Ok(())
        })
        .await?;
    Ok(JsonBytes(Bytes::from_static(b"{}")))
}
