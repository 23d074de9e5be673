//! The page that asks whether an app may be let in.

use axum::http::StatusCode;
use axum::response::Response;

use super::error::PageError;
use super::page::show;
use super::pending::Pending;
use super::visitor::Visitor;
use crate::pages::{ConsentPage, Form};

/// Asks the user.
pub(super) async fn ask(visitor: &Visitor, pending: &mut Pending) -> Result<Response, PageError> {
    let handle = pending.handle(visitor).await?;
    let account = visitor.account().ok_or(PageError::Expired)?;
    let asked = pending.request.asked.as_ref().map_err(|refusal| *refusal)?;
    let csrf = visitor.csrf();
    let form = |action| Form { action, csrf: &csrf, request: Some(handle.reveal()) };
    let page = ConsentPage {
        frame: visitor.frame(pending.lang()),
        form: form("/oauth/authorize"),
        switch: form("/oauth/sign_out"),
        app: &pending.app.details,
        account: &account.name,
        scopes: &asked.scopes,
        redirect_uri: &pending.request.reply.redirect_uri,
    };
    show(visitor, StatusCode::OK, &page, pending.forms())
}
