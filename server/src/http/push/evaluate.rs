//! `POST …/app/v1/evaluate`: evaluates an event for many users, for application services.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::matrix;
use belfry_core::rules::evaluation_request::{EvaluateRequest, RequestedMember};
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::index::Members;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::respond::json::JsonBytes;
use crate::rule_index::CachedRules;
use crate::store::StoreError;

/// The maximum size of a batch, in members and in bytes of stored rules. It bounds the memory and
/// the time until other requests are served.
const BATCH_MEMBERS: usize = 2_000;
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The number of members that are loaded at once. A batch may exceed its maximum by that many
/// members and their rules.
const LOADED_MEMBERS: usize = 50;

/// Evaluates an event for many members, and returns them grouped by result. Members without an
/// account on this server and members outside the namespace of the service are omitted.
pub(crate) async fn evaluate(
    State(state): State<Arc<AppState>>,
    RequestingService(service): RequestingService,
    request: Request,
) -> Result<Response, MatrixError> {
    let max_bytes = state.config.rules.max_evaluate_bytes;
    let FullBody(body) = FullBody::within(max_bytes, request, &state).await?;
    // Parsing 100,000 members takes too long for an async worker.
    let parsing = tokio::task::spawn_blocking(move || EvaluateRequest::read(&body));
    let request = parsing.await.map_err(|_| CommonError::Internal)??;
    let members = request.members.iter().filter_map(|member| {
        let name = matrix::localpart(&member.user_id, state.server_name())?;
        service.may_act_for(name, &member.user_id).then_some((name, member))
    });
    let members: Vec<(&str, &RequestedMember)> = members.collect();
    let mut response = EvaluationResponse::new(request.all);
    let mut batch = Batch::default();
    for members in members.chunks(LOADED_MEMBERS) {
        batch.add(&state, members).await?;
        if batch.is_full() {
            std::mem::take(&mut batch).evaluate(&request, &mut response);
            tokio::task::yield_now().await;
        }
    }
    batch.evaluate(&request, &mut response);
    Ok(JsonBytes(response.to_json().into()).into_response())
}

/// Members that are evaluated together, and their rules.
#[derive(Default)]
struct Batch<'a> {
    members: Vec<(&'a RequestedMember, CachedRules)>,
    /// The stored size of the members' rules.
    bytes: usize,
}

impl<'a> Batch<'a> {
    /// Adds the members that have an account, and reads the rules that are not cached.
    async fn add(
        &mut self,
        state: &AppState,
        members: &[(&'a str, &'a RequestedMember)],
    ) -> Result<(), StoreError> {
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        let accounts = state.store.account_ids(&names).await?;
        let (members, accounts): (Vec<_>, Vec<i64>) = members
            .iter()
            .zip(accounts)
            .filter_map(|((_, member), account)| Some((*member, account?)))
            .unzip();
        let mut rules = state.rule_index.get(&state.store, &accounts);
        let is_missing = |position: &usize| rules[*position].is_none();
        let missing: Vec<usize> = (0..accounts.len()).filter(is_missing).collect();
        let missing_accounts: Vec<i64> = missing.iter().map(|at| accounts[*at]).collect();
        let snapshots = state.store.rulesets_for_accounts(&missing_accounts).await?;
        for (position, snapshot) in missing.into_iter().zip(snapshots) {
            rules[position] = Some(state.rule_index.insert(accounts[position], &snapshot));
        }
        let members = members.into_iter().zip(rules.into_iter().flatten());
        self.members.extend(members.inspect(|(_, rules)| self.bytes += rules.bytes));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.members.len() >= BATCH_MEMBERS || self.bytes >= BATCH_BYTES
    }

    fn evaluate(self, request: &EvaluateRequest, response: &mut EvaluationResponse<'a>) {
        let members = self.members.iter();
        let members =
            Members::new(members.map(|(member, rules)| {
                (&*member.user_id, member.member(), rules.rules.as_deref())
            }));
        let users: Vec<&str> = self.members.iter().map(|(member, _)| &*member.user_id).collect();
        response.add(&members.evaluate(&request.event, &request.room), &users);
    }
}
