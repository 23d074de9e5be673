//! Whether a password is that of an account: for the page that asks for it and for Matrix clients.

use belfry_core::secret::Secret;

use super::Belfry;
use crate::passwords::{Busy, is_weak};
use crate::store::Account;

/// Whether this is the account's password. Nobody's costs the same time, so that the time does not
/// tell who has an account.
pub(super) async fn is_right(
    belfry: &Belfry,
    account: Option<&Account>,
    password: Secret,
) -> Result<bool, Busy> {
    let hash = account.map(|account| account.password.clone());
    let right = belfry.passwords.verify(password.clone(), hash).await?;
    if let Some(account) = account.filter(|account| right && is_weak(&account.password)) {
        strengthen(belfry, account, password).await;
    }
    Ok(right)
}

/// Hashes a password as it is done today. If that fails, there is a next time.
async fn strengthen(belfry: &Belfry, account: &Account, password: Secret) {
    let Ok(hash) = belfry.passwords.hash(password).await else { return };
    match belfry.store.rehash_password(account.id, &account.password, &hash).await {
        Ok(_) => tracing::info!(account = account.id, "a password was hashed anew"),
        Err(error) => tracing::warn!(%error, "a password could not be hashed anew"),
    }
}
