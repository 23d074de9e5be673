//! `/oauth/sign_out`: ending the session of a browser.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::oauth::form::Pairs;

use super::sign_in::rebind_request;
use crate::http::error::PageError;
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::{Form, Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::paths::{ACCOUNT, SIGN_IN, SIGN_OUT};
use crate::http::respond::page::{FormTargets, redirect, respond, show_page, with_language};
use crate::pages::SignedOutPage;

/// `GET /oauth/sign_out`: the page after signing out. A GET does not sign out, since links and
/// images on other sites can cause one.
pub(crate) async fn sign_out_page(session: BrowserSession, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    if session.account().is_some() {
        return respond(&session, lang, redirect(&session, &with_language(ACCOUNT, lang)));
    }
    let sign_in = with_language(SIGN_IN, lang);
    let page = SignedOutPage { layout: session.layout(lang), sign_in: &sign_in };
    respond(&session, lang, show_page(&session, StatusCode::OK, &page, FormTargets::SameOrigin))
}

/// `POST /oauth/sign_out`: ends the session. A pending authorization continues with the account
/// that signs in next.
pub(crate) async fn sign_out(
    mut session: BrowserSession,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let result = handle_sign_out(&mut session, lang, &pairs).await;
    respond(&session, lang, result)
}

async fn handle_sign_out(
    session: &mut BrowserSession,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    session.check_form(pairs)?;
    let before = session.hashed_cookie();
    session.sign_out().await?;
    let mut response = match value(pairs, "request") {
        "" => redirect(session, &with_language(SIGN_OUT, lang))?,
        handle => rebind_request(session, handle, before, None).await?,
    };
    let remove_code = Cookie::Code.remove(&session.state.base_url);
    response.headers_mut().append(header::SET_COOKIE, remove_code);
    Ok(response)
}
