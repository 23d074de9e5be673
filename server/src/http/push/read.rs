//! Reading push rules.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use belfry_core::rules::{Document, RuleAccess, RuleScope, RulesetsResponse, User};
use serde_json::json;

use super::path::{KindPath, RulePath, RulesetPath};
use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::requester::Requester;
use crate::http::respond::json::{Json, JsonBytes};
use crate::store;

/// `GET …/pushrules/`
pub(crate) async fn get_all_rulesets(
    State(state): State<Arc<AppState>>,
    requester: Requester,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    Ok(JsonBytes(rules.rulesets.response(rules.user())).into_response())
}

/// `GET …/pushrules/device/`
pub(crate) async fn get_device_rulesets(
    State(state): State<Arc<AppState>>,
    requester: Requester,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    let all = RulesetsResponse::new(rules.rulesets.documents(), rules.user());
    Ok(Json(&all.device).into_response())
}

/// `GET …/pushrules/{scope}/`
pub(crate) async fn get_ruleset(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulesetPath(scope): RulesetPath,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    Ok(Json(rules.document(&scope).ruleset(rules.user())).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/`
pub(crate) async fn get_rules_of_kind(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    KindPath(scope, kind): KindPath,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    Ok(Json(rules.document(&scope).rules(kind, rules.user())).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}`
pub(crate) async fn get_rule(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(path): RulePath,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    let document = rules.document(&path.scope);
    Ok(Json(document.rule(path.kind, &path.id, rules.user())?).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/enabled`
pub(crate) async fn get_rule_enabled(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(path): RulePath,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    let document = rules.document(&path.scope);
    let rule = document.rule(path.kind, &path.id, rules.user())?;
    Ok(Json(json!({ "enabled": rule.enabled })).into_response())
}

/// `GET …/pushrules/{scope}/{kind}/{rule_id}/actions`
pub(crate) async fn get_rule_actions(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    RulePath(path): RulePath,
) -> Result<Response, MatrixError> {
    let rules = UserRules::load(&state, &requester).await?;
    let document = rules.document(&path.scope);
    let rule = document.rule(path.kind, &path.id, rules.user())?;
    Ok(Json(json!({ "actions": rule.actions })).into_response())
}

/// The rules of a user, for a requester that may read them.
struct UserRules {
    user_id: String,
    rulesets: store::StoredRulesets,
}

impl UserRules {
    async fn load(state: &AppState, requester: &Requester) -> Result<Self, MatrixError> {
        requester.require(RuleAccess::Read)?;
        let rulesets = state.store.rulesets(requester.account).await?;
        Ok(Self { user_id: requester.user_id(state), rulesets })
    }

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
