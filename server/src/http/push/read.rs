//! What is shown of rules.

use std::borrow::Cow;

use axum::response::Response;
use belfry_core::json::write;
use belfry_core::rules::{
    Document, RuleAccess, RulePath, RuleRef, RuleScope, RulesetsResponse, User,
};

use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::requester::Requester;
use crate::http::respond::json;

/// `GET` of any path of the push rules.
pub(crate) async fn show(
    state: &AppState,
    requester: &Requester,
    path: &RulePath,
) -> Result<Response, MatrixError> {
    requester.may(RuleAccess::Read)?;
    let id = requester.user_id(state);
    let user = User::new(&id);
    let rulesets = state.store.rulesets(requester.account).await?;
    let document = |scope: &RuleScope| match rulesets.document(scope) {
        Some(document) => Cow::Borrowed(document),
        None => Cow::Owned(Document::new(scope.clone())),
    };
    let bytes = match path {
        RulePath::All => return Ok(json::answer(rulesets.response(user))),
        RulePath::Devices => write(&RulesetsResponse::new(rulesets.documents(), user).device),
        RulePath::Ruleset(scope) => write(&document(scope).ruleset(user)),
        RulePath::Kind(scope, kind) => write(&document(scope).rules(*kind, user)),
        RulePath::Rule(RuleRef { scope, kind, id }) => {
            write(&document(scope).rule(*kind, id, user)?)
        }
        RulePath::Enabled(RuleRef { scope, kind, id }) => {
            write(&serde_json::json!({ "enabled": document(scope).rule(*kind, id, user)?.enabled }))
        }
        RulePath::Actions(RuleRef { scope, kind, id }) => {
            write(&serde_json::json!({ "actions": document(scope).rule(*kind, id, user)?.actions }))
        }
    };
    Ok(json::answer(bytes.into()))
}
