//! Sessions: browsers in which somebody is signed in.

use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::engine::{Row, sql};
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
    /// Remembers a session.
    pub async fn add_session(&self, digest: Digest, session: &Session) -> Result<(), StoreError> {
        let insert = sql(
            "insert into sessions (digest, account_id, created_at, seen_at, expires_at, lang) \
             values ($1, $2, $3, $4, $5, $6)",
            [
                digest.into(),
                session.account.into(),
                session.created_at.into(),
                session.seen_at.into(),
                session.expires_at.into(),
                session.lang.as_deref().into(),
            ],
        );
        self.engine.write(insert.into()).await.map(drop)
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
