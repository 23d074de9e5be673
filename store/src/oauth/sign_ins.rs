//! Sign-ins that wait for a second factor.

use belfry_core::account::authentication::AuthenticationMethods;
use belfry_core::secret::{HashedSecret, LookupKey};
use jiff::Timestamp;

use crate::engine::{from_row, sql};
use crate::error::StoreError;
use crate::store::{Change, Store, WriteOutcome};

/// A sign-in after the first factor, such as the password. It is not a session: it gives no access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSignIn {
    pub account_id: i64,
    /// The account's credential version when the first factor was verified.
    pub credential_version: i64,
    /// The methods that the person has used so far.
    pub methods: AuthenticationMethods,
    pub expires_at: Timestamp,
}

from_row!(PendingSignIn: account_id, credential_version, methods, expires_at);

impl Store {
    /// Adds a sign-in, if the account still has the credential version that was verified, and is
    /// not disabled.
    pub async fn add_pending_sign_in(
        &self,
        secret: HashedSecret,
        sign_in: &PendingSignIn,
    ) -> Result<WriteOutcome, StoreError> {
        let insert = sql!(
            r"
                insert into sign_ins (lookup, digest, account_id, credential_version, methods,
                    expires_at, attempts)
                select cast($lookup as text), cast($digest as text), id, credential_version,
                    cast($methods as text), cast($expires_at as bigint), 0
                from accounts
                where id = $account_id
                  and credential_version = $credential_version
                  and disabled_at is null
                returning lookup
            ",
            [
                lookup = secret.lookup_key,
                digest = secret.digest,
                account_id = sign_in.account_id,
                credential_version = sign_in.credential_version,
                methods = sign_in.methods.clone(),
                expires_at = sign_in.expires_at
            ]
        );
        let [inserted_rows] = self.write_rows(Change::unaudited(insert)).await?;
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Counts an attempt at the second factor and returns the sign-in. Returns `None` after
    /// `max_attempts`, when it has expired, and if the account has new credentials.
    pub async fn attempt_pending_sign_in(
        &self,
        secret: HashedSecret,
        max_attempts: i64,
        now: Timestamp,
    ) -> Result<Option<PendingSignIn>, StoreError> {
        let select = sql!(
            r"
                select digest, account_id, credential_version, methods, expires_at
                from sign_ins
                where lookup = $lookup
            ",
            [lookup = secret.lookup_key]
        );
        let Some(sign_in) = self.read_secret(secret, select).await? else { return Ok(None) };
        let count_attempt = sql!(
            r"
                update sign_ins
                set attempts = attempts + 1
                where lookup = $lookup
                  and attempts < $max_attempts
                  and expires_at > $now
                  and exists (
                      select 1
                      from accounts a
                      where a.id = sign_ins.account_id
                        and a.credential_version = sign_ins.credential_version
                        and a.disabled_at is null
                  )
                returning lookup
            ",
            [lookup = secret.lookup_key, max_attempts, now]
        );
        let [updated_rows] = self.write_rows(Change::unaudited(count_attempt)).await?;
        Ok((!updated_rows.is_empty()).then_some(sign_in))
    }

    /// Deletes a sign-in that has become a session. Only one of several concurrent calls returns
    /// `true`.
    pub async fn end_pending_sign_in(&self, lookup_key: LookupKey) -> Result<bool, StoreError> {
        let delete = sql!(
            "delete from sign_ins where lookup = $lookup returning lookup",
            [lookup = lookup_key]
        );
        let [deleted_rows] = self.write_rows(Change::unaudited(delete)).await?;
        Ok(!deleted_rows.is_empty())
    }
}
