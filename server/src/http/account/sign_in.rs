//! `/oauth/sign_in`: signing in with a password.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::Pairs;
use belfry_core::secret::{HashedSecret, Secret, SplitToken};

use crate::app::AppState;
use crate::http::account::password::verify_password;
use crate::http::error::{PageError, SignInError};
use crate::http::extract::form::{Form, value};
use crate::http::extract::session::BrowserSession;
use crate::http::layer::rate_limit::guard::AbuseGuard;
use crate::http::oauth::pending::{PendingAuthorization, resume_path};
use crate::http::paths::{ACCOUNT, SIGN_IN};
use crate::http::respond::page::{FormTargets, redirect, respond, show_page, with_language};
use crate::pages::{self, SignInPage};
use crate::passwords::HashQueueFull;
use crate::store::{Account, SignInOutcome, StoreError, UpdateOutcome};

/// `GET /oauth/sign_in`: redirects to the account if the browser is signed in.
pub(crate) async fn sign_in_page(session: BrowserSession) -> Response {
    let result = match session.account() {
        None => show_sign_in_page(&session, None, "", None).await,
        Some(_) => redirect(&session, &with_language(ACCOUNT, session.lang)),
    };
    respond(&session, result)
}

/// Shows the sign-in page, also for a pending authorization and after a failed attempt.
pub(crate) async fn show_sign_in_page(
    session: &BrowserSession,
    mut pending: Option<&mut PendingAuthorization>,
    name: &str,
    failed: Option<SignInError>,
) -> Result<Response, PageError> {
    let handle = match &mut pending {
        Some(pending) => Some(pending.handle(session).await?),
        None => None,
    };
    let pending = pending.as_deref();
    let action = with_language(SIGN_IN, session.lang.filter(|_| pending.is_none()));
    let csrf = session.csrf_token();
    let request = handle.as_ref().map(SplitToken::reveal);
    let page = SignInPage {
        layout: session.layout(pending.map_or(session.lang, PendingAuthorization::lang)),
        form: pages::Form { action: &action, csrf: &csrf, request },
        app: pending.map(|pending| pending.app.details.name.as_str()),
        name,
        alert: failed.map(SignInError::alert),
    };
    let forms = pending.map_or(FormTargets::SameOrigin, PendingAuthorization::forms);
    let status = failed.map_or(StatusCode::OK, SignInError::status);
    let mut response = show_page(session, status, &page, forms)?;
    if let Some(wait) = failed.and_then(SignInError::retry_after) {
        response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
    }
    Ok(response)
}

/// `POST /oauth/sign_in`: verifies the password and starts a session, in the language of the page.
pub(crate) async fn sign_in(
    mut session: BrowserSession,
    guard: AbuseGuard,
    Form(pairs): Form,
) -> Response {
    let result = handle_sign_in(&mut session, &guard, &pairs).await;
    respond(&session, result)
}

async fn handle_sign_in(
    session: &mut BrowserSession,
    guard: &AbuseGuard,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let (handle, name) = (value(pairs, "request"), value(pairs, "username").trim());
    if let Err(forged) = session.check_form(pairs) {
        return if is_repeat_submission(session, name) {
            redirect_signed_in(session, handle).await
        } else {
            Err(forged)
        };
    }
    let mut pending = match handle {
        "" => None,
        handle => Some(PendingAuthorization::load(session, handle).await?),
    };
    let password = Secret::new(value(pairs, "password"));
    let failed = match authenticate(&session.state, guard, name, password).await? {
        Authentication::Failed(failed) => failed,
        Authentication::Verified(account) => {
            let (before, id) = (session.hashed_cookie(), account.id);
            let lang = pending.as_ref().map_or(session.lang, PendingAuthorization::lang);
            match (session.sign_in(account, lang).await?, pending.as_mut()) {
                (SignInOutcome::PasswordChanged, _) => SignInError::WrongPassword,
                (SignInOutcome::SignedIn, None) => return redirect(session, ACCOUNT),
                (SignInOutcome::SignedIn, Some(pending)) => {
                    let handle = pending.handle(session).await?;
                    return rebind_request(session, handle.reveal(), before, Some(id)).await;
                }
            }
        }
    };
    show_sign_in_page(session, pending.as_mut(), name, Some(failed)).await
}

/// Whether this account is signed in already, as after a double submit of the form: the first
/// submission replaced the cookie that the CSRF token of the second is derived from.
fn is_repeat_submission(session: &BrowserSession, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named =
        |account: &Account| account.name == name || account.email.as_ref() == Some(&name);
    session.is_same_origin && session.account().is_some_and(is_named)
}

/// Redirects a browser that is signed in. It changes nothing, so no CSRF token is required.
async fn redirect_signed_in(session: &BrowserSession, handle: &str) -> Result<Response, PageError> {
    if handle.is_empty() {
        return redirect(session, ACCOUNT);
    }
    PendingAuthorization::load(session, handle).await?;
    redirect(session, &resume_path(handle))
}

/// Binds an authorization request to the new cookie of the browser, and continues with it.
pub(crate) async fn rebind_request(
    session: &BrowserSession,
    handle: &str,
    before: HashedSecret,
    account: Option<i64>,
) -> Result<Response, PageError> {
    let store = &session.state.store;
    let parsed = SplitToken::parse(handle).ok_or(PageError::Expired)?.hashed();
    match store.rebind_request(parsed, before, session.hashed_cookie(), account).await? {
        UpdateOutcome::Updated => redirect(session, &resume_path(handle)),
        UpdateOutcome::NotFound => Err(PageError::Expired),
    }
}

/// The outcome of a sign-in attempt.
enum Authentication {
    Verified(Account),
    Failed(SignInError),
}

/// Finds the account of a name or e-mail address and verifies its password. An unknown name costs
/// the same time as a wrong password.
async fn authenticate(
    state: &AppState,
    guard: &AbuseGuard,
    name: &str,
    password: Secret,
) -> Result<Authentication, StoreError> {
    if let Err(exceeded) = guard.sign_in(name).await {
        return Ok(Authentication::Failed(SignInError::TooMany(exceeded.retry_after)));
    }
    let account = if name.contains('@') {
        state.store.account_by_email(name).await?
    } else {
        // Names are lower case, but phone keyboards capitalise the first letter.
        state.store.account_by_name(&name.to_lowercase()).await?
    };
    Ok(match verify_password(state, account, password).await {
        Ok(Some(account)) if account.disabled_at.is_none() => Authentication::Verified(account),
        Ok(_) => Authentication::Failed(SignInError::WrongPassword),
        Err(HashQueueFull) => Authentication::Failed(SignInError::Busy),
    })
}
