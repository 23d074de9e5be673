//! `POST …/app/v1/evaluate`: evaluates an event for many users, for application services.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::matrix;
use belfry_core::rules::evaluation_request::{EvaluateRequest, RequestedMember};
use belfry_core::rules::evaluation_response::EvaluationResponse;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::respond::json::JsonBytes;
use crate::rule_index::EvaluatedMember;
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
            std::mem::take(&mut batch).evaluate(&state, &request, &mut response).await?;
            tokio::task::yield_now().await;
        }
    }
    batch.evaluate(&state, &request, &mut response).await?;
    Ok(JsonBytes(response.to_json().into()).into_response())
}

/// Members that are evaluated together.
#[derive(Default)]
struct Batch<'a> {
    members: Vec<EvaluatedMember<'a>>,
    /// The stored size of the members' rules, including cached ones, which may have to be read
    /// again.
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
        let first = self.members.len();
        for ((_, member), account) in members.iter().zip(accounts) {
            let Some(account) = account else { continue };
            let (user_id, member) = (&*member.user_id, member.member());
            self.members.push(EvaluatedMember { user_id, member, account, rulesets: None });
        }
        let accounts: Vec<i64> = self.members[first..].iter().map(|new| new.account).collect();
        let mut missing = Vec::new();
        let cached = state.rule_index.cached_bytes(&state.store, &accounts);
        for (position, cached) in (first..).zip(cached) {
            match cached {
                Some(bytes) => self.bytes += bytes,
                None => missing.push(position),
            }
        }
        self.bytes += self.read_rules(state, &missing).await?;
        Ok(())
    }

    /// Reads the rules of the members at these positions, and returns their stored size.
    async fn read_rules(
        &mut self,
        state: &AppState,
        positions: &[usize],
    ) -> Result<usize, StoreError> {
        let accounts: Vec<i64> = positions.iter().map(|at| self.members[*at].account).collect();
        let snapshots = state.store.rulesets_for_accounts(&accounts).await?;
        let bytes = snapshots.iter().map(|snapshot| snapshot.rulesets.bytes()).sum();
        for (position, snapshot) in positions.iter().zip(snapshots) {
            self.members[*position].rulesets = Some(snapshot);
        }
        Ok(bytes)
    }

    fn is_full(&self) -> bool {
        self.members.len() >= BATCH_MEMBERS || self.bytes >= BATCH_BYTES
    }

    async fn evaluate(
        mut self,
        state: &AppState,
        request: &EvaluateRequest,
        response: &mut EvaluationResponse<'a>,
    ) -> Result<(), StoreError> {
        let users: Vec<&str> = self.members.iter().map(|member| member.user_id).collect();
        // Terminates, because members whose rules were read are never missing again.
        while let Err(missing) =
            state.rule_index.with_members(&state.store, &self.members, |index| {
                let members = self.members.iter().map(|member| (member.user_id, member.member));
                let members = index.members(members);
                response.add(&members.evaluate(&request.event, &request.room), &users);
            })
        {
            self.read_rules(state, &missing).await?;
        }
        Ok(())
    }
}
