//! Deletion of tokens, grants, sessions and deliveries beyond a maximum number, the least recently
//! used first.
//!
//! An app can request any number of tokens, and a user can sign in any number of times. The limits
//! bound the storage and the cost of lists: 100 valid tokens per grant; 500 grants, 50 sessions and
//! 100 deliveries per account; and a configured number of app tokens per app. Each node checks the
//! owners for which it has added rows since its last check.

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use super::BATCH_ROWS;
use crate::cache::Invalidation;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::{Revocation, lock_account_statement};
use crate::store::event_source::event_source;
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store};

impl Store {
    /// Deletes the least recently used tokens, grants, sessions and deliveries beyond the maximum
    /// numbers, of owners that got new ones from this node since the last call. An app has at most
    /// `max_app_tokens` app tokens. Returns the number of deleted rows by table.
    pub async fn delete_excess(
        &self,
        max_app_tokens: usize,
        now: Timestamp,
    ) -> Result<Vec<(&'static str, usize)>, StoreError> {
        let mut deleted_counts = Vec::new();
        let mut owners = self.new_rows.take();
        while let Some(owner) = owners.pop_first() {
            match self.delete_owner_excess(owner, max_app_tokens, now).await {
                Ok(counts) => deleted_counts.extend(counts),
                Err(error) => {
                    owners.insert(owner);
                    self.new_rows.restore(owners);
                    return Err(error);
                }
            }
        }
        Ok(deleted_counts)
    }

    async fn delete_owner_excess(
        &self,
        owner: RowOwner,
        max_app_tokens: usize,
        now: Timestamp,
    ) -> Result<Vec<(&'static str, usize)>, StoreError> {
        Ok(match owner {
            RowOwner::App(app) => {
                vec![("tokens", self.delete_excess_app_tokens(app, max_app_tokens, now).await?)]
            }
            RowOwner::Access { account, app } => vec![
                ("tokens", self.delete_excess_tokens(account, app, now).await?),
                ("grants", self.delete_excess_grants(account, now).await?),
            ],
            RowOwner::Account(account) => {
                vec![("sessions", self.delete_excess_sessions(account, now).await?)]
            }
            RowOwner::Deliveries(account) => {
                vec![("deliveries", self.delete_excess_deliveries(account, now).await?)]
            }
        })
    }

    /// Deletes the least recently used app tokens of an app that has more than `max_tokens`.
    async fn delete_excess_app_tokens(
        &self,
        app: i64,
        max_tokens: usize,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let max_tokens = i64::try_from(max_tokens).unwrap_or(i64::MAX);
        let mut deleted_count = 0;
        loop {
            let select = sql!(
                r"
                    select lookup
                    from tokens
                    where app_id = $app
                      and account_id is null
                    order by {last_use_or_issue} desc, lookup desc
                    limit 10000 offset $max_tokens
                ",
                [app, max_tokens, now]
            );
            let lookup_keys: Vec<LookupKey> = self.read_all(select).await?;
            if lookup_keys.is_empty() {
                return Ok(deleted_count);
            }
            for batch in lookup_keys.chunks(BATCH_ROWS) {
                self.write(add_token_deletions(Change::unaudited([]), batch)).await?;
            }
            deleted_count += lookup_keys.len();
        }
    }

    /// Deletes the least recently used tokens of an account's grants to an app that have too many,
    /// and then the grants without tokens.
    async fn delete_excess_tokens(
        &self,
        account: i64,
        app: i64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let events =
            deletion_events(now, AuditKind::TokenRevoke, "more than 100 tokens of a grant");
        let select =
            sql!("select lookup from ({excess_tokens}) as excess limit 1", [account, app, now]);
        let delete = || {
            let revoked_tokens = event_source!(
                r"
                    cast($account as bigint) as account_id, cast($app as bigint) as app_id,
                        count(*) as number
                    from ({excess_tokens}) as excess
                    where is_valid = 1
                    having count(*) > 0
                ",
                [account, app, now]
            );
            Change::new(&events, [lock_account_statement(account)], revoked_tokens)
                .and(sql!(
                    r"
                        delete from tokens
                        where lookup in (select lookup from ({excess_tokens}) as excess)
                        returning lookup
                    ",
                    [account, app, now]
                ))
                .invalidating(Invalidation::Account(account))
        };
        let deleted_count = self.delete_while_found(select, delete).await?;
        if deleted_count > 0 {
            self.write(Change::unaudited(delete_empty_grants_statement(account, app, now))).await?;
        }
        Ok(deleted_count)
    }

