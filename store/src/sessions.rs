//! Browser sessions of signed-in accounts.

use belfry_core::secret::{HashedSecret, LookupKey};
use belfry_core::user_agent::UserAgent;
use jiff::Timestamp;

use super::audit::insert_event;
use super::authorized_apps::lock_account;
use super::engine::{Batch, Statement, from_row, sql};
use super::{SignInOutcome, Store, StoreError};

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The signed-in account.
    pub account_id: i64,
    /// When the account signed in.
    pub created_at: Timestamp,
    /// When the session was last used.
    pub seen_at: Timestamp,
    /// When the session expires.
    pub expires_at: Timestamp,
    /// The language chosen at sign-in.
    pub lang: Option<String>,
    /// The browser in which the account signed in.
    pub browser: UserAgent,
}

/// The sessions of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionUse {
    /// The number of sessions that have not expired.
    pub count: i64,
    /// When one of them was last used.
    pub last_used_at: Option<Timestamp>,
}

from_row!(SessionUse { count, last_used_at });

from_row!(Session { account_id, created_at, seen_at, expires_at, lang, browser });

impl Store {
    /// Adds a session and records the sign-in, if the account's password is still the one that was
    /// verified (its hash), and the account is not disabled.
    pub async fn add_session(
        &self,
        secret: HashedSecret,
        session: &Session,
        password: &str,
    ) -> Result<SignInOutcome, StoreError> {
        let batch = Batch::default().and(lock_account(session.account_id)).and(sql(
            "insert into sessions \
             (lookup, digest, account_id, created_at, seen_at, expires_at, lang, browser) \
             select cast($1 as text), cast($2 as text), id, cast($4 as bigint), \
             cast($5 as bigint), cast($6 as bigint), cast($7 as text), cast($9 as text) \
             from accounts where id = $3 and password = $8 and disabled_at is null returning lookup",
            [
                secret.lookup.into(),
                secret.digest.into(),
                session.account_id.into(),
                session.created_at.into(),
                session.seen_at.into(),
                session.expires_at.into(),
                session.lang.as_deref().into(),
                password.into(),
                session.browser.into(),
            ],
        ));
        let batch = batch
            .and(sql(
                "update accounts set signed_in_at = $2 where id = $1 \
                 and exists (select 1 from sessions where lookup = $3)",
                [session.account_id.into(), session.created_at.into(), secret.lookup.into()],
            ))
            .and_events(&self.entries, &session_event(secret.lookup));
        let [_, added, _] = self.write_rows(batch).await?;
        Ok(SignInOutcome::from_rows(&added))
    }

    /// Finds the session of a cookie, unless it expired.
    pub async fn session(
        &self,
        secret: HashedSecret,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let select = sql(
            "select digest, account_id, created_at, seen_at, expires_at, lang, browser from sessions \
             where lookup = $1 and expires_at > $2",
            [secret.lookup.into(), now.into()],
        );
        self.read_secret(secret, select).await
    }

    /// The number of sessions of an account and their last use.
    pub async fn session_use(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<SessionUse, StoreError> {
        let count = sql(
            "select count(*), max(seen_at) from sessions where account_id = $1 and expires_at > $2",
            [account.into(), now.into()],
        );
        self.read_one(count).await?.ok_or(StoreError::Unreadable("count"))
    }

    /// Updates the last use and the expiry of a session.
    pub async fn record_session_use(
        &self,
        lookup: LookupKey,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let update = sql(
            "update sessions set seen_at = $2, expires_at = $3 where lookup = $1",
            [lookup.into(), seen_at.into(), expires_at.into()],
        );
        self.engine.write(update.into()).await.map(drop)
    }

    /// Ends a session.
    pub async fn end_session(&self, lookup: LookupKey) -> Result<(), StoreError> {
        let batch = Batch::default()
            .and_events(&self.entries, &session_event(lookup))
            .and(sql("delete from sessions where lookup = $1", [lookup.into()]));
        self.write(batch).await.map(drop)
    }
}

/// Inserts an event of a session, if it exists.
fn session_event(lookup: LookupKey) -> Statement {
    sql(
        insert_event!(
            "account_id, cast(null as bigint) as app_id, 1 as number from sessions \
             where lookup = $9"
        ),
        [lookup.into()],
    )
}
