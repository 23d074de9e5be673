//! Deleting the account after a waiting period, and cancelling that.

use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::account::DELETION_DELAY;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::oauth::token::expiry;
use belfry_core::secret::Secret;
use belfry_store::AccountUpdate;

use super::{confirm_password, show};
use crate::auth::authentication::AuthenticationError;
use crate::http::error::PageError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_to_sign_in, redirect_with_notice, respond};
use crate::pages::{AccountSection, Notice, SecurityError};
use crate::paths::{ACCOUNT_SECURITY, with_language};

/// `POST /oauth/account/security/delete`: requests the deletion of the account, after its password
/// was entered again.
pub(crate) async fn request_deletion(
    session: BrowserSession,
    guard: AbuseGuard,
    Form(pairs): Form,
) -> Response {
    let result = handle_request(&session, &guard, &pairs).await;
    respond(&session, result)
}

async fn handle_request(
    session: &BrowserSession,
    guard: &AbuseGuard,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let Some(account) = session.account() else {
        let notice = Some(Notice::NotSaved);
        return redirect_to_sign_in(session, AccountSection::Security, notice);
    };
    session.check_form(pairs)?;
    let (password, kind) =
        (Secret::new(last_value(pairs, "password")), AuditKind::AccountDeleteRequest);
    let verified = match confirm_password(session, guard, account, password, Some(kind)).await? {
        Ok(verified) => verified,
        Err(failed) => return show(session, Some(SecurityError::Deletion(failed))).await,
    };
    let (store, events) = (&session.state.store, session.audit.success(kind).into());
    let delete_at = expiry(session.state.clock.now(), DELETION_DELAY);
    let failed = match store.request_account_deletion(&events, &verified.account, delete_at).await?
    {
        AccountUpdate::Updated => {
            // The page shows when the account is deleted.
            return redirect(session, &with_language(ACCOUNT_SECURITY, session.lang));
        }
        AccountUpdate::LastAdmin => SecurityError::LastAdmin,
        AccountUpdate::NotFound => SecurityError::Deletion(AuthenticationError::WrongPassword),
    };
    show(session, Some(failed)).await
}

/// `POST /oauth/account/security/keep`: cancels the deletion of the account.
pub(crate) async fn keep_account(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            let notice = Some(Notice::NotSaved);
            return redirect_to_sign_in(&session, AccountSection::Security, notice);
        };
        session.check_form(&pairs)?;
        let events = session.audit.success(AuditKind::AccountDeleteCancel).into();
        session.state.store.cancel_account_deletion(&events, account.id).await?;
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::AccountKept)
    };
    respond(&session, result.await)
}
