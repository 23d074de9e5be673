//! Signing in and out: `/oauth/sign_in`, `/oauth/sign_out`.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::Pairs;
use belfry_core::secret::{Digest, Secret};

use crate::app::AppState;
use crate::http::account::password::proved;
use crate::http::error::{PageError, SignInError};
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::{Form, Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::layer::rate_limit::guard::Guard;
use crate::http::oauth::pending::{PendingAuthorization, resume_path};
use crate::http::paths::{ACCOUNT, SIGN_IN, SIGN_OUT};
use crate::http::respond::page::{Forms, answer, in_language, redirect, show};
use crate::pages::{self, SignInPage, SignedOutPage};
use crate::passwords::Busy;
use crate::store::{Account, StoreError};

/// `GET /oauth/sign_in`: asks who is there. Who is already there sees their account.
pub(crate) async fn sign_in_page(session: BrowserSession, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    let outcome = match session.account() {
        None => ask(&session, lang, None, "", None).await,
        Some(_) => redirect(&session, &in_language(ACCOUNT, lang)),
    };
    answer(&session, lang, outcome)
}

/// Asks who is there, for a request or for its own sake.
pub(crate) async fn ask(
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
    let (csrf, action) = (session.csrf(), in_language(SIGN_IN, lang));
    let request = handle.as_ref().map(Secret::reveal);
    let page = SignInPage {
        layout: session.layout(pending.as_ref().map_or(lang, |pending| pending.lang())),
        form: pages::Form { action: &action, csrf: &csrf, request },
        app: pending.as_ref().map(|pending| pending.app.details.name.as_str()),
        name,
        alert: failed.map(SignInError::alert),
    };
    let forms = pending.as_ref().map_or(Forms::Stay, |pending| pending.forms());
    let status = failed.map_or(StatusCode::OK, SignInError::status);
    let mut answer = show(session, status, &page, forms)?;
    if let Some(wait) = failed.and_then(SignInError::wait) {
        answer.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
    }
    Ok(answer)
}

/// `POST /oauth/sign_in`: with the language that the page was asked for in, which is the session's
/// from now on.
pub(crate) async fn sign_in(
    mut session: BrowserSession,
    guard: Guard,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let outcome = let_in(&mut session, &guard, lang, &pairs).await;
    answer(&session, lang, outcome)
}

async fn let_in(
    session: &mut BrowserSession,
    guard: &Guard,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let (handle, name) = (value(pairs, "request"), value(pairs, "username").trim());
    if let Err(unchecked) = session.check(pairs) {
        return if is_already(session, name) {
            lead_on(session, handle).await
        } else {
            Err(unchecked)
        };
    }
    let mut pending = match handle {
        "" => None,
        handle => Some(PendingAuthorization::kept(session, Secret::new(handle)).await?),
    };
    let password = Secret::new(value(pairs, "password"));
    let account = match who(&session.state, guard, name, password).await? {
        Ok(account) => account,
        Err(failed) => return ask(session, lang, pending.as_mut(), name, Some(failed)).await,
    };
    let (before, id) = (session.digest(), account.id);
    let chosen = pending.as_ref().map_or(lang, |pending| pending.lang());
    if !session.sign_in(account, chosen).await? {
        let wrong = Some(SignInError::Wrong);
        return ask(session, lang, pending.as_mut(), name, wrong).await;
    }
    let Some(mut pending) = pending else { return redirect(session, ACCOUNT) };
    let handle = pending.handle(session).await?;
    hand_over(session, &handle, before, Some(id)).await
}

/// Whether who wants to sign in is signed in here: somebody who presses the button twice, and whose
/// second form is of the page before.
fn is_already(session: &BrowserSession, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named =
        |account: &Account| account.name == name || account.email.as_ref() == Some(&name);
    session.is_from_us() && session.account().is_some_and(is_named)
}

/// Leads somebody on who has signed in. It does nothing else, so it needs no form of ours.
async fn lead_on(session: &BrowserSession, handle: &str) -> Result<Response, PageError> {
    if handle.is_empty() {
        return redirect(session, ACCOUNT);
    }
    let handle = Secret::new(handle);
    PendingAuthorization::kept(session, handle.clone()).await?;
    redirect(session, &resume_path(&handle))
}

/// `GET /oauth/sign_out`: says that nobody is signed in, where that is so. Signing out itself takes
/// a form: a link or a picture on another site must not do it.
pub(crate) async fn sign_out_page(session: BrowserSession, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    if session.account().is_some() {
        return answer(&session, lang, redirect(&session, &in_language(ACCOUNT, lang)));
    }
    let sign_in = in_language(SIGN_IN, lang);
    let page = SignedOutPage { layout: session.layout(lang), sign_in: &sign_in };
    answer(&session, lang, show(&session, StatusCode::OK, &page, Forms::Stay))
}

/// `POST /oauth/sign_out`: ends the session. A request that waits goes on with whoever signs in
/// next.
pub(crate) async fn sign_out(
    mut session: BrowserSession,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let outcome = let_out(&mut session, lang, &pairs).await;
    answer(&session, lang, outcome)
}

async fn let_out(
    session: &mut BrowserSession,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    session.check(pairs)?;
    let before = session.digest();
    session.sign_out().await?;
    let mut answer = match value(pairs, "request") {
        "" => redirect(session, &in_language(SIGN_OUT, lang))?,
        handle => hand_over(session, &Secret::new(handle), before, None).await?,
    };
    let no_code = Cookie::Code.remove(&session.state.base_url);
    answer.headers_mut().append(header::SET_COOKIE, no_code);
    Ok(answer)
}

/// Binds a request to the browser's new cookie, and goes on with it.
async fn hand_over(
    session: &BrowserSession,
    handle: &Secret,
    before: Digest,
    account: Option<i64>,
) -> Result<Response, PageError> {
    let store = &session.state.store;
    if store.rebind_request(handle.digest(), before, session.digest(), account).await? {
        redirect(session, &resume_path(handle))
    } else {
        Err(PageError::Expired)
    }
}

/// Whose name and password these are. An unknown name costs the same time as a wrong password.
async fn who(
    state: &AppState,
    guard: &Guard,
    name: &str,
    password: Secret,
) -> Result<Result<Account, SignInError>, StoreError> {
    if let Err(refused) = guard.sign_in(name).await {
        return Ok(Err(SignInError::TooMany(refused.wait())));
    }
    let account = if name.contains('@') {
        state.store.account_by_email(name).await?
    } else {
        // Names have small letters only; a telephone begins with a capital one.
        state.store.account_by_name(&name.to_lowercase()).await?
    };
    Ok(match proved(state, account, password).await {
        Ok(account) => {
            let account = account.filter(|account| account.disabled_at.is_none());
            account.ok_or(SignInError::Wrong)
        }
        Err(Busy) => Err(SignInError::Busy),
    })
}
