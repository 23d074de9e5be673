//! The devices of an account: its grants to Matrix clients that have a valid token.

use belfry_core::audit::NewAuditEvents;
use jiff::Timestamp;

use crate::cache::Invalidation;
use crate::engine::{from_row, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, WriteOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountDevice {
    pub id: String,
    pub name: Option<String>,
    /// Time of the last use, to the hour, or of the sign-in.
    pub seen_at: Timestamp,
}

from_row!(AccountDevice: id, name, seen_at);

impl Store {
    /// Returns an account's devices, or only the one with this id, in order of id.
    pub async fn account_devices(
        &self,
        account_id: i64,
        device_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<AccountDevice>, StoreError> {
        self.read_all(sql!(
            r"
                select g.device_id, max(g.device_name), max(coalesce(t.last_used_at, t.created_at))
                from grants g
                join tokens t on t.account_id = g.account_id
                  and t.app_id = g.app_id
                  and t.grant_id = g.id
                where g.account_id = $account_id
                  and g.device_id <> ''
                  and (cast($device_id as text) is null or g.device_id = $device_id)
                  and {is_valid}
                group by g.device_id
                order by g.device_id
            ",
            [account_id, device_id, now]
        ))
        .await
    }

    /// Sets the display name of a device. Returns `NotFound` if the account has no such device.
    pub async fn rename_device(
        &self,
        account_id: i64,
        device_id: &str,
        name: Option<&str>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update grants
                set device_name = $name
                where account_id = $account_id
                  and device_id = $device_id
                  and {has_valid_token}
                returning id
            ",
            [account_id, device_id, name, now]
        );
        self.update(Change::unaudited(update)).await
    }

    /// Revokes the tokens of a device and deletes its grants. Returns `NotFound` if the account has
    /// no such device.
    pub async fn delete_device(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        device_id: &str,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            tokens,
            r"
                account_id = $account_id
                  and revoked_at is null
                  and grant_id in (
                      select id
                      from grants
                      where account_id = $account_id and device_id = $device_id
                  )
            ",
            [account_id, device_id]
        );
        let revoke = sql!(
            r"
                update tokens
                set revoked_at = $now
                where account_id = $account_id
                  and revoked_at is null
                  and grant_id in (
                      select id
                      from grants
                      where account_id = $account_id and device_id = $device_id
                  )
            ",
            [account_id, device_id, now]
        );
        let delete_codes = sql!(
            r"
                delete from codes
                where account_id = $account_id
                  and used_at is null
                  and grant_id in (
                      select id
                      from grants
                      where account_id = $account_id and device_id = $device_id
                  )
            ",
            [account_id, device_id]
        );
        let delete_grants = sql!(
            r"
                delete from grants
                where account_id = $account_id and device_id = $device_id
                returning id
            ",
            [account_id, device_id]
        );
        let change = Change::new(events, [lock_account_statement(account_id)], event_source)
            .and(delete_codes)
            .and(revoke)
            .and(delete_grants)
            .invalidating(Invalidation::Account(account_id));
        let deleted_rows = self.write(change).await?.pop().unwrap_or_default();
        Ok(WriteOutcome::from_rows(&deleted_rows))
    }
}
