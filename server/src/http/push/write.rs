//! What is changed of rules. Each reads its body once, and then is a change of one document.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use belfry_core::percent;
use belfry_core::rules::body::{read_actions, read_enabled};
use belfry_core::rules::{
    Document, NewRule, Position, RuleAccess, RuleError, RuleId, RuleRef, RuleScope,
};
use bytes::Bytes;

use super::changes;
use crate::app::AppState;
use crate::http::error::MatrixError;
use crate::http::extract::body::Whole;
use crate::http::extract::requester::Requester;
use crate::http::respond::json;

/// A call of somebody who may change rules.
pub(crate) struct Write<'a> {
    state: &'a Arc<AppState>,
    requester: &'a Requester,
    request: Request,
}

impl<'a> Write<'a> {
    pub(crate) fn new(
        state: &'a Arc<AppState>,
        requester: &'a Requester,
        request: Request,
    ) -> Result<Self, MatrixError> {
        requester.may(RuleAccess::Write)?;
        Ok(Self { state, requester, request })
    }

    /// `PUT` of a rule: adds or replaces it, at its place.
    pub(crate) async fn rule(self, name: RuleRef) -> Result<Response, MatrixError> {
        let RuleRef { scope, kind, id } = name;
        let id: RuleId = id.parse().map_err(RuleError::from)?;
        let query = percent::parse_query(self.request.uri().query().unwrap_or_default())?;
        Position::read(&query)?;
        let (account, body) = self.body().await?;
        let new = NewRule::read(kind, &body)?;
        account
            .change(scope, move |document| {
                document.put(kind, id.clone(), new.clone(), Position::read(&query)?)
            })
            .await
    }

    /// `DELETE` of a rule.
    pub(crate) async fn no_rule(self, name: RuleRef) -> Result<Response, MatrixError> {
        let RuleRef { scope, kind, id } = name;
        self.account().change(scope, move |document| document.remove(kind, &id)).await
    }

    /// `PUT` of whether a rule is asked.
    pub(crate) async fn enabled(self, name: RuleRef) -> Result<Response, MatrixError> {
        let RuleRef { scope, kind, id } = name;
        let (account, body) = self.body().await?;
        let enabled = read_enabled(&body)?;
        account.change(scope, move |document| document.set_enabled(kind, &id, enabled)).await
    }

    /// `PUT` of what a rule does.
    pub(crate) async fn actions(self, name: RuleRef) -> Result<Response, MatrixError> {
        let RuleRef { scope, kind, id } = name;
        let (account, body) = self.body().await?;
        let actions = read_actions(&body)?;
        account
            .change(scope, move |document| document.set_actions(kind, &id, actions.clone()))
            .await
    }

    fn account(&self) -> Account<'a> {
        Account { state: self.state, id: self.requester.account }
    }

    /// The body, and whose rules it is to change.
    async fn body(self) -> Result<(Account<'a>, Bytes), MatrixError> {
        let account = self.account();
        let most = self.state.config.rules.max_body_bytes;
        let Whole(body) = Whole::within(most, self.request, self.state).await?;
        Ok((account, body))
    }
}

/// The account whose rules are to be changed.
struct Account<'a> {
    state: &'a Arc<AppState>,
    id: i64,
}

impl Account<'_> {
    async fn change(
        self,
        scope: RuleScope,
        change: impl Fn(&mut Document) -> Result<(), RuleError> + Send + Sync + 'static,
    ) -> Result<Response, MatrixError> {
        changes::make(self.state, self.id, scope, Box::new(change)).await?;
        Ok(json::answer(Bytes::from_static(b"{}")))
    }
}
