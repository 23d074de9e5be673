//! User accounts.

pub(crate) mod admins;
pub(crate) mod deletion;
mod import;
pub(crate) mod passwords;
mod pending_deletion;
mod search;

use std::iter;

use belfry_core::account::Role;
use belfry_core::audit::NewAuditEvents;
use belfry_core::oauth::token::TokenAccount;
use belfry_runtime::random;
use jiff::Timestamp;

use self::admins::select_account_id_statement;
use crate::engine::{Rows, Statement, from_row, read_rows, sql};
use crate::error::StoreError;
use crate::store::event_source::{EventSource, event_source_for};
use crate::store::{Change, EnabledState, Store, WriteOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The id, which never changes and is never reused.
    pub id: i64,
    /// The name, which is the local part of the user id.
    pub name: String,
    /// The e-mail address in lower case, given by the operator. It can be used to sign in.
    pub email: Option<String>,
    /// The e-mail address in lower case that the user entered. It may belong to someone else.
    pub unverified_email: Option<String>,
    /// The hash of the password, Argon2id unless it was imported, or [`NO_PASSWORD`].
    pub password_hash: String,
    /// The role, which determines the account's rights.
    pub role: Role,
    pub created_at: Timestamp,
    /// Time of the owner's last sign-in.
    pub signed_in_at: Option<Timestamp>,
    pub disabled_at: Option<Timestamp>,
    /// The time at which it will be deleted, at its owner's request.
    pub delete_at: Option<Timestamp>,
    /// Incremented by every password change. Sessions and requests with an older version are
    /// invalid.
    pub credential_version: i64,
}

impl Account {
    /// Returns the name and the e-mail addresses, which are rejected as passwords.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        let emails = [&self.email, &self.unverified_email];
        iter::once(&*self.name).chain(emails.into_iter().flatten().map(String::as_str))
    }
}

/// The stored hash of an account that nobody can sign in to.
pub const NO_PASSWORD: &str = "!";

/// The e-mail address of a new account, by its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Email {
    Verified(String),
    /// Entered by the person who signs up.
    Unverified(String),
}

/// The reason why an account was not added.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AddAccountError {
    #[error("the name is already taken")]
    NameTaken,
    #[error("the name belonged to an account that was deleted")]
    NameReserved,
    /// An account with this e-mail address exists.
    #[error("the e-mail address is already taken")]
    EmailTaken,
    #[error("the id is already taken")]
    IdTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, Default)]
pub struct AccountListFilter {
    /// Only active, or only disabled, accounts.
    pub state: Option<EnabledState>,
    pub role: Option<Role>,
    pub name_prefix: Option<String>,
    /// Only accounts whose e-mail address contains this string, ignoring case.
    pub email: Option<String>,
}

from_row!(
    Account: id, name, email, unverified_email, password_hash, role, created_at, signed_in_at,
    disabled_at, delete_at, credential_version
);

/// Builds the statement that reads a page of accounts by an indexed condition and the filters.
macro_rules! select_page {
    ($condition:literal, $values:tt) => {
        sql!(
            r"
                select {account_columns}
                from accounts
                where {condition}
                  and name > $after
                  and (
                      cast($state as text) is null
                      or case when disabled_at is null then 'active' else 'disabled' end = $state
                  )
                  and (cast($role as text) is null or role = $role)
                  and (
                      cast($prefix as text) is null
                      or substr(name, 1, length(cast($prefix as text))) = $prefix
                  )
                  and (
                      cast($email as text) is null
                      or replace(email, $email, '') <> email
                      or replace(unverified_email, $email, '') <> unverified_email
                  )
                order by name
                limit $limit
            ",
            $values,
            {condition = $condition}
        )
    };
}

impl Store {
    /// Adds an account, unless its name is reserved, or its id, name or e-mail address is taken.
    pub async fn add_account(
        &self,
        events: &NewAuditEvents,
        account: &Account,
    ) -> Result<(), AddAccountError> {
        let change = Change::new(
            events,
            [insert_account_statement(account), select_conflicts_statement(account)],
            new_account_event_source(account),
        );
        let [inserted_rows, conflicting_rows] = self.write_rows(change).await?;
        insert_outcome(account, &inserted_rows, conflicting_rows)
    }

    pub async fn create_account(
        &self,
        events: &NewAuditEvents,
        now: Timestamp,
        name: String,
        email: Option<Email>,
        password_hash: String,
        role: Role,
    ) -> Result<Account, AddAccountError> {
        let (email, unverified_email) = match email {
            Some(Email::Verified(email)) => (Some(email.to_lowercase()), None),
            Some(Email::Unverified(email)) => (None, Some(email.to_lowercase())),
            None => (None, None),
        };
        let mut account = Account {
            id: 0,
            name,
            email,
            unverified_email,
            password_hash,
            role,
            created_at: now,
            signed_in_at: None,
            disabled_at: None,
            delete_at: None,
            credential_version: 0,
        };
        for id in random::id_candidates(now) {
            account.id = id;
            match self.add_account(events, &account).await {
                Ok(()) => return Ok(account),
                Err(AddAccountError::IdTaken) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::NoFreeId.into())
    }

    pub async fn account(&self, id: i64) -> Result<Option<Account>, StoreError> {
        self.read_one(sql!("select {account_columns} from accounts where id = $id", [id])).await
    }

    pub async fn account_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        self.read_one(sql!("select {account_columns} from accounts where name = $name", [name]))
            .await
    }

