//! Accounts that are deleted at their owner's request, after a waiting period.

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use jiff::Timestamp;

use crate::accounts::Account;
use crate::accounts::admins::{AccountUpdateOutcome, lock_admins_statement};
use crate::accounts::deletion::AccountDeletionOutcome;
use crate::engine::sql;
use crate::error::StoreError;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, WriteOutcome};

/// Maximum number of accounts that are read together.
const BATCH_ACCOUNTS: i64 = 100;

impl Store {
    /// Schedules the deletion of an account. A second request does not change the time. Returns
    /// `NotFound` if the password was changed since it was verified.
    pub async fn request_account_deletion(
        &self,
        events: &NewAuditEvents,
        account: &Account,
        delete_at: Timestamp,
    ) -> Result<AccountUpdateOutcome, StoreError> {
        let id = account.id;
        let version = account.credential_version;
        let event_source = event_source_for!(
            accounts,
            r"
                id = $id
                  and credential_version = $version
                  and delete_at is null
                  and {is_not_last_admin}
            ",
            [id, version]
        );
        let change = Change::new(events, [lock_admins_statement()], event_source)
            .and(sql!(
                r"
                    update accounts
                    set delete_at = coalesce(delete_at, $delete_at)
                    where id = $id
                      and credential_version = $version
                      and {is_not_last_admin}
                    returning id
                ",
                [id, version, delete_at]
            ))
            .and(sql!(
                r"
                    select id
                    from accounts
                    where id = $id
                      and credential_version = $version
                ",
                [id, version]
            ));
        let [_, updated_rows, account_rows] = self.write_rows(change).await?;
        Ok(AccountUpdateOutcome::from_rows(&updated_rows, &account_rows))
    }

    /// Cancels an account's deletion. Returns `NotFound` if none was requested.
    pub async fn cancel_account_deletion(
        &self,
        events: &NewAuditEvents,
        id: i64,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(accounts, "id = $id and delete_at is not null", [id]);
        let update = sql!(
            r"
                update accounts
                set delete_at = null
                where id = $id
                  and delete_at is not null
                returning id
            ",
            [id]
        );
        let change = Change::new(events, [], event_source).and(update);
        self.update(change).await
    }

    /// Deletes accounts whose deletion is due before a time, except the last enabled admin. Returns
    /// their number.
    pub(crate) async fn delete_due_accounts(
        &self,
        due_before: Timestamp,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let events = NewAuditEvent::for_server(now, AuditKind::AccountDelete).into();
        let mut total_count = 0;
        loop {
            let select = sql!(
                r"
                    select id
                    from accounts
                    where delete_at < $due_before
                      and {is_not_last_admin}
                    order by delete_at, id
                    limit $limit
                ",
                [due_before, limit = BATCH_ACCOUNTS]
            );
            let mut batch_count = 0;
            for id in self.read_all::<i64>(select).await? {
                let outcome =
                    self.delete_account_if_due(&events, id, Some(due_before), now).await?;
                batch_count += usize::from(matches!(outcome, AccountDeletionOutcome::Deleted(_)));
            }
            total_count += batch_count;
            if batch_count == 0 {
                return Ok(total_count);
            }
        }
    }
}
