//! Sessions: browsers in which somebody is signed in.

use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::accounts::lock_account;
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};

/// A session as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Who is signed in.
    pub account: i64,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was last used.
    pub seen_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// The language that was chosen when it began.
    pub lang: Option<String>,
}

impl Session {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            account: row.take()?,
            created_at: row.take()?,
            seen_at: row.take()?,
            expires_at: row.take()?,
            lang: row.take()?,
        })
    }
}

impl Store {
    /// Remembers a session that a password (its Argon2id string) has opened, unless the account has
    /// another one by now. Whether it is remembered.
    pub async fn add_session(
        &self,
        digest: Digest,
        session: &Session,
        password: &str,
    ) -> Result<bool, StoreError> {
        let batch = Batch::default().and(lock_account(session.account)).and(sql(
            "insert into sessions (digest, account_id, created_at, seen_at, expires_at, lang) \
             select cast($1 as text), id, cast($3 as bigint), cast($4 as bigint), \
             cast($5 as bigint), cast($6 as text) \
             from accounts where id = $2 and password = $7 returning digest",
            [
                digest.into(),
                session.account.into(),
                session.created_at.into(),
                session.seen_at.into(),
                session.expires_at.into(),
                session.lang.as_deref().into(),
                password.into(),
            ],
        ));
        let [_, added] = self.write_rows(batch).await?;
        Ok(!added.is_empty())
    }

    /// The session of this cookie, if it has not ended by `now`.
    pub async fn session(
        &self,
        digest: Digest,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let select = sql(
            "select account_id, created_at, seen_at, expires_at, lang from sessions \
             where digest = $1 and expires_at > $2",
            [digest.into(), now.into()],
        );
        self.read_one(select, Session::read).await
    }

    /// Notes that a session is in use, and until when it lasts now.
    pub async fn touch_session(
        &self,
        digest: Digest,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let update = sql(
            "update sessions set seen_at = $2, expires_at = $3 where digest = $1",
            [digest.into(), seen_at.into(), expires_at.into()],
        );
        self.engine.write(update.into()).await.map(drop)
    }

    /// Ends a session.
    pub async fn end_session(&self, digest: Digest) -> Result<(), StoreError> {
        let delete = sql("delete from sessions where digest = $1", [digest.into()]);
        self.engine.write(delete.into()).await.map(drop)
    }

    /// Ends every session of an account.
    pub async fn end_sessions(&self, account: i64) -> Result<(), StoreError> {
        let delete = sql("delete from sessions where account_id = $1", [account.into()]);
        self.engine.write(delete.into()).await.map(drop)
    }
}
