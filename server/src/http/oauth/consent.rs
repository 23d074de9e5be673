//! The page that asks whether an app may be let in.

use axum::http::StatusCode;
use axum::response::Response;

use crate::http::error::PageError;
use crate::http::extract::session::BrowserSession;
use crate::http::oauth::pending::PendingAuthorization;
use crate::http::paths;
use crate::http::respond::page::show;
use crate::pages::{ConsentPage, Form};

/// Asks the user.
pub(crate) async fn ask(
    session: &BrowserSession,
    pending: &mut PendingAuthorization,
) -> Result<Response, PageError> {
    let handle = pending.handle(session).await?;
    let account = session.account().ok_or(PageError::Expired)?;
    let asked = pending.request.requested.as_ref().map_err(|refusal| *refusal)?;
    let csrf = session.csrf();
    let form = |action| Form { action, csrf: &csrf, request: Some(handle.reveal()) };
    let page = ConsentPage {
        layout: session.layout(pending.lang()),
        form: form(paths::AUTHORIZE),
        switch: form(paths::SIGN_OUT),
        app: &pending.app.details,
        account: &account.name,
        scopes: &asked.scopes,
        redirect_uri: &pending.request.target.redirect_uri,
    };
    show(session, StatusCode::OK, &page, pending.forms())
}
