//! Authorization codes: issued once, spent once.

use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::accounts::lock_account;
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};

/// A code as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The app it was issued to.
    pub app: i64,
    /// The account that granted it.
    pub account: i64,
    /// The granted scopes, separated by spaces.
    pub scopes: String,
    /// What the token request must match, as JSON.
    pub details: String,
    /// From when on it is no good.
    pub expires_at: Timestamp,
    /// The digest of the token it was spent for.
    pub token: Option<Digest>,
}

/// How a user agreed to a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    /// The session in which they did.
    pub session: Digest,
    /// The time, if they were not asked because the app has access already.
    pub unasked: Option<Timestamp>,
}

impl Code {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            app: row.take()?,
            account: row.take()?,
            scopes: row.take()?,
            details: row.take()?,
            expires_at: row.take()?,
            token: row.take()?,
        })
    }
}

impl Store {
    /// Remembers a code that a user agreed to, unless the session is over by now or, where they were
    /// not asked, the app has no access any more. Whether it is remembered.
    pub async fn add_code(
        &self,
        digest: Digest,
        code: &Code,
        consent: Consent,
    ) -> Result<bool, StoreError> {
        let batch = Batch::default().and(lock_account(code.account)).and(sql(
            "insert into codes (digest, app_id, account_id, scopes, details, expires_at) \
             select cast($1 as text), cast($2 as bigint), account_id, cast($4 as text), \
             cast($5 as text), cast($6 as bigint) \
             from sessions where digest = $7 and account_id = $3 \
             and (cast($8 as bigint) is null or exists (select 1 from tokens \
             where account_id = $3 and app_id = $2 and revoked_at is null \
             and (expires_at is null or expires_at > $8))) returning digest",
            [
                digest.into(),
                code.app.into(),
                code.account.into(),
                code.scopes.as_str().into(),
                code.details.as_str().into(),
                code.expires_at.into(),
                consent.session.into(),
                consent.unasked.into(),
            ],
        ));
        let [_, added] = self.write_rows(batch).await?;
        Ok(!added.is_empty())
    }

    /// What is known of a code, spent or not.
    pub async fn code(&self, digest: Digest) -> Result<Option<Code>, StoreError> {
        let select = sql(
            "select app_id, account_id, scopes, details, expires_at, token from codes \
             where digest = $1",
            [digest.into()],
        );
        self.read_one(select, Code::read).await
    }

    /// Spends a code for a token: of many who try, one succeeds and its token is issued; the
    /// others get `false` and nothing is issued. The token takes its app, account and scopes
    /// from the code.
    pub async fn redeem_code(
        &self,
        digest: Digest,
        token: Digest,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let batch = Batch::default()
            .and(sql(
                "update codes set used_at = $2, token = $3 \
                 where digest = $1 and used_at is null and expires_at > $2 returning digest",
                [digest.into(), now.into(), token.into()],
            ))
            // The token's digest is fresh, so only the one who spent the code finds it here.
            .and(sql(
                "insert into tokens (digest, app_id, account_id, scopes, created_at, expires_at) \
                 select token, app_id, account_id, scopes, used_at, cast($3 as bigint) \
                 from codes where digest = $1 and token = $2",
                [digest.into(), token.into(), expires_at.into()],
            ));
        let [spent, _] = self.write_rows(batch).await?;
        Ok(!spent.is_empty())
    }
}
