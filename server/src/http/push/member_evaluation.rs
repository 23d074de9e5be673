//! Evaluation of an event for many members, in batches.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use belfry_core::matrix;
use belfry_core::push::message::{Counts, DeliveryDetails};
use belfry_core::push::receiver::{Pusher, ReceiverDocument};
use belfry_core::rules::evaluate::{Member, PushEvaluation};
use belfry_core::rules::evaluation_request::{EvaluateRequest, RequestedMember};
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::index::Members;
use belfry_core::rules::work::RequestWorkBudget;
use belfry_store::{RulesetsSnapshot, StoreError};
use jiff::Timestamp;

use crate::app::AppState;
use crate::auth::application_services::ApplicationService;
use crate::delivery::EnqueueError;
use crate::delivery::outgoing::DeliveryTarget;
use crate::evaluation::pool::EvaluationSlot;
use crate::evaluation::rule_index::CachedRules;
use crate::http::error::MatrixError;

/// Maximum size of the body, in bytes: enough for more than 100,000 members.
pub(super) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of members in a batch, to limit its memory and the time that other requests
/// wait.
const MAX_BATCH_MEMBERS: usize = 2_000;

/// The maximum size of the rules in a batch, in bytes, for the same reasons.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The number of members that are loaded together. A batch may exceed its maximum by this many
/// members and their rules.
const CHUNK_MEMBERS: usize = 50;

/// An evaluation in progress. It is moved to a thread of the pool for each batch.
pub(super) struct MemberEvaluation {
    request: EvaluateRequest,
    response: EvaluationResponse,
    budget: RequestWorkBudget,
    /// The time that conditions about the time compare with.
    now: Timestamp,
    /// The number of users evaluated so far.
    user_count: u64,
    /// The pushers that get a message; `None` if the event is only evaluated.
    notified_pushers: Option<NotifiedPushers>,
}

/// The pushers that get a message about the event.
#[derive(Default)]
pub(super) struct NotifiedPushers {
    /// The counts of each member of the request.
    pub(super) counts: Vec<Counts>,
    /// The accounts whose pushers were loaded.
    account_ids: HashSet<i64>,
    pub(super) targets: Vec<DeliveryTarget>,
}

impl MemberEvaluation {
    /// Creates an evaluation. With counts, it also collects the pushers that get a message.
    pub(super) fn new(
        request: EvaluateRequest,
        counts: Option<Vec<Counts>>,
        now: Timestamp,
    ) -> Self {
        Self {
            response: EvaluationResponse::new(request.all),
            request,
            budget: RequestWorkBudget::default(),
            now,
            user_count: 0,
            notified_pushers: counts
                .map(|counts| NotifiedPushers { counts, ..NotifiedPushers::default() }),
        }
    }

    /// Evaluates the event for the members in the namespaces of the service, and records metrics.
    pub(super) async fn run(
        mut self,
        state: &Arc<AppState>,
        slot: &EvaluationSlot,
        service: &ApplicationService,
    ) -> Result<Self, MatrixError> {
        let start = Instant::now();
        let allowed_members = self.request.members.iter().enumerate().filter(|(_, member)| {
            let name = matrix::localpart(&member.user_id, state.server_name());
            name.is_some_and(|name| service.may_act_for(name, &member.user_id))
        });
        let positions: Vec<usize> = allowed_members.map(|(position, _)| position).collect();
        let mut batch = Batch::default();
        for chunk in positions.chunks(CHUNK_MEMBERS) {
            batch.add_members(state, &self.request.members, chunk).await?;
            if let Some(notified_pushers) = &mut self.notified_pushers {
                batch.add_pushers(state, &mut notified_pushers.account_ids).await?;
            }
            if batch.is_full() {
                let (pool_state, full_batch) = (Arc::clone(state), std::mem::take(&mut batch));
                self = slot.run(move || self.add_batch(full_batch, &pool_state)).await?;
                self.check_target_count(state)?;
            }
        }
        let pool_state = Arc::clone(state);
        let evaluation = slot.run(move || self.add_batch(batch, &pool_state)).await?;
        let metrics = &state.metrics.evaluation;
        metrics.evaluate_durations.observe_since(start);
        metrics.evaluated_users.inc_by(evaluation.user_count);
        metrics.work_exceeded.inc_by(evaluation.budget.users_over_budget);
        Ok(evaluation)
    }

    /// Serializes the response.
    pub(super) fn to_json(&self, accepted: Option<usize>) -> Vec<u8> {
        let members = &self.request.members;
        self.response.to_json(|position| &members[position].user_id, accepted)
    }

    /// Returns whether a rule silences the event for one of the members. The request must include
    /// silent members.
    pub(super) fn is_silenced(&self) -> bool {
        self.response.is_silenced_by_user()
    }

    /// Takes the pushers that get a message.
    pub(super) fn take_targets(&mut self) -> Vec<DeliveryTarget> {
        self.notified_pushers.take().map(|notified| notified.targets).unwrap_or_default()
    }

    /// Stops the evaluation if the pushers so far exceed the queue, to limit their memory.
    fn check_target_count(&self, state: &AppState) -> Result<(), EnqueueError> {
        match (&state.delivery, &self.notified_pushers) {
            (Some(delivery), Some(notified)) => delivery.check_target_count(notified.targets.len()),
            _ => Ok(()),
        }
    }

