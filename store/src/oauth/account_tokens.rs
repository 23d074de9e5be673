//! One account's tokens: listing them, and revoking one.

use belfry_core::audit::NewAuditEvents;
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use crate::cache::Invalidation;
use crate::engine::{from_row, sql};
use crate::error::StoreError;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, WriteOutcome};

/// A valid token of an account, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountToken {
    pub lookup_key: LookupKey,
    pub app_id: i64,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    /// The expiry time, if it has one.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use, to the hour.
    pub last_used_at: Option<Timestamp>,
    /// The display name of the device to which it was issued, if it has one.
    pub device_name: Option<String>,
}

from_row!(
    AccountToken: lookup_key, app_id, scopes, created_at, expires_at, last_used_at, device_name
);

impl Store {
    /// Returns at most 101 of an account's valid tokens that were issued to an app, the most
    /// recently used first. If there are more, which is only possible with several grants, the
    /// choice is arbitrary.
    pub async fn account_app_tokens(
        &self,
        account_id: i64,
        app_id: i64,
        now: Timestamp,
    ) -> Result<Vec<AccountToken>, StoreError> {
        // Both queries have a limit, because SQLite would otherwise merge them and read all tokens.
        self.read_all(sql!(
            r"
                select lookup, app_id, scopes, created_at, expires_at, last_used_at, device_name
                from (
                    select t.lookup, t.app_id, t.scopes, t.created_at, t.expires_at,
                        t.last_used_at, g.device_name
                    from tokens t
                    join grants g on g.account_id = t.account_id
                      and g.app_id = t.app_id
                      and g.id = t.grant_id
                    where t.account_id = $account
                      and t.app_id = $app
                      and {is_valid}
                    limit 101
                ) as listed
                order by coalesce(last_used_at, created_at) desc, lookup
                limit 101
            ",
            [account = account_id, app = app_id, now]
        ))
        .await
    }

    /// Returns the number of an account's valid tokens that were issued to an app.
    pub async fn account_app_token_count(
        &self,
        account_id: i64,
        app_id: i64,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let select = sql!(
            r"
                select count(*)
                from tokens
                where account_id = $account
                  and app_id = $app
                  and {is_valid}
            ",
            [account = account_id, app = app_id, now]
        );
        self.read_one(select).await?.ok_or(StoreError::Unreadable("count"))
    }

    /// Revokes one of the account's tokens. Returns `NotFound` if there is no such token, or it was
    /// already revoked.
    pub async fn revoke_account_token(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        lookup_key: LookupKey,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            tokens,
            "lookup = $lookup and account_id = $account and revoked_at is null",
            [lookup = lookup_key, account = account_id]
        );
        let update = sql!(
            r"
                update tokens
                set revoked_at = $now
                where lookup = $lookup
                  and account_id = $account
                  and revoked_at is null
                returning lookup
            ",
            [lookup = lookup_key, account = account_id, now]
        );
        let change = Change::new(events, [], event_source)
            .and(update)
            .invalidating(Invalidation::Token(lookup_key));
        self.update(change).await
    }
}
