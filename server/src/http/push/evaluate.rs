//! `POST …/app/v1/evaluate`: evaluates an event for many users, for application services.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use belfry_core::matrix;
use belfry_core::rules::evaluation_request::{EvaluateRequest, RequestedMember};
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::index::Members;
use belfry_core::rules::work::WorkBudget;
use belfry_store::{RulesetsSnapshot, StoreError};

use crate::app::AppState;
use crate::evaluation::rule_index::CachedRules;
use crate::http::error::MatrixError;
use crate::http::extract::body::FullBody;
use crate::http::extract::requester::RequestingService;
use crate::http::json::JsonBytes;

/// Maximum size of the body, in bytes: enough for more than 100,000 members.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of members in a batch. It limits the memory, and the time that other requests
/// wait.
const MAX_BATCH_MEMBERS: usize = 2_000;

/// The maximum size of the rules in a batch, in bytes, for the same reasons.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The number of members that are loaded together. A batch may exceed its maximum by this many
/// members and their rules.
const CHUNK_MEMBERS: usize = 50;

/// Evaluates an event for many members, and returns them grouped by result. Members without an
/// account on this server and members outside the service's namespaces are omitted.
pub(crate) async fn evaluate(
    State(state): State<Arc<AppState>>,
    RequestingService(service): RequestingService,
    request: Request,
) -> Result<Response, MatrixError> {
    let FullBody(body) = FullBody::read_at_most(MAX_BODY_BYTES, request, &state).await?;
    let start = Instant::now();
    let slot = state.evaluation_pool.enter()?;
    let request = slot.run(move || EvaluateRequest::read(&body)).await??;
    let allowed_members = request.members.iter().enumerate().filter(|(_, member)| {
        let name = matrix::localpart(&member.user_id, state.server_name());
        name.is_some_and(|name| service.may_act_for(name, &member.user_id))
    });
    let positions: Vec<usize> = allowed_members.map(|(position, _)| position).collect();
    let mut evaluation = Evaluation {
        response: EvaluationResponse::new(request.all),
        request,
        budget: WorkBudget::default(),
        user_count: 0,
    };
    let mut batch = Batch::default();
    for chunk in positions.chunks(CHUNK_MEMBERS) {
        batch.add_members(&state, &evaluation.request.members, chunk).await?;
        if batch.is_full() {
            let (state, full_batch) = (Arc::clone(&state), std::mem::take(&mut batch));
            evaluation = slot.run(move || evaluation.add_batch(full_batch, &state)).await?;
        }
    }
    let finish_evaluation = {
        let state = Arc::clone(&state);
        move || {
            let evaluation = evaluation.add_batch(batch, &state);
            let members = &evaluation.request.members;
            let response = evaluation.response.to_json(|position| &members[position].user_id);
            (response, evaluation.user_count, evaluation.budget.exceeding_users)
        }
    };
    let (response, user_count, exceeded_count) = slot.run(finish_evaluation).await?;
    let metrics = &state.metrics.evaluation;
    metrics.evaluate_durations.observe_since(start);
    metrics.evaluated_users.inc_by(user_count);
    metrics.work_exceeded.inc_by(exceeded_count);
    Ok(JsonBytes(response.into()).into_response())
}

/// An evaluation in progress. It is moved to a thread of the pool for each batch.
struct Evaluation {
    request: EvaluateRequest,
    response: EvaluationResponse,
    budget: WorkBudget,
    /// The number of users evaluated so far.
    user_count: u64,
}

impl Evaluation {
    /// Compiles and caches the rules of a batch that are not cached, and adds the results.
    fn add_batch(mut self, batch: Batch, state: &AppState) -> Self {
        self.user_count += batch.members.len() as u64;
        let rules_by_position = batch.members.into_iter().map(|member| {
            let rules = match member.rules {
                MemberRules::Cached(rules) => rules,
                MemberRules::Loaded(snapshot) => {
                    state.rule_index_cache.insert(member.account_id, &snapshot)
                }
            };
            (member.position, rules)
        });
        let compiled_rules: Vec<(usize, CachedRules)> = rules_by_position.collect();
        let Self { request, response, budget, .. } = &mut self;
        let members = Members::new(compiled_rules.iter().map(|(position, rules)| {
            let member = &request.members[*position];
            (&*member.user_id, member.member(), rules.rules.as_deref())
        }));
        let positions: Vec<usize> = compiled_rules.iter().map(|(position, _)| *position).collect();
        response.add_batch(&members.evaluate(&request.event, &request.room, budget), &positions);
        self
    }
}

/// Members that are evaluated together.
#[derive(Default)]
struct Batch {
    members: Vec<BatchMember>,
    /// The size of the members' rules, in bytes.
    bytes: usize,
}

struct BatchMember {
    /// The position in the request.
    position: usize,
    account_id: i64,
    rules: MemberRules,
}

enum MemberRules {
    Cached(CachedRules),
    /// Rules from the database, which are compiled on a thread of the pool.
    Loaded(RulesetsSnapshot),
}

impl Batch {
    /// Adds the members at these positions that have an account, and loads the rules that are not
    /// cached.
    async fn add_members(
        &mut self,
        state: &AppState,
        members: &[RequestedMember],
        positions: &[usize],
    ) -> Result<(), StoreError> {
        let member_name = |position: &usize| {
            matrix::localpart(&members[*position].user_id, state.server_name()).unwrap_or_default()
        };
        let names: Vec<&str> = positions.iter().map(member_name).collect();
        let account_ids = state.store.account_ids(&names).await?;
        let (positions, account_ids): (Vec<usize>, Vec<i64>) = positions
            .iter()
            .zip(account_ids)
            .filter_map(|(position, account_id)| Some((*position, account_id?)))
            .unzip();
        let now = state.clock.now();
        let cached_rules = state.rule_index_cache.get(&state.store, &account_ids, now);
        let uncached_account_ids: Vec<i64> = account_ids
            .iter()
            .zip(&cached_rules)
            .filter(|(_, cached)| cached.is_none())
            .map(|(account_id, _)| *account_id)
            .collect();
        let mut snapshots =
            state.store.rulesets_for_accounts(&uncached_account_ids, now).await?.into_iter();
        for ((position, account_id), cached) in
            positions.into_iter().zip(account_ids).zip(cached_rules)
        {
            let rules = cached
                .map(MemberRules::Cached)
                .or_else(|| snapshots.next().map(MemberRules::Loaded));
            let Some(rules) = rules else { continue };
            self.bytes += match &rules {
                MemberRules::Cached(rules) => rules.bytes,
                MemberRules::Loaded(snapshot) => snapshot.rulesets.bytes(),
            };
            self.members.push(BatchMember { position, account_id, rules });
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.members.len() >= MAX_BATCH_MEMBERS || self.bytes >= MAX_BATCH_BYTES
    }
}
