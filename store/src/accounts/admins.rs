//! Account roles and disabling. Once there is an enabled admin, at least one always remains: the
//! last one cannot be disabled, demoted or deleted, even by concurrent requests.

use belfry_core::account::Role;
use belfry_core::audit::NewAuditEvents;
use jiff::Timestamp;

use crate::cache::Invalidation;
use crate::engine::{Rows, Statement, sql};
use crate::error::StoreError;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, lock_statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountUpdateOutcome {
    Updated,
    NotFound,
    /// Nothing was changed, because no enabled admin would remain.
    LastAdmin,
}

impl AccountUpdateOutcome {
    /// Derives the outcome from the rows returned by the update and by
    /// [`select_account_id_statement`].
    pub(crate) fn from_rows(updated_rows: &Rows, account_rows: &Rows) -> Self {
        match (updated_rows.is_empty(), account_rows.is_empty()) {
            (false, _) => Self::Updated,
            (true, false) => Self::LastAdmin,
            (true, true) => Self::NotFound,
        }
    }
}

/// Returns the statement that serializes transactions that may remove an admin, so that the second
/// one sees the result of the first. A single row is locked instead of the admins' rows, which
/// could be locked in different orders and cause a deadlock.
pub(crate) fn lock_admins_statement() -> Statement {
    lock_statement("admins")
}

pub(crate) fn select_account_id_statement(id: i64) -> Statement {
    sql!("select id from accounts where id = $id", [id])
}

impl Store {
    /// Changes an account's role. The change takes effect immediately on this node, and on other
    /// nodes when the invalidation arrives.
    pub async fn set_account_role(
        &self,
        events: &NewAuditEvents,
        id: i64,
        role: Role,
    ) -> Result<AccountUpdateOutcome, StoreError> {
        let event_source = event_source_for!(
            accounts,
            r"
                id = $id
                  and role <> cast($role as text)
                  and (cast($role as text) = 'admin' or {is_not_last_admin})
            ",
            [id, role]
        );
        let change = Change::new(events, [lock_admins_statement()], event_source)
            .and(sql!(
                r"
                    update accounts
                    set role = cast($role as text)
                    where id = $id
                      and (cast($role as text) = 'admin' or {is_not_last_admin})
                    returning id
                ",
                [id, role]
            ))
            .and(select_account_id_statement(id))
            .invalidating(Invalidation::Account(id));
        let [_, updated_rows, account_rows] = self.write_rows(change).await?;
        Ok(AccountUpdateOutcome::from_rows(&updated_rows, &account_rows))
    }

    /// Disables (`Some` time) or enables an account. Disabling ends its sessions. While it is
    /// disabled, its tokens are rejected.
    pub async fn set_account_disabled_at(
        &self,
        events: &NewAuditEvents,
        id: i64,
        disabled_at: Option<Timestamp>,
    ) -> Result<AccountUpdateOutcome, StoreError> {
        let event_source = event_source_for!(
            accounts,
            r"
                id = $id
                  and {changes_disabled_state}
                  and (cast($disabled_at as bigint) is null or {is_not_last_admin})
            ",
            [id, disabled_at]
        );
        let change = Change::new(events, [lock_admins_statement()], event_source)
            .and(sql!(
                r"
                    update accounts
                    set disabled_at = cast($disabled_at as bigint)
                    where id = $id
                      and (cast($disabled_at as bigint) is null or {is_not_last_admin})
                    returning id
                ",
                [id, disabled_at]
            ))
            .and(sql!(
                r"
                    delete from sessions
                    where account_id = $id
                      and exists (
                          select 1
                          from accounts
                          where id = $id
                            and disabled_at is not null
                      )
                ",
                [id]
            ))
            .and(select_account_id_statement(id))
            .invalidating(Invalidation::Account(id));
        let [_, updated_rows, _, account_rows] = self.write_rows(change).await?;
        Ok(AccountUpdateOutcome::from_rows(&updated_rows, &account_rows))
    }
}
