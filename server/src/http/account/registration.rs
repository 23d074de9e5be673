//! Creating an account for a person, for the sign-up page and Mastodon's API.

use belfry_core::audit::AuditKind;
use belfry_core::oauth::account::{FieldError, Role};
use belfry_core::oauth::sign_up::{AccountError, Field, SignUp};
use belfry_core::oauth::validation::ValidationErrors;
use belfry_store::{Account, AddAccountError, Email, StoreError};

use crate::app::AppState;
use crate::auth::passwords::HashQueueFull;
use crate::http::extract::audit::Audit;

/// Why a valid sign-up created no account.
pub(crate) enum RegistrationError {
    /// A field, because of another account.
    Rejected(AccountError),
    /// Too many passwords are being hashed.
    Busy(HashQueueFull),
    /// The store failed.
    Store(StoreError),
}

/// Validates the fields of a sign-up. This says nothing about existing accounts.
pub(crate) fn validate(
    state: &AppState,
    sign_up: SignUp,
) -> Result<SignUp, ValidationErrors<AccountError>> {
    let valid = sign_up.validate()?;
    if state.application_services.is_reserved(&valid.username, state.server_name()) {
        let (field, error) = (Field::Username, FieldError::Reserved);
        return Err(ValidationErrors(vec![AccountError { field, error }]));
    }
    Ok(valid)
}

/// Creates the account of a valid sign-up. A taken name costs the same time as a free one.
pub(crate) async fn register(
    state: &AppState,
    audit: &Audit,
    valid: SignUp,
) -> Result<Account, RegistrationError> {
    let SignUp { username, email, password, .. } = valid;
    let hash = state.passwords.hash(password).await.map_err(RegistrationError::Busy)?;
    let (events, now) = (audit.success(AuditKind::SignUp).into(), state.clock.now());
    // Another account may have the same unverified address. An error would reveal that it exists.
    let email = Some(Email::Unverified(email));
    let created = state.store.create_account(&events, now, username, email, hash, Role::User);
    created.await.map_err(|error| {
        if let AddAccountError::Store(error) = error {
            return RegistrationError::Store(error);
        }
        let (field, error) = (Field::Username, FieldError::Taken);
        RegistrationError::Rejected(AccountError { field, error })
    })
}
