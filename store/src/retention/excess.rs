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
use crate::engine::{Statement, from_row, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::store::event_source::event_source;
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store};

#[derive(Debug)]
struct ExcessToken {
    lookup_key: LookupKey,
    /// 1 if it is valid, otherwise 0.
    is_valid: i64,
}

from_row!(ExcessToken { lookup_key, is_valid });

#[derive(Debug)]
struct ExcessGrant {
    app_id: i64,
    id: String,
}

from_row!(ExcessGrant { app_id, id });

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
                vec![("tokens", self.delete_excess_app_tokens(app, max_app_tokens).await?)]
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
                    order by {last_use} desc, lookup desc
                    limit 10000 offset $max_tokens
                ",
                [app, max_tokens]
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
        let mut deleted_count = 0;
        loop {
            let select = sql!(
                r"
                    select lookup, is_valid
                    from (
                        select lookup, is_valid, row_number() over (
                            partition by case when is_valid = 1 then grant_id else '' end
                            order by last_use desc, lookup desc
                        ) as place
                        from (
                            select lookup, grant_id, {last_use} as last_use, case when
                                revoked_at is null and (expires_at is null or expires_at > $now)
                                then 1 else 0 end as is_valid
                            from tokens
                            where account_id = $account
                              and app_id = $app
                        ) as tokens_of_app
                    ) as ordered
                    where place > 100
                    order by lookup
                    limit 10000
                ",
                [account, app, now]
            );
            let excess_tokens: Vec<ExcessToken> = self.read_all(select).await?;
            if excess_tokens.is_empty() {
                break;
            }
            for batch in excess_tokens.chunks(BATCH_ROWS) {
                let lookup_keys: Vec<LookupKey> =
                    batch.iter().map(|token| token.lookup_key).collect();
                let valid_tokens: Vec<&ExcessToken> =
                    batch.iter().filter(|token| token.is_valid == 1).collect();
                let change = match valid_tokens.first() {
                    None => Change::unaudited([]),
                    Some(first_token) => {
                        let number = i64::try_from(valid_tokens.len()).unwrap_or(i64::MAX);
                        // There is no event if another node has already deleted the tokens.
                        let event_source = event_source!(
                            r"
                                account_id, app_id, cast($number as bigint) as number
                                from tokens
                                where lookup = $first_lookup
                            ",
                            [number, first_lookup = first_token.lookup_key]
                        );
                        Change::new(&events, [lock_account_statement(account)], event_source)
                    }
                };
                self.write(add_token_deletions(change, &lookup_keys)).await?;
            }
            deleted_count += excess_tokens.len();
        }
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
        let excess_grants: Vec<ExcessGrant> = self.read_all(select).await?;
        let events = deletion_events(now, AuditKind::TokenRevoke, "more than 500 grants");
        for ExcessGrant { app_id, id } in &excess_grants {
            self.write(grant_deletion(&events, account, *app_id, id, now)).await?;
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
        let mut deleted_count = 0;
        loop {
            let select =
                sql!("select lookup from ({excess_sessions}) as excess limit 1", [account]);
            if self.read_one::<LookupKey>(select).await?.is_none() {
                return Ok(deleted_count);
            }
            let event_source = event_source!(
                r"
                    cast($account as bigint) as account_id, cast(null as bigint) as app_id,
                        count(*) as number
                    from ({excess_sessions}) as excess
                    having count(*) > 0
                ",
                [account]
            );
            let delete = sql!(
                r"
                    delete from sessions
                    where lookup in (select lookup from ({excess_sessions}) as excess)
                    returning lookup
                ",
                [account]
            );
            let change =
                Change::new(&events, [lock_account_statement(account)], event_source).and(delete);
            let [_, deleted_rows] = self.write_rows(change).await?;
            deleted_count += deleted_rows.len();
        }
    }
}

/// Returns the change that deletes a grant with its unredeemed codes, and revokes its tokens.
fn grant_deletion<'a>(
    events: &'a NewAuditEvents,
    account: i64,
    app: i64,
    id: &str,
    now: Timestamp,
) -> Change<'a> {
    let event_source = event_source!(
        r"
            account_id, app_id, count(*) as number
            from tokens
            where account_id = $account
              and app_id = $app
              and grant_id = $id
              and revoked_at is null
              and (expires_at is null or expires_at > $now)
            group by account_id, app_id
        ",
        [account, app, id, now]
    );
    Change::new(events, [lock_account_statement(account)], event_source)
        .and(sql!(
            r"
                delete from codes
                where expires_at > $now
                  and account_id = $account
                  and app_id = $app
                  and grant_id = $id
                  and used_at is null
            ",
            [account, app, id, now]
        ))
        .and(sql!(
            r"
                delete from grants
                where account_id = $account
                  and app_id = $app
                  and id = $id
            ",
            [account, app, id]
        ))
        .and(sql!(
            r"
                update tokens
                set revoked_at = $now
                where account_id = $account
                  and app_id = $app
                  and grant_id = $id
                  and revoked_at is null
            ",
            [account, app, id, now]
        ))
        .invalidating(Invalidation::Account(account))
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
