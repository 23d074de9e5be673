//! Handlers of requests that read push rules.

use std::borrow::Cow;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::json::to_bytes;
use belfry_core::rules::access::READ_RULES;
use belfry_core::rules::{RuleDocument, RuleScope, RulesetsExport, RulesetsResponse, User};
use belfry_store::StoredRulesets;
use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::path::{FixedPath, KindPath, RuleRefPath, RulesetPath};
use crate::account_memory::UnreadResponses;
use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::requester::Requester;
use crate::http::json::JsonBytes;

/// `GET …/pushrules/`
pub(crate) async fn get_all_rulesets(
    rules: RequestedRules<FixedPath>,
) -> Result<JsonBytes, MatrixError> {
    rules.respond_with_json(rules.rulesets.response(rules.user()))
}

/// `GET …/pushrules/export`
pub(crate) async fn export_rulesets(
    rules: RequestedRules<FixedPath>,
) -> Result<JsonBytes, MatrixError> {
    rules.respond(RulesetsExport::new(rules.rulesets.documents(), rules.now))
}

/// `GET …/pushrules/device/`
pub(crate) async fn get_device_rulesets(
    rules: RequestedRules<FixedPath>,
) -> Result<JsonBytes, MatrixError> {
    rules.respond(RulesetsResponse::new(rules.rulesets.documents(), rules.user()).device)
}

/// `GET …/pushrules/{scope}/`
pub(crate) async fn get_ruleset(
    rules: RequestedRules<RulesetPath>,
) -> Result<JsonBytes, MatrixError> {
    rules.respond(rules.document(&rules.path.0).ruleset(rules.user()))
}

/// `GET …/pushrules/{scope}/{kind}/`
pub(crate) async fn get_rules_of_kind(
    rules: RequestedRules<KindPath>,
) -> Result<JsonBytes, MatrixError> {
    let KindPath(scope, kind) = &rules.path;
    rules.respond(rules.document(scope).rules(*kind, rules.user()))
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn get_rule(rules: RequestedRules<RuleRefPath>) -> Result<JsonBytes, MatrixError> {
    let RuleRefPath(rule_ref) = &rules.path;
    rules.respond(rules.document(&rule_ref.scope).rule(
        rule_ref.kind,
        &rule_ref.id,
        rules.user(),
    )?)
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn get_rule_enabled(
    rules: RequestedRules<RuleRefPath>,
) -> Result<JsonBytes, MatrixError> {
    let RuleRefPath(rule_ref) = &rules.path;
    let document = rules.document(&rule_ref.scope);
    let rule = document.rule(rule_ref.kind, &rule_ref.id, rules.user())?;
    rules.respond(json!({ "enabled": rule.enabled }))
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn get_rule_actions(
    rules: RequestedRules<RuleRefPath>,
) -> Result<JsonBytes, MatrixError> {
    let RuleRefPath(rule_ref) = &rules.path;
    let document = rules.document(&rule_ref.scope);
    let rule = document.rule(rule_ref.kind, &rule_ref.id, rules.user())?;
    rules.respond(json!({ "actions": rule.actions }))
}

/// All rules of the user on whose behalf a request is made, and the path, which selects some of
/// them. The extractor rejects tokens that may not read rules.
pub(crate) struct RequestedRules<P> {
    path: P,
    now: Timestamp,
    account_id: i64,
    user_id: String,
    rulesets: StoredRulesets,
    unread_responses: UnreadResponses,
}

impl<P> FromRequestParts<AppState> for RequestedRules<P>
where
    P: FromRequestParts<AppState, Rejection = MatrixError> + Send,
{
    type Rejection = MatrixError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, MatrixError> {
        let requester = Requester::from_request_parts(parts, state).await?;
        let path = P::from_request_parts(parts, state).await?;
        requester.require_scope(READ_RULES)?;
        let rulesets = state.store.rulesets(requester.account_id, requester.now).await?;
        Ok(Self {
            path,
            now: requester.now,
            account_id: requester.account_id,
            user_id: requester.user_id,
            rulesets,
            unread_responses: state.unread_responses.clone(),
        })
    }
}

impl<P> RequestedRules<P> {
    fn user(&self) -> User<'_> {
        User::new(&self.user_id)
    }

    fn respond(&self, value: impl Serialize) -> Result<JsonBytes, MatrixError> {
        self.respond_with_json(to_bytes(&value).into())
    }

    /// Responds with serialized JSON, unless the account has too many unread responses.
    fn respond_with_json(&self, json: Bytes) -> Result<JsonBytes, MatrixError> {
        Ok(JsonBytes(self.unread_responses.count(self.account_id, json)?))
    }

    fn document(&self, scope: &RuleScope) -> Cow<'_, RuleDocument> {
        match self.rulesets.document(scope) {
            Some(document) => Cow::Borrowed(document),
            None => Cow::Owned(RuleDocument::new(scope.clone())),
        }
    }
}
