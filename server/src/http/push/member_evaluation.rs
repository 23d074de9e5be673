//! Evaluation of an event for many members, in batches.

mod batch;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use belfry_core::push::message::{Counts, DeliveryDetails};
use belfry_core::rules::MAX_ID_BYTES;
use belfry_core::rules::evaluate::PushEvaluation;
use belfry_core::rules::evaluation_request::EvaluateRequest;
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::index::Members;
use belfry_core::rules::work::RequestWorkBudget;
use belfry_delivery::acceptance::MAX_TARGETS;
use belfry_delivery::acceptance::outgoing::DeliveryTarget;
use jiff::Timestamp;

use self::batch::{ActivePusher, Batch, CompiledMember, MEMBERS_ADDED_TOGETHER};
use crate::auth::application_services::ApplicationService;
use crate::evaluation::Evaluator;
use crate::evaluation::pool::EvaluationSlot;
use crate::http::error::MatrixError;

/// Maximum size of the body, in bytes: enough for more than 100,000 members.
pub(super) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of unknown ids in a response. Longer ones than [`MAX_ID_BYTES`] are truncated.
const MAX_UNKNOWN_IDS: usize = 100;

/// An evaluation in progress. It is moved to a thread of the pool for each batch.
pub(super) struct MemberEvaluation {
    request: EvaluateRequest,
    response: EvaluationResponse,
    budget: RequestWorkBudget,
    /// Time for which `time_and_day` conditions are evaluated.
    now: Timestamp,
    user_count: u64,
    /// The first [`MAX_UNKNOWN_IDS`] ids without an account, or outside the namespaces of the
    /// service.
    unknown_ids: Vec<Box<str>>,
    /// `None` if the event is only evaluated.
    target_collector: Option<TargetCollector>,
}

impl MemberEvaluation {
    /// Creates an evaluation. With the counts of each member, it also collects the pushers that get
    /// a message.
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
            unknown_ids: Vec::new(),
            target_collector: counts.map(TargetCollector::new),
        }
    }

    /// Evaluates the event for the members in the namespaces of the service, and records metrics.
    pub(super) async fn run(
        mut self,
        evaluator: &Arc<Evaluator>,
        slot: &EvaluationSlot,
        service: &ApplicationService,
    ) -> Result<Self, MatrixError> {
        let start = Instant::now();
        let mut batch = Batch::default();
        let member_count = self.request.members.len();
        for first in (0..member_count).step_by(MEMBERS_ADDED_TOGETHER) {
            let positions = first..member_count.min(first + MEMBERS_ADDED_TOGETHER);
            let members = &self.request.members;
            let unknown_positions =
                batch.add_members(evaluator, service, members, positions).await?;
            let free_count = MAX_UNKNOWN_IDS - self.unknown_ids.len();
            self.unknown_ids.extend(unknown_positions.into_iter().take(free_count).map(
                |position| {
                    let id = &*members[position].id;
                    id[..id.floor_char_boundary(MAX_ID_BYTES)].into()
                },
            ));
            if let Some(collector) = &mut self.target_collector {
                batch.add_pushers(evaluator, &mut collector.loaded_account_ids).await?;
            }
            if batch.is_full() {
                let pool_evaluator = Arc::clone(evaluator);
                let full_batch = std::mem::take(&mut batch);
                self = slot.run(move || self.add_batch(full_batch, &pool_evaluator)).await??;
            }
        }
        let pool_evaluator = Arc::clone(evaluator);
        let evaluation = slot.run(move || self.add_batch(batch, &pool_evaluator)).await??;
        let metrics = &evaluator.metrics;
        metrics.evaluate_durations.observe_since(start);
        metrics.evaluated_users.inc_by(evaluation.user_count);
        metrics.work_exceeded.inc_by(evaluation.budget.users_over_budget);
        Ok(evaluation)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let members = &self.request.members;
        self.response.to_json(|position| &members[position].id)
    }

    /// Returns the first ids without an account, or outside the namespaces of the service.
    pub(super) fn unknown_ids(&self) -> &[Box<str>] {
        &self.unknown_ids
    }

    /// Returns whether a user rule or the master rule silences the event for one of the members.
    /// Requires `request.all`.
    pub(super) fn is_silenced_by_user(&self) -> bool {
        self.response.is_silenced_by_user()
    }

    /// Takes the pushers that get a message.
    pub(super) fn take_targets(&mut self) -> Vec<DeliveryTarget> {
        self.target_collector.take().map(|collector| collector.targets).unwrap_or_default()
    }

    /// Evaluates the event for a batch, and adds the results. Fails if there are more than
    /// [`MAX_TARGETS`] pushers.
    fn add_batch(mut self, batch: Batch, evaluator: &Evaluator) -> Result<Self, MatrixError> {
        let compiled_members = batch.compile(&evaluator.rule_index_cache);
        self.user_count += compiled_members.len() as u64;
        let Self { request, response, budget, now, target_collector, .. } = &mut self;
        let members = Members::new(compiled_members.iter().map(|compiled| {
            let member = &request.members[compiled.position];
            (compiled.user_id(member), member.member(), compiled.rules.as_deref())
        }));
        let positions: Vec<usize> = compiled_members.iter().map(|member| member.position).collect();
        let results = members.evaluate(&request.event, &request.room, *now, budget);
        response.add_batch(&results, &positions);
        if let Some(collector) = target_collector {
            let devices = compiled_members.iter().enumerate().flat_map(|(index, member)| {
                let tags = member.pushers.iter().filter_map(|pusher| pusher.profile_tag.as_deref());
                tags.map(move |tag| (index, tag))
            });
            let device_results = members.evaluate_devices(
                devices.collect(),
                &request.event,
                &request.room,
                *now,
                budget,
            );
            for (index, member) in compiled_members.iter().enumerate() {
                collector.add_member(request, member, |profile_tag| {
                    let device_result =
                        profile_tag.and_then(|tag| device_results.get(&(index, tag)));
                    device_result.copied().or_else(|| results.get(index))
                });
            }
            if collector.targets.len() > MAX_TARGETS {
                return Err(MatrixError::TooManyPushers);
            }
        }
        Ok(self)
    }
}

/// Collects the pushers that get a message about the event.
struct TargetCollector {
    counts: Vec<Counts>,
    loaded_account_ids: HashSet<i64>,
    targets: Vec<DeliveryTarget>,
}

impl TargetCollector {
    /// Creates a collector. `counts` are those of each member of the request.
    fn new(counts: Vec<Counts>) -> Self {
        Self { counts, loaded_account_ids: HashSet::new(), targets: Vec::new() }
    }

    /// Adds those of a member's pushers that get a message. `find_result` returns the result for a
    /// profile tag.
    fn add_member<'a>(
        &mut self,
        request: &EvaluateRequest,
        member: &'a CompiledMember,
        find_result: impl Fn(Option<&'a str>) -> Option<PushEvaluation<'a>>,
    ) {
        let user_id = member.user_id(&request.members[member.position]);
        let counts = self.counts.get(member.position).copied().unwrap_or_default();
        let user_is_target = request.event.changes_membership_of(user_id);
        for ActivePusher { receiver_id, origin, profile_tag } in &member.pushers {
            let result = find_result(profile_tag.as_deref());
            if let Some(result) = result.filter(PushEvaluation::notifies) {
                self.targets.push(DeliveryTarget {
                    account_id: member.account_id,
                    receiver_id: *receiver_id,
                    origin: origin.clone(),
                    details: DeliveryDetails::new(&result, counts, user_is_target),
                });
            }
        }
    }
}
