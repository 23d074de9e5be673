//! Creating an account for a person, for the sign-up page and Mastodon's API.

use belfry_core::audit::AuditKind;
use belfry_core::oauth::account::FieldError;
use belfry_core::oauth::sign_up::{AccountError, Field, SignUp};
use belfry_core::oauth::validation::ValidationErrors;
use belfry_store::Email;

use crate::app::AppState;
use crate::auth::authentication::{Authenticated, SignUpError};
use crate::http::extract::audit::Audit;

/// The error of a name that another account has.
pub(crate) const NAME_TAKEN: AccountError =
    AccountError { field: Field::Username, error: FieldError::Taken };

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

/// Creates the account of a valid sign-up.
pub(crate) async fn register(
    state: &AppState,
    audit: &Audit,
    valid: SignUp,
) -> Result<Authenticated, SignUpError> {
    let SignUp { username, email, password, .. } = valid;
    let events = audit.success(AuditKind::SignUp).into();
    // Another account may have the same unverified address. An error would reveal that it exists.
    let email = Some(Email::Unverified(email));
    state.authenticator().sign_up(&events, username, email, Some(password)).await
}
