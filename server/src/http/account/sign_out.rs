//! `/oauth/sign_out`: ends a browser's session.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::form::last_value;

use super::sign_in::rebind_request;
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, render_page, respond};
use crate::pages::SignedOutPage;
use crate::paths::{ACCOUNT, SIGN_IN, SIGN_OUT, with_language};

/// `GET /oauth/sign_out`: the page after signing out; redirects to the account if the browser is
/// still signed in. A GET does not sign out, because links and images on other sites can cause one.
pub(crate) async fn get_sign_out_page(session: BrowserSession) -> Response {
    let result = if session.account().is_some() {
        redirect(&session, &with_language(ACCOUNT, session.lang))
    } else {
        let sign_in_path = &with_language(SIGN_IN, session.lang);
        let page = SignedOutPage { layout: session.layout(session.lang), sign_in_path };
        render_page(&session, StatusCode::OK, &page, None)
    };
    respond(&session, result)
}

/// `POST /oauth/sign_out`: ends the session. A pending authorization continues with the account
/// that signs in next.
pub(crate) async fn sign_out(mut session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    let result = async {
        session.check_form(&pairs)?;
        let old_cookie = session.hashed_cookie();
        session.sign_out().await?;
        let mut response = match last_value(&pairs, "request") {
            "" => redirect(&session, &with_language(SIGN_OUT, session.lang))?,
            handle => rebind_request(&session, handle, old_cookie, None).await?,
        };
        let removal_header = Cookie::Code.set_cookie_header(&session.state.base_url, "", 0);
        response.headers_mut().append(header::SET_COOKIE, removal_header);
        Ok(response)
    }
    .await;
    respond(&session, result)
}
