//! The consent page.

use axum::http::StatusCode;
use axum::response::Response;

use crate::http::error::PageError;
use crate::http::extract::session::BrowserSession;
use crate::http::oauth::pending::PendingAuthorization;
use crate::http::paths;
use crate::http::respond::page::show_page;
use crate::pages::{ConsentPage, Form};

/// Shows the consent page of an authorization.
pub(crate) async fn show_consent_page(
    session: &BrowserSession,
    pending: &mut PendingAuthorization,
) -> Result<Response, PageError> {
    let handle = pending.handle(session).await?;
    let account = session.account().ok_or(PageError::Expired)?;
    let requested = pending.request.requested.as_ref().map_err(|error| *error)?;
    let csrf = session.csrf_token();
    let form = |action| Form { action, csrf: &csrf, request: Some(handle.reveal()) };
    let page = ConsentPage {
        layout: session.layout(pending.lang()),
        form: form(paths::AUTHORIZE),
        switch: form(paths::SIGN_OUT),
        app: &pending.app.details,
        account: &account.name,
        scopes: &requested.scopes,
        redirect_uri: &pending.request.target.redirect_uri,
    };
    show_page(session, StatusCode::OK, &page, pending.forms())
}