    /// Deletes the least recently used grants of an account that has too many, with their
    /// unredeemed codes, and revokes their tokens.
    async fn delete_excess_grants(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let select = sql!(
            r"
                select app_id, id
                from grants
                where account_id = $account
                  and (select count(*) from grants where account_id = $account) > 500
                order by coalesce(
                    (
                        select max({last_use})
                        from tokens t
                        where t.account_id = grants.account_id
                          and t.app_id = grants.app_id
                          and t.grant_id = grants.id
                    ), grants.created_at
                ) desc, id desc
                limit 1000000 offset 500
            ",
            [account]
        );
        let excess_grants: Vec<(i64, String)> = self.read_all(select).await?;
        let events = deletion_events(now, AuditKind::TokenRevoke, "more than 500 grants");
        for (app, grant) in &excess_grants {
            let app = Some(*app);
            let revocation =
                Revocation { app, grant: Some(grant), ..Revocation::all(account, now) };
            let lock = [lock_account_statement(account)];
            let change = Change::new(&events, lock, revocation.event_source());
            self.write(revocation.add_to(change)).await?;
        }
        Ok(excess_grants.len())
    }

    /// Deletes the least recently used sessions of an account that has too many.
    async fn delete_excess_sessions(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let events = deletion_events(now, AuditKind::SignOut, "more than 50 sessions");
        let select = sql!("select lookup from ({excess_sessions}) as excess limit 1", [account]);
        let delete = || {
            let ended_sessions = event_source!(
                r"
                    cast($account as bigint) as account_id, cast(null as bigint) as app_id,
                        count(*) as number
                    from ({excess_sessions}) as excess
                    having count(*) > 0
                ",
                [account]
            );
            Change::new(&events, [lock_account_statement(account)], ended_sessions).and(sql!(
                r"
                    delete from sessions
                    where lookup in (select lookup from ({excess_sessions}) as excess)
                    returning lookup
                ",
                [account]
            ))
        };
        self.delete_while_found(select, delete).await
    }

    /// Writes a change while a query finds a row to delete. Returns the number of deleted rows,
    /// which the last statement of the change returns.
    async fn delete_while_found<'a>(
        &self,
        select: Statement,
        delete: impl Fn() -> Change<'a>,
    ) -> Result<usize, StoreError> {
        let mut deleted_count = 0;
        while self.read_one::<LookupKey>(select.clone()).await?.is_some() {
            deleted_count += self.write(delete()).await?.last().map_or(0, Vec::len);
        }
        Ok(deleted_count)
    }
}

/// Returns the statement that deletes an account's grants to an app that have no token and no
/// pending code.
fn delete_empty_grants_statement(account: i64, app: i64, now: Timestamp) -> Statement {
    sql!(
        r"
            delete from grants
            where account_id = $account
              and app_id = $app
              and pending_until < $now
              and not exists (
                  select 1
                  from tokens t
                  where t.account_id = grants.account_id
                    and t.app_id = grants.app_id
                    and t.grant_id = grants.id
              )
        ",
        [account, app, now]
    )
}

/// Returns a deletion's audit events, with its reason.
fn deletion_events(now: Timestamp, kind: AuditKind, reason: &str) -> NewAuditEvents {
    NewAuditEvent { detail: Some(reason.to_owned()), ..NewAuditEvent::for_server(now, kind) }.into()
}

pub(super) fn add_token_deletions<'a>(change: Change<'a>, lookup_keys: &[LookupKey]) -> Change<'a> {
    lookup_keys.iter().fold(change, |change, &lookup_key| {
        change
            .and(sql!("delete from tokens where lookup = $lookup", [lookup = lookup_key]))
            .invalidating(Invalidation::Token(lookup_key))
    })
}
