//! Whether a password is that of an account: for the page that asks for it and for Matrix clients.

use belfry_core::secret::Secret;

use crate::app::AppState;
use crate::passwords::{Busy, is_weak};
use crate::store::Account;

/// The account, if this is its password. Nobody's costs the same time, so that the time does not
/// tell who has an account. What it opens must be opened with the hash that is given back: to
/// compare takes a while, in which the password may have become another.
pub(crate) async fn proved(
    state: &AppState,
    account: Option<Account>,
    password: Secret,
) -> Result<Option<Account>, Busy> {
    let hash = account.as_ref().map(|account| account.password.clone());
    let right = state.passwords.verify(password.clone(), hash).await?;
    match account.filter(|_| right) {
        Some(account) if is_weak(&account.password) => {
            Box::pin(strengthen(state, account, password)).await
        }
        proved => Ok(proved),
    }
}

/// Hashes a password as it is done today. If that fails, there is a next time.
async fn strengthen(
    state: &AppState,
    account: Account,
    password: Secret,
) -> Result<Option<Account>, Busy> {
    let Ok(hash) = state.passwords.hash(password.clone()).await else { return Ok(Some(account)) };
    match state.store.rehash_password(account.id, &account.password, &hash).await {
        Ok(true) => {
            tracing::info!(account = account.id, "a password was hashed anew");
            Ok(Some(Account { password: hash, ..account }))
        }
        // Somebody else did it in the same moment, or the account has another password.
        Ok(false) => match state.store.account(account.id).await {
            Ok(now) => proved(state, now, password).await,
            Err(_) => Ok(Some(account)),
        },
        Err(error) => {
            tracing::warn!(%error, "a password could not be hashed anew");
            Ok(Some(account))
        }
    }
}
