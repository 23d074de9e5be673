//! Batches of members, with the rules and pushers that their evaluation needs.

use std::collections::HashSet;
use std::sync::Arc;

use belfry_core::matrix;
use belfry_core::push::receiver::{Pusher, ReceiverDocument};
use belfry_core::rules::evaluation_request::RequestedMember;
use belfry_core::rules::index::IndexedRules;
use belfry_store::{RulesetsSnapshot, StoreError};

use crate::app::AppState;
use crate::evaluation::rule_index::CachedRules;

/// The maximum number of members in a batch, to limit its memory and the time that other requests
/// wait.
const MAX_BATCH_MEMBERS: usize = 2_000;

/// The maximum size of the rules in a batch, in bytes, for the same reasons.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The number of members that are added to a batch together. A batch may exceed its maximum by this
/// many members and their rules.
pub(super) const MEMBERS_ADDED_TOGETHER: usize = 50;

/// Members that are evaluated together.
#[derive(Default)]
pub(super) struct Batch {
    members: Vec<BatchMember>,
    /// The size of the members' rules, in bytes.
    bytes: usize,
    /// Number of members whose pushers are loaded.
    members_with_pushers: usize,
}

struct BatchMember {
    /// The position in the request.
    position: usize,
    account_id: i64,
    rules: MemberRules,
    pushers: Vec<ActivePusher>,
}

enum MemberRules {
    Cached(CachedRules),
    /// Rules from the database, which are compiled on a thread of the pool.
    Loaded(RulesetsSnapshot),
}

/// A member with compiled rules.
pub(super) struct CompiledMember {
    /// The position in the request.
    pub(super) position: usize,
    pub(super) account_id: i64,
    /// `None` for a user without documents.
    pub(super) rules: Option<Arc<IndexedRules>>,
    pub(super) pushers: Vec<ActivePusher>,
}

/// An active pusher of a member.
pub(super) struct ActivePusher {
    pub(super) receiver_id: i64,
    pub(super) origin: String,
    pub(super) profile_tag: Option<String>,
}

impl Batch {
    /// Adds the members at these positions, except those without an account, and loads the rules
    /// that are not cached.
    pub(super) async fn add_members(
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
        let now = state.clock.now();
        let mut found_members = Vec::new();
        let mut uncached_account_ids = Vec::new();
        for (position, account_id) in positions.iter().zip(account_ids) {
            let Some(account_id) = account_id else { continue };
            let cached_rules = state.rule_index_cache.get(&state.store, account_id, now);
            if cached_rules.is_none() {
                uncached_account_ids.push(account_id);
            }
            found_members.push((*position, account_id, cached_rules));
        }
        let snapshots = state.store.rulesets_for_accounts(&uncached_account_ids, now).await?;
        for (position, account_id, cached_rules) in found_members {
            let rules = match (cached_rules, snapshots.get(&account_id)) {
                (Some(rules), _) => MemberRules::Cached(rules),
                (None, Some(snapshot)) => MemberRules::Loaded(snapshot.clone()),
                (None, None) => continue,
            };
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
    pub(super) async fn add_pushers(
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
            if let Some(member) =
                new_members.iter_mut().find(|member| member.account_id == receiver.account_id)
            {
                let receiver_id = receiver.id;
                let origin = receiver.origin;
                member.pushers.push(ActivePusher { receiver_id, origin, profile_tag });
            }
        }
        self.members_with_pushers = self.members.len();
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.members.len() >= MAX_BATCH_MEMBERS || self.bytes >= MAX_BATCH_BYTES
    }

    /// Compiles and caches the rules that are not cached.
    pub(super) fn compile(self, state: &AppState) -> Vec<CompiledMember> {
        let compile_member = |BatchMember { position, account_id, rules, pushers }: BatchMember| {
            let rules = match rules {
                MemberRules::Cached(rules) => rules,
                MemberRules::Loaded(snapshot) => {
                    state.rule_index_cache.insert(account_id, &snapshot)
                }
            };
            CompiledMember { position, account_id, rules: rules.rules, pushers }
        };
        self.members.into_iter().map(compile_member).collect()
    }
}
