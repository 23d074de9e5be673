//! Handlers of the requests that read push rules.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use belfry_core::rules::{Document, RuleAccess, RuleScope, RulesetsResponse, User};
use serde_json::json;

use super::path::{FixedPath, KindPath, RulePath, RulesetPath};
use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::requester::Requester;
use crate::http::respond::json::{Json, JsonBytes};
use crate::store::StoredRulesets;

/// `GET …/pushrules/`
pub(crate) async fn get_all_rulesets(rules: UserRules<FixedPath>) -> JsonBytes {
    JsonBytes(rules.rulesets.response(rules.user()))
}

/// `GET …/pushrules/device/`
pub(crate) async fn get_device_rulesets(rules: UserRules<FixedPath>) -> Response {
    Json(&RulesetsResponse::new(rules.rulesets.documents(), rules.user()).device).into_response()
}

/// `GET …/pushrules/{scope}/`
pub(crate) async fn get_ruleset(rules: UserRules<RulesetPath>) -> Response {
    Json(rules.document(&rules.path.0).ruleset(rules.user())).into_response()
}

/// `GET …/pushrules/{scope}/{kind}/`
pub(crate) async fn get_rules_of_kind(rules: UserRules<KindPath>) -> Response {
    let KindPath(scope, kind) = &rules.path;
    Json(rules.document(scope).rules(*kind, rules.user())).into_response()
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn get_rule(rules: UserRules<RulePath>) -> Result<Response, MatrixError> {
    let RulePath(path) = &rules.path;
    let document = rules.document(&path.scope);
    Ok(Json(document.rule(path.kind, &path.id, rules.user())?).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn get_rule_enabled(rules: UserRules<RulePath>) -> Result<Response, MatrixError> {
    let RulePath(path) = &rules.path;
    let document = rules.document(&path.scope);
    let rule = document.rule(path.kind, &path.id, rules.user())?;
    Ok(Json(json!({ "enabled": rule.enabled })).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn get_rule_actions(rules: UserRules<RulePath>) -> Result<Response, MatrixError> {
    let RulePath(path) = &rules.path;
    let document = rules.document(&path.scope);
    let rule = document.rule(path.kind, &path.id, rules.user())?;
    Ok(Json(json!({ "actions": rule.actions })).into_response())
}

/// The rules of the user that a request acts for, and the path of the request. The extractor
/// rejects tokens that may not read rules.
pub(crate) struct UserRules<P> {
    path: P,
    user_id: String,
    rulesets: StoredRulesets,
}

impl<P> FromRequestParts<Arc<AppState>> for UserRules<P>
where
    P: FromRequestParts<Arc<AppState>, Rejection = MatrixError> + Send,
{
    type Rejection = MatrixError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, MatrixError> {
        let requester = Requester::from_request_parts(parts, state).await?;
        let path = P::from_request_parts(parts, state).await?;
        requester.require(RuleAccess::Read)?;
        let rulesets = state.store.rulesets(requester.account).await?;
        Ok(Self { path, user_id: requester.user_id(state), rulesets })
    }
}

impl<P> UserRules<P> {
    fn user(&self) -> User<'_> {
        User::new(&self.user_id)
    }

    fn document(&self, scope: &RuleScope) -> Cow<'_, Document> {
        match self.rulesets.document(scope) {
            Some(document) => Cow::Borrowed(document),
            None => Cow::Owned(Document::new(scope.clone())),
        }
    }
}
