//! Verifying passwords, for the sign-in page and for Matrix clients.

use belfry_core::limits::Network;
use belfry_core::secret::Secret;
use belfry_runtime::log_throttle::LogThrottle;
use belfry_store::{Account, NO_PASSWORD, UpdateOutcome};

use crate::app::AppState;
use crate::auth::passwords::{HashQueueFull, needs_rehash};

static REHASH_ERROR_LINES: LogThrottle = LogThrottle::new("failed to rehash a password");

/// Returns the account if this is its password. A missing account costs the same time, so that
/// timing does not reveal which accounts exist. The password may be changed during the
/// verification, so the caller must store a session or token only if the returned hash is current.
pub(crate) async fn verify_password(
    state: &AppState,
    account: Option<Account>,
    password: Secret,
    from: Network,
) -> Result<Option<Account>, HashQueueFull> {
    let hash = account.as_ref().map(|account| account.password.clone());
    let hash = hash.filter(|hash| hash != NO_PASSWORD);
    let is_correct = state.passwords.verify(password.clone(), hash, from).await?;
    match account.filter(|_| is_correct) {
        Some(account) if needs_rehash(&account.password, password.reveal()) => {
            Box::pin(rehash(state, account, password, from)).await
        }
        verified => Ok(verified),
    }
}

/// Replaces the hash of a password by one with the current parameters. After a failure, the next
/// sign-in tries again.
async fn rehash(
    state: &AppState,
    account: Account,
    password: Secret,
    from: Network,
) -> Result<Option<Account>, HashQueueFull> {
    let Ok(hash) = state.passwords.hash(password.clone()).await else { return Ok(Some(account)) };
    match state.store.rehash_password(account.id, &account.password, &hash).await {
        Ok(UpdateOutcome::Updated) => {
            tracing::info!(account = account.id, "rehashed a password");
            Ok(Some(Account { password: hash, ..account }))
        }
        // Another request rehashed it at the same time, or the password was changed.
        Ok(UpdateOutcome::NotFound) => match state.store.account(account.id).await {
            Ok(account) => verify_password(state, account, password, from).await,
            Err(_) => Ok(Some(account)),
        },
        Err(error) => {
            if REHASH_ERROR_LINES.admits() {
                tracing::warn!(%error, "failed to rehash a password");
            }
            Ok(Some(account))
        }
    }
}