    /// Finds the account that an application service acts for, by name, from the cache if possible.
    /// Disabled accounts are found too, but not cached.
    pub async fn token_account(&self, name: &str) -> Result<Option<TokenAccount>, StoreError> {
        // An application service does not get the rights of its users' roles.
        let role = Role::User;
        let token_account =
            |id, disabled_at| TokenAccount { id, name: name.to_owned(), role, disabled_at };
        if let Some(id) = self.cache.accounts.get(name) {
            return Ok(Some(token_account(id, None)));
        }
        let epoch = self.cache.accounts.epoch(name);
        let Some(account) = self.account_by_name(name).await? else { return Ok(None) };
        if account.disabled_at.is_none() {
            self.cache.accounts.insert(name.into(), account.id, epoch);
        }
        Ok(Some(token_account(account.id, account.disabled_at)))
    }

    /// Finds an account by its verified e-mail address, ignoring case.
    pub async fn account_by_email(&self, email: &str) -> Result<Option<Account>, StoreError> {
        let email = email.to_lowercase();
        self.read_one(sql!("select {account_columns} from accounts where email = $email", [email]))
            .await
    }

    /// Returns a page of accounts with names after `after`, in order of name.
    pub async fn accounts(
        &self,
        filter: &AccountListFilter,
        after: &str,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        let email = filter.email.as_ref().filter(|email| !email.is_empty());
        // Addresses are stored in lower case.
        let email = email.map(|email| email.to_lowercase());
        let state = filter.state;
        let role = filter.role;
        let prefix = filter.name_prefix.as_deref();
        // Disabled accounts and admins are few and indexed, so not all accounts have to be read.
        let page = match (state, role) {
            (_, Some(Role::Admin)) => select_page!(
                "id in (select id from accounts where role = 'admin')",
                [after, limit, state, role, prefix, email]
            ),
            (Some(EnabledState::Disabled), _) => {
                select_page!("disabled_at is not null", [after, limit, state, role, prefix, email])
            }
            _ => select_page!("true", [after, limit, state, role, prefix, email]),
        };
        self.read_all(page).await
    }

    /// Replaces or removes an account's e-mail address, at its owner's request. The new one is not
    /// verified, so it cannot be used to sign in. Returns `NotFound` if the password was changed
    /// after it was verified.
    pub async fn change_email(
        &self,
        events: &NewAuditEvents,
        account: &Account,
        email: Option<&str>,
    ) -> Result<WriteOutcome, StoreError> {
        let id = account.id;
        let version = account.credential_version;
        let email = email.map(str::to_lowercase);
        let update = sql!(
            r"
                update accounts
                set email = null, unverified_email = $email
                where id = $id
                  and credential_version = $version
                returning id
            ",
            [id, version, email]
        );
        let event_source = event_source_for!(
            accounts,
            "id = $id and credential_version = $version",
            [id, version]
        );
        self.update(Change::new(events, [update], event_source)).await
    }

    /// Records audit events about an account without changing it.
    pub async fn record_account_events(
        &self,
        events: &NewAuditEvents,
        id: i64,
    ) -> Result<WriteOutcome, StoreError> {
        let change =
            Change::new(events, [select_account_id_statement(id)], account_event_source(id));
        self.update(change).await
    }
}

/// Returns the statement that inserts an account, unless its name is reserved, or its id, name or
/// e-mail address is taken.
pub(crate) fn insert_account_statement(account: &Account) -> Statement {
    sql!(
        r"
            insert into accounts (id, name, email, unverified_email, password, role, created_at,
                signed_in_at, disabled_at, delete_at, credential_version)
            select cast($id as bigint), cast($name as text), cast($email as text),
                cast($unverified_email as text), cast($password as text), cast($role as text),
                cast($created_at as bigint), cast($signed_in_at as bigint),
                cast($disabled_at as bigint), cast($delete_at as bigint),
                cast($credential_version as bigint)
            where not exists (select 1 from reserved_names where name = $name)
            on conflict do nothing
            returning id
        ",
        [
            id = account.id,
            name = account.name.as_str(),
            email = account.email.as_deref(),
            unverified_email = account.unverified_email.as_deref(),
            password = account.password_hash.as_str(),
            role = account.role,
            created_at = account.created_at,
            signed_in_at = account.signed_in_at,
            disabled_at = account.disabled_at,
            delete_at = account.delete_at,
            credential_version = account.credential_version
        ]
    )
}

/// Returns the statement that finds the rows that prevent an account from being added: accounts
/// with its name or e-mail address, and the reservation of its name.
pub(crate) fn select_conflicts_statement(account: &Account) -> Statement {
    sql!(
        r"
            select name, 0 as reserved
            from accounts
            where name = $name
              or email = $email
            union all
            select name, 1
            from reserved_names
            where name = $name
        ",
        [name = account.name.as_str(), email = account.email.as_deref()]
    )
}

/// Returns a new account's event source, which is empty if the account was not added.
pub(crate) fn new_account_event_source(account: &Account) -> EventSource {
    event_source_for!(
        accounts,
        "id = $id and name = $name",
        [id = account.id, name = account.name.as_str()]
    )
}

/// Returns the outcome of [`insert_account_statement`], from its rows and those of
/// [`select_conflicts_statement`].
pub(crate) fn insert_outcome(
    account: &Account,
    inserted_rows: &Rows,
    conflicting_rows: Rows,
) -> Result<(), AddAccountError> {
    if !inserted_rows.is_empty() {
        return Ok(());
    }
    let mut error = AddAccountError::IdTaken;
    for (name, reserved) in read_rows::<(String, i64)>(conflicting_rows)? {
        match (name == account.name, reserved) {
            (true, 0) => return Err(AddAccountError::NameTaken),
            (true, _) => return Err(AddAccountError::NameReserved),
            (false, _) => error = AddAccountError::EmailTaken,
        }
    }
    Err(error)
}

/// Returns an account's event source, which is empty if there is no account with this id.
pub(crate) fn account_event_source(id: i64) -> EventSource {
    event_source_for!(accounts, "id = $id", [id])
}
