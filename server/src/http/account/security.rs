//! `/oauth/account/security`: password, e-mail address, sessions, data and deletion of the account.

mod data;

use std::future::ready;

use axum::response::Response;
use belfry_core::account::{DELETION_DELAY, check_email, check_password};
use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::form::{Pairs, last_value};
use belfry_core::oauth::token::expiry_after;
use belfry_core::secret::{LookupKey, Secret};
use belfry_store::{Account, AccountUpdateOutcome, WriteOutcome};

pub(crate) use self::data::download_data;
use crate::auth::authentication::{AuthenticationError, AuthenticationProof, Guess, VerifyError};
use crate::http::error::{PageError, SubmitError, security_status};
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{
    redirect, redirect_with_notice, render_page, respond, respond_with, with_retry_after,
};
use crate::pages::{self, AccountSection, MAX_SESSIONS, Notice, SecurityFormError, SecurityPage};
use crate::paths::{ACCOUNT_SECURITY, END_SESSION, SIGN_OUT, with_language};

/// `GET /oauth/account/security`: redirects to the sign-in page unless the browser is signed in.
pub(crate) async fn get_security_page(session: BrowserSession) -> Response {
    respond(&session, render_security_page(&session, None, &[]).await)
}

/// Renders the page; after a rejected form, with the form's errors and the entered e-mail address.
async fn render_security_page(
    session: &BrowserSession,
    entered_email: Option<&str>,
    errors: &[SecurityFormError],
) -> Result<Response, PageError> {
    let account = session.require_account(AccountSection::Security)?;
    // One more than the page shows, so that the page can say that there are more.
    let max_sessions = i64::try_from(MAX_SESSIONS + 1).unwrap_or(i64::MAX);
    let mut sessions =
        session.state.store.account_sessions(account.id, session.now, max_sessions).await?;
    let current_session = session.hashed_cookie().lookup_key;
    sessions.sort_by_key(|session| session.lookup_key != current_session);
    let csrf = session.csrf_token();
    let end_session_path = with_language(END_SESSION, session.lang);
    let page = SecurityPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Security),
        account: &account.name,
        email: entered_email
            .or(account.email.as_deref())
            .or(account.unverified_email.as_deref())
            .unwrap_or_default(),
        has_verified_email: account.email.is_some(),
        form: pages::Form { action: &end_session_path, csrf: &csrf, request: None },
        sessions: &sessions,
        current_session,
        now: session.now,
        errors,
    };
    let response = render_page(session, security_status(errors), &page, None)?;
    Ok(with_retry_after(response, errors.iter().find_map(|error| error.retry_after())))
}

/// Responds to a form that requires the password. If the form was rejected, the page is shown
/// again.
async fn respond_to_form(
    session: &BrowserSession,
    entered_email: Option<&str>,
    result: Result<Response, SubmitError<Vec<SecurityFormError>>>,
) -> Response {
    let result = match result {
        Ok(response) => Ok(response),
        Err(SubmitError::Rejected(errors)) => {
            render_security_page(session, entered_email, &errors).await
        }
        Err(SubmitError::Failed(error)) => Err(error),
    };
    respond(session, result)
}

/// `POST /oauth/account/security/password`: replaces the password, ends all other sessions and
/// revokes all tokens.
pub(crate) async fn change_password(
    session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    let result = submit_password_form(&session, &pairs).await;
    respond_to_form(&session, None, result).await
}

async fn submit_password_form(
    session: &BrowserSession,
    pairs: &Pairs,
) -> Result<Response, SubmitError<Vec<SecurityFormError>>> {
    let account = session.require_account_for_form(AccountSection::Security, pairs)?;
    let [current_password, new_password] =
        ["current_password", "new_password"].map(|name| Secret::new(last_value(pairs, name)));
    let mut errors = Vec::new();
    if let Err(error) = check_password(&new_password, account.identifiers()) {
        errors.push(SecurityFormError::NewPassword(error));
    }
    if last_value(pairs, "password_again") != new_password.reveal() {
        errors.push(SecurityFormError::DifferentPasswords);
    }
    let reject = |error| password_rejection(error, SecurityFormError::CurrentPassword);
    let kind = AuditKind::PasswordChange;
    let proof = confirm_password(session, account, current_password, kind).await.map_err(reject);
    if !errors.is_empty() {
        // All errors are reported together.
        if let Err(error) = proof {
            errors.splice(0..0, error.into_reason()?);
        }
        return Err(SubmitError::Rejected(errors));
    }
    replace_password(session, &proof?.account, new_password).await.map_err(reject)?;
    tracing::info!(account = %account.id, "password changed");
    Ok(redirect_with_notice(session, ACCOUNT_SECURITY, Notice::PasswordChanged)?)
}

/// `POST /oauth/account/security/email`: replaces the e-mail address, or removes it if the field
/// `email` is blank. Requires the password.
pub(crate) async fn change_email(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    let email = last_value(&pairs, "email").trim();
    let result = submit_email_form(&session, &pairs, email).await;
    respond_to_form(&session, Some(email), result).await
}

