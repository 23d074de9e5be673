//! The pushers that get a message about an evaluated event.

use std::collections::HashSet;

use belfry_core::push::message::{Counts, DeliveryDetails};
use belfry_core::rules::evaluate::{Member, PushEvaluation};
use belfry_core::rules::evaluation_request::EvaluateRequest;
use belfry_core::rules::index::Members;
use belfry_core::rules::work::RequestWorkBudget;
use belfry_delivery::acceptance::outgoing::DeliveryTarget;
use jiff::Timestamp;

use super::batch::{ActivePusher, CompiledMember};

/// Collects the pushers that get a message.
pub(super) struct TargetCollector {
    counts: Vec<Counts>,
    pub(super) loaded_account_ids: HashSet<i64>,
    pub(super) targets: Vec<DeliveryTarget>,
}

impl TargetCollector {
    /// Creates a collector. `counts` are those of each member of the request.
    pub(super) fn new(counts: Vec<Counts>) -> Self {
        Self { counts, loaded_account_ids: HashSet::new(), targets: Vec::new() }
    }

    /// Adds those of a member's pushers that get a message. A pusher with a profile tag obeys the
    /// rules of that device.
    pub(super) fn add_member(
        &mut self,
        request: &EvaluateRequest,
        now: Timestamp,
        budget: &mut RequestWorkBudget,
        member: &CompiledMember,
        global_result: &PushEvaluation<'_>,
    ) {
        let requested_member = &request.members[member.position];
        let counts = self.counts.get(member.position).copied().unwrap_or_default();
        let user_id = member.user_id(requested_member);
        let user_is_target = request.event.changes_membership_of(user_id);
        for ActivePusher { receiver_id, origin, profile_tag } in &member.pushers {
            let (device, device_results);
            let result = if profile_tag.is_some() {
                let context =
                    Member { profile_tag: profile_tag.as_deref(), ..requested_member.member() };
                let rules = member.rules.as_deref();
                device = Members::new([(user_id, context, rules)]);
                device_results = device.evaluate(&request.event, &request.room, now, budget);
                device_results.get(0).unwrap_or(*global_result)
            } else {
                *global_result
            };
            if result.notifies() {
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
