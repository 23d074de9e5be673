//! Tokens: who may ring, through which app, and for what.

use std::sync::Arc;

use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::cache::Change;
use super::engine::{Batch, Row, Statement, sql};
use super::{Store, StoreError};

/// A token to be issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The digest of the token.
    pub digest: Digest,
    /// The app it is issued to.
    pub app: i64,
    /// The account it speaks for; none for a token of the app itself.
    pub account: Option<i64>,
    /// The scopes it carries, separated by spaces.
    pub scopes: String,
    /// When it is issued.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// An issued token, with what must be known of its app and account to judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The app it was issued to.
    pub app: i64,
    /// The account it speaks for; none for a token of the app itself.
    pub account: Option<TokenAccount>,
    /// The scopes it carries, separated by spaces.
    pub scopes: String,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Since when its app is disabled.
    pub app_disabled_at: Option<Timestamp>,
}

/// The account behind a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAccount {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Since when it is disabled.
    pub disabled_at: Option<Timestamp>,
}

impl Token {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        let app = row.take()?;
        let (id, name, disabled_at) = (row.take()?, row.take()?, row.take()?);
        Ok(Self {
            app,
            account: Option::zip(id, name).map(|(id, name)| TokenAccount { id, name, disabled_at }),
            scopes: row.take()?,
            created_at: row.take()?,
            expires_at: row.take()?,
            revoked_at: row.take()?,
            app_disabled_at: row.take()?,
        })
    }
}

impl NewToken {
    fn insert(&self) -> Statement {
        sql(
            "insert into tokens (digest, app_id, account_id, scopes, created_at, expires_at) \
             values ($1, $2, $3, $4, $5, $6)",
            [
                self.digest.into(),
                self.app.into(),
                self.account.into(),
                self.scopes.as_str().into(),
                self.created_at.into(),
                self.expires_at.into(),
            ],
        )
    }
}

impl Store {
    /// Issues a token.
    pub async fn add_token(&self, token: &NewToken) -> Result<(), StoreError> {
        self.engine.write(token.insert().into()).await.map(drop)
    }

    /// What is known of a token: also of one that is revoked, expired or of a disabled account.
    pub async fn token(&self, digest: Digest) -> Result<Option<Arc<Token>>, StoreError> {
        if let Some(known) = self.cache.token(&digest) {
            return Ok(Some(known));
        }
        let moment = self.cache.moment(&digest);
        let found = self
            .read_one(
                sql(
                    "select t.app_id, a.id, a.name, a.disabled_at, t.scopes, t.created_at, \
                     t.expires_at, t.revoked_at, p.disabled_at \
                     from tokens t join apps p on p.id = t.app_id \
                     left join accounts a on a.id = t.account_id where t.digest = $1",
                    [digest.into()],
                ),
                Token::read,
            )
            .await?
            .map(Arc::new);
        if let Some(token) = &found {
            self.cache.put_token(digest, Arc::clone(token), &moment);
        }
        Ok(found)
    }

    /// Revokes a token. One that is already revoked keeps the time of the first revocation.
    /// Whether there is such a token.
    pub async fn revoke_token(&self, digest: Digest, now: Timestamp) -> Result<bool, StoreError> {
        let batch = Batch::from(sql(
            "update tokens set revoked_at = coalesce(revoked_at, $2) where digest = $1 \
             returning digest",
            [digest.into(), now.into()],
        ))
        .changing(Change::Token(digest));
        let [found] = self.write_rows(batch).await?;
        Ok(!found.is_empty())
    }
}
