//! `/oauth/sign_in`: signing in with a password.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::Pairs;
use belfry_core::secret::{HashedSecret, Secret, SplitToken};

use crate::app::AppState;
use crate::http::account::password::verify_password;
use crate::http::error::{PageError, SignInError};
use crate::http::extract::form::{Form, Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::layer::rate_limit::guard::Guard;
use crate::http::oauth::pending::{PendingAuthorization, resume_path};
use crate::http::paths::{ACCOUNT, SIGN_IN};
use crate::http::respond::page::{FormTargets, redirect, respond, show_page, with_language};
use crate::pages::{self, SignInPage};
use crate::passwords::Busy;
use crate::store::{Account, SignInOutcome, StoreError, UpdateOutcome};

/// `GET /oauth/sign_in`: redirects to the account if the browser is signed in.
pub(crate) async fn sign_in_page(session: BrowserSession, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    let result = match session.account() {
        None => show_sign_in_page(&session, lang, None, "", None).await,
        Some(_) => redirect(&session, &with_language(ACCOUNT, lang)),
    };
    respond(&session, lang, result)
}

/// Shows the sign-in page, also for a pending authorization and after a failed attempt.
pub(crate) async fn show_sign_in_page(
    session: &BrowserSession,
    lang: Option<&str>,
    mut pending: Option<&mut PendingAuthorization>,
    name: &str,
    failed: Option<SignInError>,
) -> Result<Response, PageError> {
    let handle = match &mut pending {
        Some(pending) => Some(pending.handle(session).await?),
        None => None,
    };
    let (csrf, action) = (session.csrf_token(), with_language(SIGN_IN, lang));
    let request = handle.as_ref().map(SplitToken::reveal);
    let page = SignInPage {
        layout: session.layout(pending.as_ref().map_or(lang, |pending| pending.lang())),
        form: pages::Form { action: &action, csrf: &csrf, request },
        app: pending.as_ref().map(|pending| pending.app.details.name.as_str()),
        name,
        alert: failed.map(SignInError::alert),
    };
    let forms = pending.as_ref().map_or(FormTargets::SameOrigin, |pending| pending.forms());
    let status = failed.map_or(StatusCode::OK, SignInError::status);
    let mut response = show_page(session, status, &page, forms)?;
    if let Some(wait) = failed.and_then(SignInError::wait) {
        response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
    }
    Ok(response)
}

/// `POST /oauth/sign_in`: the language of the page becomes the language of the session.
pub(crate) async fn sign_in(
    mut session: BrowserSession,
    guard: Guard,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let result = handle_sign_in(&mut session, &guard, lang, &pairs).await;
    respond(&session, lang, result)
}

async fn handle_sign_in(
    session: &mut BrowserSession,
    guard: &Guard,
    lang: Option<&str>,
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
    let account = match authenticate(&session.state, guard, name, password).await? {
        Ok(account) => account,
        Err(failed) => {
            return show_sign_in_page(session, lang, pending.as_mut(), name, Some(failed)).await;
        }
    };
    let (before, id) = (session.hashed_cookie(), account.id);
    let chosen = pending.as_ref().map_or(lang, |pending| pending.lang());
    if session.sign_in(account, chosen).await? == SignInOutcome::PasswordChanged {
        let failed = Some(SignInError::WrongPassword);
        return show_sign_in_page(session, lang, pending.as_mut(), name, failed).await;
    }
    let Some(mut pending) = pending else { return redirect(session, ACCOUNT) };
    let handle = pending.handle(session).await?;
    rebind_request(session, handle.reveal(), before, Some(id)).await
}

/// Whether this account is signed in already, as after a double submit of the form: the first
/// submission replaced the cookie that the CSRF token of the second is derived from.
fn is_repeat_submission(session: &BrowserSession, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named =
        |account: &Account| account.name == name || account.email.as_ref() == Some(&name);
    session.is_same_origin() && session.account().is_some_and(is_named)
}

/// Redirects a browser that is signed in. It changes nothing, so it needs no CSRF token.
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

/// Finds the account of a name or e-mail address and verifies its password. An unknown name costs
/// the same time as a wrong password.
async fn authenticate(
    state: &AppState,
    guard: &Guard,
    name: &str,
    password: Secret,
) -> Result<Result<Account, SignInError>, StoreError> {
    if let Err(exceeded) = guard.sign_in(name).await {
        return Ok(Err(SignInError::TooMany(exceeded.retry_after())));
    }
    let account = if name.contains('@') {
        state.store.account_by_email(name).await?
    } else {
        // Names are lower case, but phone keyboards capitalise the first letter.
        state.store.account_by_name(&name.to_lowercase()).await?
    };
    Ok(match verify_password(state, account, password).await {
        Ok(account) => {
            let account = account.filter(|account| account.disabled_at.is_none());
            account.ok_or(SignInError::WrongPassword)
        }
        Err(Busy) => Err(SignInError::Busy),
    })
}
