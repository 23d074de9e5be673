//! Whether a password is that of an account: for the page that asks for it and for Matrix clients.

use belfry_core::secret::Secret;

use super::Belfry;
use crate::passwords::{Busy, is_weak};
use crate::store::Account;

/// The account, if this is its password. Nobody's costs the same time, so that the time does not
/// tell who has an account. What it opens must be opened with the hash that is given back: to
/// compare takes a while, in which the password may have become another.
pub(super) async fn proved(
    belfry: &Belfry,
    account: Option<Account>,
    password: Secret,
) -> Result<Option<Account>, Busy> {
    let hash = account.as_ref().map(|account| account.password.clone());
    let right = belfry.passwords.verify(password.clone(), hash).await?;
    match account.filter(|_| right) {
        Some(account) if is_weak(&account.password) => {
            Box::pin(strengthen(belfry, account, password)).await
        }
        proved => Ok(proved),
    }
}

/// Hashes a password as it is done today. If that fails, there is a next time.
async fn strengthen(
    belfry: &Belfry,
    account: Account,
    password: Secret,
) -> Result<Option<Account>, Busy> {
    let Ok(hash) = belfry.passwords.hash(password.clone()).await else { return Ok(Some(account)) };
    match belfry.store.rehash_password(account.id, &account.password, &hash).await {
        Ok(true) => {
            tracing::info!(account = account.id, "a password was hashed anew");
            Ok(Some(Account { password: hash, ..account }))
        }
        // Somebody else did it in the same moment, or the account has another password.
        Ok(false) => match belfry.store.account(account.id).await {
            Ok(now) => proved(belfry, now, password).await,
            Err(_) => Ok(Some(account)),
        },
        Err(error) => {
            tracing::warn!(%error, "a password could not be hashed anew");
            Ok(Some(account))
        }
    }
}