    /// Compiles and caches the rules of a batch that are not cached, and adds the results.
    fn add_batch(mut self, batch: Batch, state: &AppState) -> Self {
        self.user_count += batch.members.len() as u64;
        let compile = |member: BatchMember| {
            let rules = match member.rules {
                MemberRules::Cached(rules) => rules,
                MemberRules::Loaded(snapshot) => {
                    state.rule_index_cache.insert(member.account_id, &snapshot)
                }
            };
            CompiledMember { position: member.position, rules, pushers: member.pushers }
        };
        let compiled_members: Vec<CompiledMember> =
            batch.members.into_iter().map(compile).collect();
        let Self { request, response, budget, now, notified_pushers, .. } = &mut self;
        let now = *now;
        let members = Members::new(compiled_members.iter().map(|compiled| {
            let member = &request.members[compiled.position];
            (&*member.user_id, member.member(), compiled.rules.rules.as_deref())
        }));
        let positions: Vec<usize> = compiled_members.iter().map(|member| member.position).collect();
        let results = members.evaluate(&request.event, &request.room, now, budget);
        response.add_batch(&results, &positions);
        if let Some(notified_pushers) = notified_pushers {
            for (index, member) in compiled_members.iter().enumerate() {
                let Some(result) = results.get(index) else { continue };
                notified_pushers.add_member(request, now, budget, member, &result);
            }
        }
        self
    }
}

impl NotifiedPushers {
    /// Adds those of a member's pushers that get a message. A pusher with a profile tag obeys the
    /// rules of that device.
    fn add_member(
        &mut self,
        request: &EvaluateRequest,
        now: Timestamp,
        budget: &mut RequestWorkBudget,
        member: &CompiledMember,
        global_result: &PushEvaluation<'_>,
    ) {
        let requested_member = &request.members[member.position];
        let counts = self.counts.get(member.position).copied().unwrap_or_default();
        let is_target = request.event.changes_membership_of(&requested_member.user_id);
        for BatchPusher { account_id, receiver_id, origin, profile_tag } in &member.pushers {
            let context =
                Member { profile_tag: profile_tag.as_deref(), ..requested_member.member() };
            let rules = member.rules.rules.as_deref();
            let device = Members::new([(&*requested_member.user_id, context, rules)]);
            let device_results;
            let result = if profile_tag.is_some() {
                device_results = device.evaluate(&request.event, &request.room, now, budget);
                device_results.get(0).unwrap_or(*global_result)
            } else {
                *global_result
            };
            if result.notifies() {
                self.targets.push(DeliveryTarget {
                    account_id: *account_id,
                    receiver_id: *receiver_id,
                    origin: origin.clone(),
                    details: DeliveryDetails::new(&result, counts, is_target),
                });
            }
        }
    }
}

/// Members that are evaluated together.
#[derive(Default)]
struct Batch {
    members: Vec<BatchMember>,
    /// The size of the members' rules, in bytes.
    bytes: usize,
    /// The number of members whose pushers are loaded.
    members_with_pushers: usize,
}

struct BatchMember {
    /// The position in the request.
    position: usize,
    account_id: i64,
    rules: MemberRules,
    pushers: Vec<BatchPusher>,
}

/// A member with compiled rules.
struct CompiledMember {
    /// The position in the request.
    position: usize,
    rules: CachedRules,
    pushers: Vec<BatchPusher>,
}

/// An active pusher.
struct BatchPusher {
    account_id: i64,
    receiver_id: i64,
    origin: String,
    profile_tag: Option<String>,
}

enum MemberRules {
    Cached(CachedRules),
    /// Rules from the database, which are compiled on a thread of the pool.
    Loaded(RulesetsSnapshot),
}

impl Batch {
    /// Adds the members at these positions, except those without an account, and loads the rules
    /// that are not cached.
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
            self.members.push(BatchMember { position, account_id, rules, pushers: Vec::new() });
        }
        Ok(())
    }

    /// Loads the active pushers of the members that were added last. If the request names an account
    /// twice, its pushers belong to the first member, so that they get and count one message.
    async fn add_pushers(
        &mut self,
        state: &AppState,
        loaded_account_ids: &mut HashSet<i64>,
    ) -> Result<(), StoreError> {
        let new_members = &mut self.members[self.members_with_pushers..];
        let account_ids: Vec<i64> = new_members
            .iter()
            .map(|member| member.account_id)
            .filter(|account_id| loaded_account_ids.insert(*account_id))
            .collect();
        let now = state.clock.now();
        for receiver in state.store.receivers_of_accounts(&account_ids, now).await? {
            let ReceiverDocument::Pusher(Pusher { enabled: true, profile_tag, .. }) =
                receiver.document
            else {
                continue;
            };
            let pusher = BatchPusher {
                account_id: receiver.account_id,
                receiver_id: receiver.id,
                origin: receiver.origin,
                profile_tag,
            };
            if let Some(member) =
                new_members.iter_mut().find(|member| member.account_id == receiver.account_id)
            {
                member.pushers.push(pusher);
            }
        }
        self.members_with_pushers = self.members.len();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.members.len() >= MAX_BATCH_MEMBERS || self.bytes >= MAX_BATCH_BYTES
    }
}
