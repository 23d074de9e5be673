//! One account's tokens: listing them, and revoking one.

use belfry_core::audit::NewAuditEvents;
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use super::engine::{from_row, sql};
use super::event_source::event_source_for;
use super::invalidation::Invalidation;
use super::{Change, Store, StoreError, UpdateOutcome};

/// A valid token of an account, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountToken {
    /// The lookup key, which identifies the token.
    pub lookup: LookupKey,
    /// The app to which it was issued.
    pub app_id: i64,
    /// The granted scopes.
    pub scopes: Scopes,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the hour.
    pub last_used_at: Option<Timestamp>,
    /// The display name of the device to which it was issued, if it has one.
    pub device: Option<String>,
}

from_row!(
    AccountToken,
    token_columns { lookup, app_id, scopes, created_at, expires_at, last_used_at, device }
);

impl Store {
    /// Returns an account's valid tokens that were issued to an app, the most recently used
    /// first. If there are more than 101, which is only possible with several grants, it returns
    /// 101 of them.
    pub async fn account_app_tokens(
        &self,
        account_id: i64,
        app: i64,
        now: Timestamp,
    ) -> Result<Vec<AccountToken>, StoreError> {
        // SQLite would merge the queries, and read all tokens, if only one of them had a limit.
        self.read_all(sql!(
            concat!(
                "select ",
                token_columns!(),
                " from (select t.lookup, t.app_id, t.scopes, t.created_at, t.expires_at, \
                 t.last_used_at, g.device_name as device from tokens t join grants g \
                 on g.account_id = t.account_id and g.app_id = t.app_id and g.id = t.grant_id \
                 where t.account_id = $account and t.app_id = $app and t.revoked_at is null \
                 and (t.expires_at is null or t.expires_at > $now) limit 101) as listed \
                 order by coalesce(last_used_at, created_at) desc, lookup limit 101"
            ),
            [account = account_id, app, now]
        ))
        .await
    }

    /// Returns the number of an account's valid tokens that were issued to an app.
    pub async fn token_count(
        &self,
        account_id: i64,
        app: i64,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let select = sql!(
            "select count(*) from tokens where account_id = $account and app_id = $app \
             and revoked_at is null and (expires_at is null or expires_at > $now)",
            [account = account_id, app, now]
        );
        self.read_one(select).await?.ok_or(StoreError::Unreadable("count"))
    }

    /// Revokes one of the account's tokens. `NotFound` if there is no such token, or it was already
    /// revoked.
    pub async fn revoke_account_token(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        lookup: LookupKey,
        now: Timestamp,
    ) -> Result<UpdateOutcome, StoreError> {
        let event_source = event_source_for!(
            tokens,
            "lookup = $lookup and account_id = $account and revoked_at is null",
            [lookup, account = account_id]
        );
        let update = sql!(
            "update tokens set revoked_at = $now where lookup = $lookup and account_id = $account \
             and revoked_at is null returning lookup",
            [lookup, account = account_id, now]
        );
        let change = Change::new(events, [], event_source)
            .and(update)
            .invalidating(Invalidation::Token(lookup));
        self.update(change).await
    }
}
