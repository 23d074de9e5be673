//! `POST …/app/v1/evaluate`: whom an event notifies, for application services.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::matrix;
use belfry_core::rules::evaluation_request::{EvaluateRequest, RequestedMember};
use belfry_core::rules::evaluation_response::EvaluationResponse;

use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::body::Whole;
use crate::http::extract::requester::Service;
use crate::http::respond::json::JsonBytes;
use crate::rule_index::EvaluatedMember;
use crate::store::StoreError;

/// How many members are judged without a pause for other calls, and how many bytes their rules
/// may be stored in: so much is in memory at the same time however many there are.
const PART: usize = 2_000;
const PART_BYTES: usize = 8 * 1024 * 1024;

/// How many members are looked for at once, whose rules then come on top of a part.
const ASKED: usize = 50;

/// Tells the members by their verdicts. Left out are those who have no rules here: users of other
/// servers, and those without an account; and those for whom the service may not act.
pub(crate) async fn evaluate(
    State(state): State<Arc<AppState>>,
    Service(service): Service,
    request: Request,
) -> Result<Response, MatrixError> {
    let most = state.config.rules.max_evaluate_bytes;
    let Whole(body) = Whole::within(most, request, &state).await?;
    // A hundred thousand members take a while to read.
    let reading = tokio::task::spawn_blocking(move || EvaluateRequest::read(&body));
    let asked = reading.await.map_err(|_| CommonError::Internal)??;
    let members = asked.members.iter().filter_map(|member| {
        let name = matrix::localpart(&member.user_id, state.server_name())?;
        service.may_act_for(name, &member.user_id).then_some((name, member))
    });
    let members: Vec<(&str, &RequestedMember)> = members.collect();
    let mut evaluation = EvaluationResponse::new(asked.all);
    let mut part = Part::default();
    for some in members.chunks(ASKED) {
        part.add(&state, some).await?;
        if part.is_full() {
            std::mem::take(&mut part).judge(&state, &asked, &mut evaluation).await?;
            tokio::task::yield_now().await;
        }
    }
    part.judge(&state, &asked, &mut evaluation).await?;
    Ok(JsonBytes(evaluation.answer().into()).into_response())
}

/// Members who are judged together.
#[derive(Default)]
struct Part<'a> {
    listeners: Vec<EvaluatedMember<'a>>,
    /// Also those of rules that the audience has: they may have to be brought after all.
    bytes: usize,
}

impl<'a> Part<'a> {
    /// Adds those of these members who have an account. Rules are read of those whom the audience
    /// does not know.
    async fn add(
        &mut self,
        state: &AppState,
        members: &[(&'a str, &'a RequestedMember)],
    ) -> Result<(), StoreError> {
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        let accounts = state.store.account_ids(&names).await?;
        let first = self.listeners.len();
        for ((_, member), account) in members.iter().zip(accounts) {
            let Some(account) = account else { continue };
            let (user_id, member) = (&*member.user_id, member.member());
            self.listeners.push(EvaluatedMember { user_id, member, account, brought: None });
        }
        let accounts: Vec<i64> = self.listeners[first..].iter().map(|new| new.account).collect();
        let mut unknown = Vec::new();
        for (at, known) in (first..).zip(state.rule_index.known(&state.store, &accounts)) {
            match known {
                Some(bytes) => self.bytes += bytes,
                None => unknown.push(at),
            }
        }
        self.bytes += self.bring(state, &unknown).await?;
        Ok(())
    }

    /// Reads the rules of those at these positions, and tells in how many bytes they are stored.
    async fn bring(&mut self, state: &AppState, positions: &[usize]) -> Result<usize, StoreError> {
        let accounts: Vec<i64> = positions.iter().map(|at| self.listeners[*at].account).collect();
        let read = state.store.rulesets_for_accounts(&accounts).await?;
        let bytes = read.iter().map(|read| read.rulesets.bytes()).sum();
        for (at, read) in positions.iter().zip(read) {
            self.listeners[*at].brought = Some(read);
        }
        Ok(bytes)
    }

    fn is_full(&self) -> bool {
        self.listeners.len() >= PART || self.bytes >= PART_BYTES
    }

    async fn judge(
        mut self,
        state: &AppState,
        asked: &EvaluateRequest,
        evaluation: &mut EvaluationResponse<'a>,
    ) -> Result<(), StoreError> {
        let users: Vec<&str> = self.listeners.iter().map(|listener| listener.user_id).collect();
        // Ends: whoever has brought rules once is not missing again.
        while let Err(missing) = state.rule_index.with(&state.store, &self.listeners, |audience| {
            let members = self.listeners.iter().map(|listener| (listener.user_id, listener.member));
            let members = audience.members(members);
            evaluation.add(&members.verdicts(&asked.event, &asked.room), &users);
        }) {
            self.bring(state, &missing).await?;
        }
        Ok(())
    }
}
