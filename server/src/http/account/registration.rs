//! Account creation for the sign-up page and Mastodon's API.

use belfry_core::account::FieldError;
use belfry_core::account::sign_up::{Field, InvalidField, NewAccount, SignUp};
use belfry_core::audit::AuditKind;
use belfry_core::validation::ValidationErrors;
use belfry_store::Email;

use crate::app::AppState;
use crate::auth::authentication::{AuthenticationProof, SignUpError};
use crate::http::extract::audit::RequestAudit;

/// The error for a user name that another account has or had.
pub(crate) const NAME_TAKEN: InvalidField =
    InvalidField { field: Field::Username, error: FieldError::Taken };

/// Validates the fields of a sign-up. Names reserved for application services are rejected;
/// existing accounts are not looked up.
pub(crate) fn validate_sign_up(
    state: &AppState,
    sign_up: SignUp,
) -> Result<NewAccount, ValidationErrors<InvalidField>> {
    sign_up.validate(|name| state.application_services.is_reserved(name, state.server_name()))
}

pub(crate) async fn create_account(
    state: &AppState,
    audit: &RequestAudit,
    new_account: NewAccount,
) -> Result<AuthenticationProof, SignUpError> {
    let (name, email, password) = new_account.into_parts();
    let events = audit.success_event(AuditKind::SignUp).into();
    // Unverified addresses need not be unique: a uniqueness error would reveal that the address
    // has an account.
    let email = email.map(Email::Unverified);
    state.authenticator().sign_up(&events, name, email, Some(password)).await
}
