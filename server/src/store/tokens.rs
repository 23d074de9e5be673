//! Tokens: who may ring, through which app, and for what.

use std::sync::Arc;

use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::{Token, TokenAccount};
use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::accounts::lock_account;
use super::cache::Invalidation;
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

/// Reads a token from its columns.
fn read_token(mut row: Row) -> Result<Token, StoreError> {
    let app_id = row.take()?;
    let (id, name, disabled_at) = (row.take()?, row.take()?, row.take()?);
    Ok(Token {
        app_id,
        account: Option::zip(id, name).map(|(id, name)| TokenAccount { id, name, disabled_at }),
        scopes: Scopes::parse_known(&row.take::<String>()?),
        created_at: row.take()?,
        expires_at: row.take()?,
        revoked_at: row.take()?,
        app_disabled_at: row.take()?,
    })
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

    /// Issues a token for a password (its Argon2id string) of its account, unless that has another
    /// one by now. Whether it was issued.
    pub async fn add_token_for_password(
        &self,
        token: &NewToken,
        password: &str,
    ) -> Result<bool, StoreError> {
        let Some(account) = token.account else { return Ok(false) };
        let batch = Batch::default().and(lock_account(account)).and(sql(
            "insert into tokens (digest, app_id, account_id, scopes, created_at, expires_at) \
             select cast($1 as text), cast($2 as bigint), id, cast($4 as text), \
             cast($5 as bigint), cast($6 as bigint) \
             from accounts where id = $3 and password = $7 returning digest",
            [
                token.digest.into(),
                token.app.into(),
                account.into(),
                token.scopes.as_str().into(),
                token.created_at.into(),
                token.expires_at.into(),
                password.into(),
            ],
        ));
        let [_, added] = self.write_rows(batch).await?;
        Ok(!added.is_empty())
    }

    /// What is known of a token: also of one that is revoked, expired or of a disabled account.
    pub async fn token(&self, digest: Digest) -> Result<Option<Arc<Token>>, StoreError> {
        if let Some(known) = self.cache.token(&digest) {
            return Ok(Some(known));
        }
        let epoch = self.cache.token_epoch(&digest);
        let found = self
            .read_one(
                sql(
                    "select t.app_id, a.id, a.name, a.disabled_at, t.scopes, t.created_at, \
                     t.expires_at, t.revoked_at, p.disabled_at \
                     from tokens t join apps p on p.id = t.app_id \
                     left join accounts a on a.id = t.account_id where t.digest = $1",
                    [digest.into()],
                ),
                read_token,
            )
            .await?
            .map(Arc::new);
        if let Some(token) = &found {
            self.cache.insert_token(digest, token, epoch);
        }
        Ok(found)
    }

    /// What is known of a token without asking the database: nothing, unless it was asked before.
    #[must_use]
    pub fn cached_token(&self, digest: &Digest) -> Option<Arc<Token>> {
        self.cache.token(digest)
    }

    /// The scopes of every token, still good at this time, that an account has given an app.
    pub async fn granted_scopes(
        &self,
        account: i64,
        app: i64,
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let select = sql(
            "select distinct scopes from tokens where account_id = $1 and app_id = $2 \
             and revoked_at is null and (expires_at is null or expires_at > $3)",
            [account.into(), app.into(), now.into()],
        );
        self.engine.read(select).await?.into_iter().map(|mut row| row.take()).collect()
    }

    /// Revokes a token. One that is already revoked keeps the time of the first revocation.
    /// Whether there is such a token.
    pub async fn revoke_token(&self, digest: Digest, now: Timestamp) -> Result<bool, StoreError> {
        let batch = Batch::from(sql(
            "update tokens set revoked_at = coalesce(revoked_at, $2) where digest = $1 \
             returning digest",
            [digest.into(), now.into()],
        ))
        .invalidating(Invalidation::Token(digest));
        let [found] = self.write_rows(batch).await?;
        Ok(!found.is_empty())
    }
}
