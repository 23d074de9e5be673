//! Deleting accounts and apps with everything that belongs to them.

use belfry_core::audit::{AuditKind, NewAuditEvents, deleted_account_name};
use jiff::Timestamp;

use crate::accounts::admins::{lock_admins_statement, select_account_id_statement};
use crate::cache::Invalidation;
use crate::engine::{Rows, Statement, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::store::event_source::event_source;
use crate::store::{Change, Store};

/// The number of rows that were deleted with an account or app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedRows {
    pub sessions: usize,
    pub codes: usize,
    pub tokens: usize,
    pub rulesets: usize,
    pub requests: usize,
    pub receivers: usize,
    pub deliveries: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountDeletionOutcome {
    Deleted(DeletedRows),
    NotFound,
    /// Nothing was deleted, because no enabled admin would remain, or because a scheduled deletion
    /// is no longer due.
    LastAdmin,
}

/// A deleted account, as recorded in the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedAccount {
    pub id: i64,
    pub name: String,
}

/// The statement that deletes a table's rows of an account or app that no longer exists.
macro_rules! delete_rows {
    ($table:literal, $owner_column:literal, $owner_table:literal, $key:literal) => {
        concat!(
            "delete from ",
            $table,
            " where ",
            $owner_column,
            " = $1 and not exists (select 1 from ",
            $owner_table,
            " where id = $1) returning ",
            $key
        )
    };
}

/// The tables with rows of accounts, and the statements that delete one account's rows. Grants are
/// locked before codes and tokens, and receivers before deliveries, in the same order as elsewhere.
pub(crate) const DELETE_ACCOUNT_ROWS: [(&str, &str); 9] = [
    ("grants", delete_rows!("grants", "account_id", "accounts", "id")),
    ("sign_ins", delete_rows!("sign_ins", "account_id", "accounts", "lookup")),
    ("sessions", delete_rows!("sessions", "account_id", "accounts", "lookup")),
    ("codes", delete_rows!("codes", "account_id", "accounts", "lookup")),
    ("tokens", delete_rows!("tokens", "account_id", "accounts", "lookup")),
    ("rulesets", delete_rows!("rulesets", "account_id", "accounts", "scope")),
    ("requests", delete_rows!("requests", "account_id", "accounts", "lookup")),
    ("receivers", delete_rows!("receivers", "account_id", "accounts", "id")),
    ("deliveries", delete_rows!("deliveries", "account_id", "accounts", "id")),
];

/// The tables with rows of apps, and the statements that delete one app's rows.
pub(crate) const DELETE_APP_ROWS: [(&str, &str); 4] = [
    ("grants", delete_rows!("grants", "app_id", "apps", "id")),
    ("codes", delete_rows!("codes", "app_id", "apps", "lookup")),
    ("tokens", delete_rows!("tokens", "app_id", "apps", "lookup")),
    ("requests", delete_rows!("requests", "app_id", "apps", "lookup")),
];

/// The statement that records the id of a deleted account for the next sweeps.
const INSERT_DELETED_ACCOUNT: &str = r"
    insert into deleted_owners (kind, id)
    select 'account', cast($1 as bigint)
    where not exists (select 1 from accounts where id = $1)
    on conflict do nothing
";

/// The statement that records the id of a deleted app for the next sweeps.
pub(crate) const INSERT_DELETED_APP: &str = r"
    insert into deleted_owners (kind, id)
    select 'app', cast($1 as bigint)
    where not exists (select 1 from apps where id = $1)
    on conflict do nothing
";

/// Adds statements whose parameter is the id of an account or app.
fn add_statements<'a>(
    change: Change<'a>,
    statements: &[(&str, &'static str)],
    id: i64,
) -> Change<'a> {
    let statements = statements.iter().map(|(_, sql)| Statement::new(sql, vec![id.into()]));
    statements.fold(change, Change::and)
}

impl Store {
    /// Deletes an account and everything that belongs to it. Its name is reserved, because a new
    /// account with this name would be mistaken for the old one. The detail of the audit event
    /// contains the name, because it can no longer be looked up.
    ///
    /// The admins and the account's row are locked first, so the deletion is serialized with
    /// transactions that grant access.
    pub async fn delete_account(
        &self,
        events: &NewAuditEvents,
        id: i64,
        now: Timestamp,
    ) -> Result<AccountDeletionOutcome, StoreError> {
        self.delete_account_if_due(events, id, None, now).await
    }

