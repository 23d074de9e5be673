//! Signing in and out: `/oauth/sign_in`, `/oauth/sign_out`.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::form::Pairs;
use belfry_core::secret::{Digest, Secret};

use super::account::ACCOUNT;
use super::authorize::resume_path;
use super::cookie::Cookie;
use super::error::{PageError, SignInError};
use super::form::{Form, Query, value};
use super::page::{Forms, answer, in_language, redirect, show};
use super::password::proved;
use super::pending::Pending;
use super::visitor::Visitor;
use super::{Belfry, Guard};
use crate::pages::{self, SignInPage, SignedOutPage};
use crate::passwords::Busy;
use crate::store::{Account, StoreError};

pub(super) const SIGN_IN: &str = "/oauth/sign_in";
pub(super) const SIGN_OUT: &str = "/oauth/sign_out";

/// `GET /oauth/sign_in`: asks who is there. Who is already there sees their account.
pub(super) async fn sign_in_page(visitor: Visitor, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    let outcome = match visitor.account() {
        None => ask(&visitor, lang, None, "", None).await,
        Some(_) => redirect(&visitor, &in_language(ACCOUNT, lang)),
    };
    answer(&visitor, lang, outcome)
}

/// Asks who is there, for a request or for its own sake.
pub(super) async fn ask(
    visitor: &Visitor,
    lang: Option<&str>,
    mut pending: Option<&mut Pending>,
    name: &str,
    failed: Option<SignInError>,
) -> Result<Response, PageError> {
    let handle = match &mut pending {
        Some(pending) => Some(pending.handle(visitor).await?),
        None => None,
    };
    let (csrf, action) = (visitor.csrf(), in_language(SIGN_IN, lang));
    let request = handle.as_ref().map(Secret::reveal);
    let page = SignInPage {
        frame: visitor.frame(pending.as_ref().map_or(lang, |pending| pending.lang())),
        form: pages::Form { action: &action, csrf: &csrf, request },
        app: pending.as_ref().map(|pending| pending.app.details.name.as_str()),
        name,
        problem: failed.map(SignInError::problem),
    };
    let forms = pending.as_ref().map_or(Forms::Stay, |pending| pending.forms());
    let status = failed.map_or(StatusCode::OK, SignInError::status);
    let mut answer = show(visitor, status, &page, forms)?;
    if let Some(wait) = failed.and_then(SignInError::wait) {
        answer.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
    }
    Ok(answer)
}

/// `POST /oauth/sign_in`: with the language that the page was asked for in, which is the session's
/// from now on.
pub(super) async fn sign_in(
    mut visitor: Visitor,
    guard: Guard,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let outcome = let_in(&mut visitor, &guard, lang, &pairs).await;
    answer(&visitor, lang, outcome)
}

async fn let_in(
    visitor: &mut Visitor,
    guard: &Guard,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let (handle, name) = (value(pairs, "request"), value(pairs, "username").trim());
    if let Err(unchecked) = visitor.check(pairs) {
        return if is_already(visitor, name) {
            lead_on(visitor, handle).await
        } else {
            Err(unchecked)
        };
    }
    let mut pending = match handle {
        "" => None,
        handle => Some(Pending::kept(visitor, Secret::new(handle)).await?),
    };
    let password = Secret::new(value(pairs, "password"));
    let account = match who(&visitor.belfry, guard, name, password).await? {
        Ok(account) => account,
        Err(failed) => return ask(visitor, lang, pending.as_mut(), name, Some(failed)).await,
    };
    let (before, id) = (visitor.digest(), account.id);
    let chosen = pending.as_ref().map_or(lang, |pending| pending.lang());
    if !visitor.sign_in(account, chosen).await? {
        let wrong = Some(SignInError::Wrong);
        return ask(visitor, lang, pending.as_mut(), name, wrong).await;
    }
    let Some(mut pending) = pending else { return redirect(visitor, ACCOUNT) };
    let handle = pending.handle(visitor).await?;
    hand_over(visitor, &handle, before, Some(id)).await
}

/// Whether who wants to sign in is signed in here: somebody who presses the button twice, and whose
/// second form is of the page before.
fn is_already(visitor: &Visitor, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named =
        |account: &Account| account.name == name || account.email.as_ref() == Some(&name);
    visitor.is_from_us() && visitor.account().is_some_and(is_named)
}

/// Leads somebody on who has signed in. It does nothing else, so it needs no form of ours.
async fn lead_on(visitor: &Visitor, handle: &str) -> Result<Response, PageError> {
    if handle.is_empty() {
        return redirect(visitor, ACCOUNT);
    }
    let handle = Secret::new(handle);
    Pending::kept(visitor, handle.clone()).await?;
    redirect(visitor, &resume_path(&handle))
}

/// `GET /oauth/sign_out`: says that nobody is signed in, where that is so. Signing out itself takes
/// a form: a link or a picture on another site must not do it.
pub(super) async fn sign_out_page(visitor: Visitor, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    if visitor.account().is_some() {
        return answer(&visitor, lang, redirect(&visitor, &in_language(ACCOUNT, lang)));
    }
    let sign_in = in_language(SIGN_IN, lang);
    let page = SignedOutPage { frame: visitor.frame(lang), sign_in: &sign_in };
    answer(&visitor, lang, show(&visitor, StatusCode::OK, &page, Forms::Stay))
}

/// `POST /oauth/sign_out`: ends the session. A request that waits goes on with whoever signs in
/// next.
pub(super) async fn sign_out(
    mut visitor: Visitor,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let outcome = let_out(&mut visitor, lang, &pairs).await;
    answer(&visitor, lang, outcome)
}

async fn let_out(
    visitor: &mut Visitor,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    visitor.check(pairs)?;
    let before = visitor.digest();
    visitor.sign_out().await?;
    let mut answer = match value(pairs, "request") {
        "" => redirect(visitor, &in_language(SIGN_OUT, lang))?,
        handle => hand_over(visitor, &Secret::new(handle), before, None).await?,
    };
    let no_code = Cookie::Code.remove(&visitor.belfry.base_url);
    answer.headers_mut().append(header::SET_COOKIE, no_code);
    Ok(answer)
}

/// Binds a request to the browser's new cookie, and goes on with it.
async fn hand_over(
    visitor: &Visitor,
    handle: &Secret,
    before: Digest,
    account: Option<i64>,
) -> Result<Response, PageError> {
    let store = &visitor.belfry.store;
    if store.move_request(handle.digest(), before, visitor.digest(), account).await? {
        redirect(visitor, &resume_path(handle))
    } else {
        Err(PageError::Expired)
    }
}

/// Whose name and password these are. An unknown name costs the same time as a wrong password.
async fn who(
    belfry: &Belfry,
    guard: &Guard,
    name: &str,
    password: Secret,
) -> Result<Result<Account, SignInError>, StoreError> {
    if let Err(refused) = guard.sign_in(name).await {
        return Ok(Err(SignInError::TooMany(refused.wait())));
    }
    let account = if name.contains('@') {
        belfry.store.account_of_email(name).await?
    } else {
        // Names have small letters only; a telephone begins with a capital one.
        belfry.store.account_named(&name.to_lowercase()).await?
    };
    Ok(match proved(belfry, account, password).await {
        Ok(account) => {
            let account = account.filter(|account| account.disabled_at.is_none());
            account.ok_or(SignInError::Wrong)
        }
        Err(Busy) => Err(SignInError::Busy),
    })
}
