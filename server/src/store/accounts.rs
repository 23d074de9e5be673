//! Accounts: the people who can sign in.

use belfry_core::oauth::token::TokenAccount;
use jiff::Timestamp;

use super::authorized_apps::revoke_access;
use super::cache::Invalidation;
use super::engine::{Batch, Row, Statement, sql};
use super::{Store, StoreError};
use crate::random;

/// An account as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number, which never changes and is never used again.
    pub id: i64,
    /// Its name, the local part of its user id.
    pub name: String,
    /// Its e-mail address, in lower case.
    pub email: Option<String>,
    /// The Argon2id string of its password.
    pub password: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it may no longer be used.
    pub disabled_at: Option<Timestamp>,
}

/// Why an account could not be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Taken {
    /// Another account has this name.
    #[error("the name is already taken")]
    Name,
    /// Another account has this e-mail address.
    #[error("the e-mail address is already taken")]
    Email,
    /// Another account has this id; a fresh one will do.
    #[error("the id is already taken")]
    Id,
}

macro_rules! select {
    ($rest:literal) => {
        concat!("select id, name, email, password, created_at, disabled_at from accounts ", $rest)
    };
}

impl Account {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take()?,
            name: row.take()?,
            email: row.take()?,
            password: row.take()?,
            created_at: row.take()?,
            disabled_at: row.take()?,
        })
    }
}

impl Store {
    /// Adds an account, unless its name, e-mail address or id is another's.
    pub async fn add_account(&self, account: &Account) -> Result<Result<(), Taken>, StoreError> {
        let batch = Batch::default()
            .and(sql(
                "insert into accounts (id, name, email, password, created_at, disabled_at) \
                 values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id",
                [
                    account.id.into(),
                    account.name.as_str().into(),
                    account.email.as_deref().into(),
                    account.password.as_str().into(),
                    account.created_at.into(),
                    account.disabled_at.into(),
                ],
            ))
            .and(sql(
                select!("where name = $1 or email = $2 order by id limit 3"),
                [account.name.as_str().into(), account.email.as_deref().into()],
            ));
        let [added, like_it] = self.write_rows(batch).await?;
        if !added.is_empty() {
            return Ok(Ok(()));
        }
        let like_it = like_it.into_iter().map(Account::read).collect::<Result<Vec<_>, _>>()?;
        Ok(Err(match like_it {
            others if others.iter().any(|other| other.name == account.name) => Taken::Name,
            others if !others.is_empty() => Taken::Email,
            _ => Taken::Id,
        }))
    }

    /// Makes an account with an id of its own, unless its name or e-mail address is another's.
    pub async fn new_account(
        &self,
        now: Timestamp,
        name: String,
        email: Option<String>,
        password: String,
    ) -> Result<Result<Account, Taken>, StoreError> {
        let email = email.map(|email| email.to_lowercase());
        let mut account = Account {
            id: random::id(now),
            name,
            email,
            password,
            created_at: now,
            disabled_at: None,
        };
        loop {
            match self.add_account(&account).await? {
                Ok(()) => return Ok(Ok(account)),
                Err(Taken::Id) => account.id = random::id(now),
                Err(taken) => return Ok(Err(taken)),
            }
        }
    }

    /// The account of this id.
    pub async fn account(&self, id: i64) -> Result<Option<Account>, StoreError> {
        self.read_one(sql(select!("where id = $1"), [id.into()]), Account::read).await
    }

    /// The account of this name.
    pub async fn account_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        self.read_one(sql(select!("where name = $1"), [name.into()]), Account::read).await
    }

    /// The account of this name, for an application service that acts for it: from memory, if it
    /// was asked for before and is not disabled.
    pub async fn token_account(&self, name: &str) -> Result<Option<TokenAccount>, StoreError> {
        let acting = |id, disabled_at| TokenAccount { id, name: name.to_owned(), disabled_at };
        if let Some(id) = self.cache.account(name) {
            return Ok(Some(acting(id, None)));
        }
        let epoch = self.cache.epoch(&name);
        let Some(account) = self.account_by_name(name).await? else { return Ok(None) };
        if account.disabled_at.is_none() {
            self.cache.insert_account(name, account.id, epoch);
        }
        Ok(Some(acting(account.id, account.disabled_at)))
    }

    /// The account of this e-mail address.
    pub async fn account_by_email(&self, email: &str) -> Result<Option<Account>, StoreError> {
        let email = email.to_lowercase();
        self.read_one(sql(select!("where email = $1"), [email.into()]), Account::read).await
    }

    /// At most `limit` accounts whose names come after `after`, by name.
    pub async fn accounts(&self, after: &str, limit: i64) -> Result<Vec<Account>, StoreError> {
        let page =
            sql(select!("where name > $1 order by name limit $2"), [after.into(), limit.into()]);
        self.engine.read(page).await?.into_iter().map(Account::read).collect()
    }

    /// Lets an account be used no longer (`Some` time) or again (`None`). Its sessions end; its
    /// tokens are refused while it is disabled. Whether there is such an account.
    pub async fn disable_account(
        &self,
        id: i64,
        at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let batch = Batch::default()
            .and(sql(
                "update accounts set disabled_at = $2 where id = $1 returning id",
                [id.into(), at.into()],
            ))
            .and(sql("delete from sessions where account_id = $1", [id.into()]))
            .invalidating(Invalidation::Everything);
        let [found, _] = self.write_rows(batch).await?;
        Ok(!found.is_empty())
    }

    /// Replaces what is remembered of a password by a stronger hash of the same one, unless the
    /// account has another password meanwhile. Its sessions go on. Whether it was replaced.
    pub async fn rehash_password(&self, id: i64, old: &str, new: &str) -> Result<bool, StoreError> {
        let [found] = self
            .write_rows(sql(
                "update accounts set password = $3 where id = $1 and password = $2 returning id",
                [id.into(), old.into(), new.into()],
            ))
            .await?;
        Ok(!found.is_empty())
    }

    /// Gives an account another password (its Argon2id string) and ends its sessions; its tokens
    /// and unspent codes, too, unless they are kept. Whether there is such an account.
    pub async fn set_password(
        &self,
        id: i64,
        password: &str,
        access: ExistingAccess,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default()
            .and(sql(
                "update accounts set password = $2 where id = $1 returning id",
                [id.into(), password.into()],
            ))
            .and(sql("delete from sessions where account_id = $1", [id.into()]));
        if let ExistingAccess::RevokeAt(now) = access {
            batch = revoke_access(batch, id, None, now);
        }
        let found = self.engine.write(batch).await?.into_iter().next();
        Ok(found.is_some_and(|found| !found.is_empty()))
    }
}

/// What becomes of the apps that an account has let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingAccess {
    /// They keep their tokens.
    Keep,
    /// Their tokens and unspent codes end now.
    RevokeAt(Timestamp),
}

/// Holds an account still for the rest of a batch that opens something to somebody, if that is still
/// theirs to have. Who takes it away in the same moment holds the account too: they were first, and
/// the rest of the batch sees it; or they come after, and end what was opened.
pub(super) fn lock_account(id: i64) -> Statement {
    sql("update accounts set password = password where id = $1", [id.into()])
}