    /// Deletes an account like [`Store::delete_account`]. If `due_before` is given, deletes it only
    /// if the owner requested a deletion that is due before that time, and has not cancelled it.
    pub(crate) async fn delete_account_if_due(
        &self,
        events: &NewAuditEvents,
        id: i64,
        due_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<AccountDeletionOutcome, StoreError> {
        let event_source = event_source!(
            detail = "'name ' || name || coalesce('; ' || cast($detail as text), '')",
            r"
                id as account_id, name, cast(null as bigint) as app_id, 1 as number
                from accounts
                where {is_deletable}
            ",
            [id, due_before]
        );
        // The account is locked, so all statements see the same `delete_at`.
        let locks = [lock_admins_statement(), lock_account_statement(id)];
        let deletion = Change::new(events, locks, event_source)
            .and(sql!(
                r"
                    insert into reserved_names (name, reserved_at)
                    select name, cast($now as bigint)
                    from accounts
                    where {is_deletable}
                    on conflict do nothing
                ",
                [id, now, due_before]
            ))
            .and(select_account_id_statement(id))
            .and(sql!("delete from accounts where {is_deletable} returning id", [id, due_before]))
            .and(Statement::new(INSERT_DELETED_ACCOUNT, vec![id.into()]))
            .invalidating(Invalidation::Account(id));
        let change = add_statements(deletion, &DELETE_ACCOUNT_ROWS, id);
        let [_, _, _, account_rows, deleted_accounts, _, _, _, rows @ ..]: [Rows; 15] =
            self.write_rows(change).await?;
        let [sessions, codes, tokens, rulesets, requests, receivers, deliveries] =
            rows.map(|rows| rows.len());
        let deleted_rows =
            DeletedRows { sessions, codes, tokens, rulesets, requests, receivers, deliveries };
        Ok(match (deleted_accounts.is_empty(), account_rows.is_empty()) {
            (false, _) => AccountDeletionOutcome::Deleted(deleted_rows),
            (true, false) => AccountDeletionOutcome::LastAdmin,
            (true, true) => AccountDeletionOutcome::NotFound,
        })
    }

    /// Deletes an app and everything that belongs to it; `None` if there is no such app. The audit
    /// event has the app's name in its detail.
    pub async fn delete_app(
        &self,
        events: &NewAuditEvents,
        id: i64,
    ) -> Result<Option<DeletedRows>, StoreError> {
        let event_source = event_source!(
            detail = "'name ' || name || coalesce('; ' || cast($detail as text), '')",
            r"
                cast(null as bigint) as account_id, name, id as app_id, 1 as number
                from apps
                where id = $id
            ",
            [id]
        );
        let deletion = Change::new(events, [], event_source)
            .and(sql!("delete from apps where id = $id returning id", [id]))
            .and(Statement::new(INSERT_DELETED_APP, vec![id.into()]))
            .invalidating(Invalidation::App(id));
        let change = add_statements(deletion, &DELETE_APP_ROWS, id);
        let [deleted_apps, _, _, rows @ ..]: [Rows; 6] = self.write_rows(change).await?;
        let [codes, tokens, requests] = rows.map(|rows| rows.len());
        let deleted_rows = DeletedRows { codes, tokens, requests, ..DeletedRows::default() };
        Ok((!deleted_apps.is_empty()).then_some(deleted_rows))
    }

    /// Returns the accounts that were deleted since a time, in order of deletion, if their audit
    /// events are still retained.
    pub async fn deleted_accounts(
        &self,
        since: Timestamp,
    ) -> Result<Vec<DeletedAccount>, StoreError> {
        let select = sql!(
            r"
                select account_id, detail
                from audit_events
                where at >= $since
                  and kind = $kind
                  and account_id is not null
                  and detail is not null
                order by at, id
            ",
            [since, kind = AuditKind::AccountDelete.as_str()]
        );
        let mut accounts = Vec::new();
        for (id, detail) in self.read_all::<(i64, String)>(select).await? {
            if let Some(name) = deleted_account_name(&detail) {
                accounts.push(DeletedAccount { id, name: name.to_owned() });
            }
        }
        Ok(accounts)
    }

    /// Makes the name of a deleted account available again.
    pub async fn release_name(&self, name: &str) -> Result<(), StoreError> {
        let delete = sql!("delete from reserved_names where name = $name", [name]);
        self.write(Change::unaudited(delete)).await.map(drop)
    }
}