async fn submit_email_form(
    session: &BrowserSession,
    pairs: &Pairs,
    email: &str,
) -> Result<Response, SubmitError<Vec<SecurityFormError>>> {
    let account = session.require_account_for_form(AccountSection::Security, pairs)?;
    let email = Some(email).filter(|email| !email.is_empty());
    if let Some(error) = email.and_then(|email| check_email(email).err()) {
        return Err(SubmitError::Rejected(vec![SecurityFormError::Email(error)]));
    }
    let password = Secret::new(last_value(pairs, "current_password"));
    let kind = AuditKind::EmailChange;
    let proof = confirm_password(session, account, password, kind)
        .await
        .map_err(|error| password_rejection(error, SecurityFormError::EmailPassword))?;
    // An unchanged address stays verified.
    if email.is_none() || email.map(str::to_lowercase) != account.email {
        let events = session.success_event(kind).into();
        let store = &session.state.store;
        let outcome = store.change_email(&events, &proof.account, email).await?;
        if outcome == WriteOutcome::NotFound {
            let reason = SecurityFormError::EmailPassword(AuthenticationError::WrongPassword);
            return Err(SubmitError::Rejected(vec![reason]));
        }
    }
    Ok(redirect_with_notice(session, ACCOUNT_SECURITY, Notice::EmailChanged)?)
}

/// Returns the error for a form whose password was not verified.
fn password_rejection(
    error: VerifyError,
    to_security_error: fn(AuthenticationError) -> SecurityFormError,
) -> SubmitError<Vec<SecurityFormError>> {
    match error {
        VerifyError::Rejected(error) => SubmitError::Rejected(vec![to_security_error(error)]),
        VerifyError::Store(error) => error.into(),
    }
}

/// Stores a new password, unless the old one has changed since it was verified.
async fn replace_password(
    session: &BrowserSession,
    verified_account: &Account,
    new_password: Secret,
) -> Result<(), VerifyError> {
    let hash_result = session.state.passwords.hash(new_password).await;
    let hash = hash_result.map_err(|_| VerifyError::Rejected(AuthenticationError::Busy))?;
    let events = session.success_event(AuditKind::PasswordChange).into();
    let store = &session.state.store;
    let current_session = session.hashed_cookie().lookup_key;
    match store
        .change_password(&events, verified_account, &hash, current_session, session.now)
        .await?
    {
        WriteOutcome::Written => Ok(()),
        WriteOutcome::NotFound => Err(VerifyError::Rejected(AuthenticationError::WrongPassword)),
    }
}

/// Verifies the password that a signed-in user enters again. A wrong password is recorded as an
/// audit event of this kind.
async fn confirm_password(
    session: &BrowserSession,
    account: &Account,
    password: Secret,
    kind: AuditKind,
) -> Result<AuthenticationProof, VerifyError> {
    let guess = Guess::Confirmation(account.clone());
    let lookup = ready(Ok(Some(account.clone())));
    session.state.authenticator().verify(&session.guard, guess, kind, lookup, password).await
}

/// `POST /oauth/account/security/end_session`: ends the account's session with the lookup key in
/// the field `session`.
pub(crate) async fn end_session(
    mut session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    let result = async {
        let account = session.require_account_for_form(AccountSection::Security, &pairs)?;
        if let Some(lookup_key) = LookupKey::from_text(last_value(&pairs, "session")) {
            if lookup_key == session.hashed_cookie().lookup_key {
                session.sign_out().await?;
                return redirect(&session, &with_language(SIGN_OUT, session.lang));
            }
            let store = &session.state.store;
            store.end_session(&remote_sign_out_events(&session), account.id, lookup_key).await?;
        }
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::SessionEnded)
    }
    .await;
    respond(&session, result)
}

/// `POST /oauth/account/security/end_other_sessions`: ends all of the account's sessions
/// except this browser's.
pub(crate) async fn end_other_sessions(
    session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Security, &pairs)?;
        let current_session = session.hashed_cookie().lookup_key;
        let store = &session.state.store;
        let events = remote_sign_out_events(&session);
        store.end_other_sessions(&events, account.id, current_session, session.now).await?;
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::SessionsEnded)
    })
    .await
}

/// Returns the audit event for a user who ends sessions in other browsers.
fn remote_sign_out_events(session: &BrowserSession) -> NewAuditEvents {
    let detail = Some("another session".to_owned());
    NewAuditEvent { detail, ..session.success_event(AuditKind::SignOut) }.into()
}

/// `POST /oauth/account/security/delete`: requests the deletion of the account after a waiting
/// period. Requires the password.
pub(crate) async fn request_deletion(
    session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    let result = submit_deletion_form(&session, &pairs).await;
    respond_to_form(&session, None, result).await
}

async fn submit_deletion_form(
    session: &BrowserSession,
    pairs: &Pairs,
) -> Result<Response, SubmitError<Vec<SecurityFormError>>> {
    let account = session.require_account_for_form(AccountSection::Security, pairs)?;
    let password = Secret::new(last_value(pairs, "password"));
    let kind = AuditKind::AccountDeleteRequest;
    let proof = confirm_password(session, account, password, kind)
        .await
        .map_err(|error| password_rejection(error, SecurityFormError::Deletion))?;
    let store = &session.state.store;
    let events = session.success_event(kind).into();
    let delete_at = expiry_after(session.now, DELETION_DELAY);
    match store.request_account_deletion(&events, &proof.account, delete_at).await? {
        // The page shows when the account is deleted.
        AccountUpdateOutcome::Updated => {
            Ok(redirect(session, &with_language(ACCOUNT_SECURITY, session.lang))?)
        }
        AccountUpdateOutcome::LastAdmin => {
            Err(SubmitError::Rejected(vec![SecurityFormError::LastAdmin]))
        }
        AccountUpdateOutcome::NotFound => {
            let reason = SecurityFormError::Deletion(AuthenticationError::WrongPassword);
            Err(SubmitError::Rejected(vec![reason]))
        }
    }
}

/// `POST /oauth/account/security/keep`: cancels the deletion of the account.
pub(crate) async fn cancel_deletion(
    session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Security, &pairs)?;
        let events = session.success_event(AuditKind::AccountDeleteCancel).into();
        session.state.store.cancel_account_deletion(&events, account.id).await?;
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::DeletionCancelled)
    })
    .await
}
