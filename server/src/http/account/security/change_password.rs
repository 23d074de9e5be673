//! Changing the password.

use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::limits::CountMode;
use belfry_core::oauth::account::check_password;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::secret::Secret;
use belfry_store::{Account, StoreError, UpdateOutcome};

use super::{confirm_password, show};
use crate::auth::authentication::{AuthenticationError, Guess, GuessGuard};
use crate::http::error::PageError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect_to_sign_in, redirect_with_notice, respond};
use crate::pages::{AccountSection, Notice, SecurityError};
use crate::paths::ACCOUNT_SECURITY;

/// `POST /oauth/account/security/password`: replaces the password, ends all other sessions and
/// revokes all tokens.
pub(crate) async fn change_password(
    session: BrowserSession,
    guard: AbuseGuard,
    Form(pairs): Form,
) -> Response {
    let result = handle(&session, &guard, &pairs).await;
    respond(&session, result)
}

async fn handle(
    session: &BrowserSession,
    guard: &AbuseGuard,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let Some(account) = session.account() else {
        let notice = Some(Notice::NotSaved);
        return redirect_to_sign_in(session, AccountSection::Security, notice);
    };
    session.check_form(pairs)?;
    let [current, new] =
        ["current_password", "new_password"].map(|name| Secret::new(last_value(pairs, name)));
    if let Err(error) = check_password(&new) {
        return show(session, Some(SecurityError::NewPassword(error))).await;
    }
    if last_value(pairs, "password_again") != new.reveal() {
        return show(session, Some(SecurityError::DifferentPasswords)).await;
    }
    let kind = AuditKind::PasswordChange;
    let failed = match confirm_password(session, guard, account, current, Some(kind)).await? {
        Ok(verified) => match replace(session, &verified.account, new.clone()).await? {
            Ok(UpdateOutcome::Updated) => None,
            Ok(UpdateOutcome::NotFound) => Some(AuthenticationError::WrongPassword),
            Err(failed) => Some(failed),
        },
        Err(failed) => Some(failed),
    };
    match failed {
        // A double submit: the first one has already changed the password to the new one.
        Some(AuthenticationError::WrongPassword)
            if is_changed(session, guard, account.id, new).await? => {}
        Some(failed) => return show(session, Some(SecurityError::CurrentPassword(failed))).await,
        None => tracing::info!(account = account.name, "changed a password"),
    }
    redirect_with_notice(session, ACCOUNT_SECURITY, Notice::PasswordChanged)
}

/// Stores a new password, unless it was changed since it was verified.
async fn replace(
    session: &BrowserSession,
    verified: &Account,
    new: Secret,
) -> Result<Result<UpdateOutcome, AuthenticationError>, StoreError> {
    let Ok(hash) = session.state.passwords.hash(new).await else {
        return Ok(Err(AuthenticationError::Busy));
    };
    let events = session.audit.success(AuditKind::PasswordChange).into();
    let (store, now) = (&session.state.store, session.state.clock.now());
    let this = session.hashed_cookie().lookup;
    store.change_password(&events, verified, &hash, this, now).await.map(Ok)
}

/// Whether this is the password of the account by now. It costs as much as hashing a new password,
/// and counts as another attempt.
async fn is_changed(
    session: &BrowserSession,
    guard: &AbuseGuard,
    account: i64,
    new: Secret,
) -> Result<bool, StoreError> {
    let Some(account) = session.state.store.account(account).await? else { return Ok(false) };
    let is_changed = confirm_password(session, guard, &account, new, None).await?.is_ok();
    if is_changed {
        // The first attempt was not a guess either.
        let _ = guard.count(CountMode::Refund, Guess::Confirmation(&account)).await;
    }
    Ok(is_changed)
}
