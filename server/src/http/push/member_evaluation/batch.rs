//! Batches of members, with the rules and pushers that their evaluation needs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use belfry_core::matrix;
use belfry_core::push::notify_request::parse_id;
use belfry_core::push::receiver::{Pusher, ReceiverDocument};
use belfry_core::rules::evaluation_request::RequestedMember;
use belfry_core::rules::index::IndexedRules;
use belfry_store::{RulesetsSnapshot, StoreError};

use crate::auth::application_services::ApplicationService;
use crate::evaluation::Evaluator;
use crate::evaluation::rule_index::{CachedRules, RuleIndexCache};

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
    members: Vec<BatchMember<MemberRules>>,
    /// The size of the members' rules, in bytes.
    bytes: usize,
    members_with_pushers: usize,
}

pub(super) struct BatchMember<R> {
    pub(super) position: usize,
    pub(super) account_id: i64,
    /// `None` if the request names the member by this user id.
    user_id: Option<Box<str>>,
    pub(super) rules: R,
    pub(super) pushers: Vec<ActivePusher>,
}

enum MemberRules {
    Cached(CachedRules),
    /// Rules from the database, which are compiled on a thread of the pool.
    Loaded(RulesetsSnapshot),
}

/// A member with its rules; `None` for a user without documents.
pub(super) type CompiledMember = BatchMember<Option<Arc<IndexedRules>>>;

pub(super) struct ActivePusher {
    pub(super) receiver_id: i64,
    pub(super) origin: String,
    pub(super) profile_tag: Option<String>,
}

impl CompiledMember {
    pub(super) fn user_id<'a>(&'a self, requested: &'a RequestedMember) -> &'a str {
        self.user_id.as_deref().unwrap_or(&requested.id)
    }
}

impl Batch {
    /// Adds the members at these positions, and loads the rules that are not cached. Returns the
    /// positions of those that have no account or are outside the namespaces of the service.
    pub(super) async fn add_members(
        &mut self,
        evaluator: &Evaluator,
        service: &ApplicationService,
        members: &[RequestedMember],
        positions: Range<usize>,
    ) -> Result<Vec<usize>, StoreError> {
        let server_name = &*evaluator.server_name;
        let account_ids: Vec<i64> =
            members[positions.clone()].iter().filter_map(|member| parse_id(&member.id)).collect();
        let names_by_id = evaluator.store.account_names(&account_ids).await?;
        // An empty name for a member that is unknown or outside the namespaces.
        let allowed_name = |position: usize| {
            let id = &*members[position].id;
            let (name, user_id) = match parse_id(id) {
                Some(account_id) => {
                    let name = &**names_by_id.get(&account_id)?;
                    (name, Cow::from(matrix::user_id(name, server_name)))
                }
                None => (matrix::localpart(id, server_name)?, Cow::from(id)),
            };
            service.may_act_for(name, &user_id).then_some(name)
        };
        let names: Vec<&str> =
            positions.clone().map(|position| allowed_name(position).unwrap_or_default()).collect();
        let account_ids = evaluator.store.account_ids(&names).await?;
        let now = evaluator.clock.now();
        let mut found_members = Vec::new();
        let mut unknown_positions = Vec::new();
        let mut uncached_account_ids = Vec::new();
        for ((position, name), account_id) in positions.zip(names).zip(account_ids) {
            let Some(account_id) = account_id else {
                unknown_positions.push(position);
                continue;
            };
            let cached_rules = evaluator.rule_index_cache.get(&evaluator.store, account_id, now);
            if cached_rules.is_none() {
                uncached_account_ids.push(account_id);
            }
            let is_account_id = !members[position].id.starts_with('@');
            let user_id = is_account_id.then(|| matrix::user_id(name, server_name).into());
            found_members.push((position, account_id, user_id, cached_rules));
        }
        let snapshots = evaluator.store.rulesets_for_accounts(&uncached_account_ids, now).await?;
        for (position, account_id, user_id, cached_rules) in found_members {
            let rules = match (cached_rules, snapshots.get(&account_id)) {
                (Some(rules), _) => MemberRules::Cached(rules),
                (None, Some(snapshot)) => MemberRules::Loaded(snapshot.clone()),
                (None, None) => continue,
            };
            self.bytes += match &rules {
                MemberRules::Cached(rules) => rules.bytes,
                MemberRules::Loaded(snapshot) => snapshot.rulesets.bytes(),
            };
            let pushers = Vec::new();
            self.members.push(BatchMember { position, account_id, user_id, rules, pushers });
        }
        Ok(unknown_positions)
    }

    /// Loads the active pushers of the members that were added last. If the request names an account
    /// twice, its pushers belong to the first member, so that they get and count one message.
    pub(super) async fn add_pushers(
        &mut self,
        evaluator: &Evaluator,
        loaded_account_ids: &mut HashSet<i64>,
    ) -> Result<(), StoreError> {
        let new_members = &mut self.members[self.members_with_pushers..];
        let account_ids: Vec<i64> = new_members
            .iter()
            .map(|member| member.account_id)
            .filter(|account_id| loaded_account_ids.insert(*account_id))
            .collect();
        let now = evaluator.clock.now();
        for receiver in evaluator.store.receivers_of_accounts(&account_ids, now).await? {
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
    pub(super) fn compile(self, cache: &RuleIndexCache) -> Vec<CompiledMember> {
        let compile_member = |member: BatchMember<MemberRules>| {
            let BatchMember { position, account_id, user_id, rules, pushers } = member;
            let CachedRules { rules, .. } = match rules {
                MemberRules::Cached(rules) => rules,
                MemberRules::Loaded(snapshot) => cache.insert(account_id, &snapshot),
            };
            BatchMember { position, account_id, user_id, rules, pushers }
        };
        self.members.into_iter().map(compile_member).collect()
    }
}
