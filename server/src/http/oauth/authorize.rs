//! `/oauth/authorize` and `/id/authorize`: authorization requests, and the user's decision.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::form::last_value;
use belfry_core::oauth::authorization_request::NextStep;
use belfry_core::oauth::client::Registrar;

use crate::http::account::sign_in;
use crate::http::error::{CommonError, PageError, log_rejection};
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::issuer::PathIssuer;
use crate::http::extract::session::BrowserSession;
use crate::http::pending_authorization::{Approval, PendingAuthorization, resume_path};
use crate::http::respond::{redirect, render_page, respond_with};
use crate::pages::{self, ConsentPage};
use crate::paths;

/// `GET /oauth/authorize` and `GET /id/authorize`: starts an authorization.
pub(crate) async fn begin_authorization(
    PathIssuer(issuer): PathIssuer,
    session: BrowserSession,
    Query(pairs): Query,
) -> Response {
    respond_with(&session, async {
        take_next_step(&session, PendingAuthorization::new(&session, issuer, &pairs).await?).await
    })
    .await
}

/// `GET /oauth/authorize/resume`: continues a stored authorization, for example after the user has
/// signed in or out. The handle in the URL is valid in this browser only.
pub(crate) async fn resume_authorization(session: BrowserSession, Query(pairs): Query) -> Response {
    respond_with(&session, async {
        let handle = last_value(&pairs, "request");
        take_next_step(&session, PendingAuthorization::load(&session, handle).await?).await
    })
    .await
}

/// `POST /oauth/authorize`: the user's decision. The form contains only the handle; the request
/// itself is stored.
pub(crate) async fn submit_decision(
    session: BrowserSession,
    PageForm(pairs): PageForm,
) -> Response {
    respond_with(&session, async {
        session.check_form(&pairs)?;
        let pending = PendingAuthorization::load(&session, last_value(&pairs, "request"));
        match last_value(&pairs, "decision") {
            "allow" => pending.await?.approve(&session, Approval::Explicit).await,
            "deny" => pending.await?.deny(&session).await,
            _ => Err(PageError::ForgedForm),
        }
    })
    .await
}

/// Takes the next step of an authorization: shows a page, or completes the authorization.
async fn take_next_step(
    session: &BrowserSession,
    mut pending: PendingAuthorization,
) -> Result<Response, PageError> {
    match pending.next_step(session).await? {
        NextStep::SignIn => {
            pending.save(session).await?;
            // The name is known if `force_login` requires the password of a signed-in user again.
            let hint = pending.request.login_hint.as_deref().unwrap_or_default();
            let name = session.account().map_or(hint, |account| account.name.as_str());
            if pending.request.prefers_sign_up
                && let Some(path) = sign_in::sign_up_path(session, Some(&pending))
            {
                return redirect(session, &path);
            }
            sign_in::render_sign_in_page(session, Some(&pending), name, None)
        }
        NextStep::RequestConsent => {
            pending.save(session).await?;
            render_consent_page(session, &pending)
        }
        NextStep::ShowError(error) => {
            log_rejection(&error.clone().into(), Some(pending.app.id), None);
            pending.render_error(session, error)
        }
        NextStep::Reject(error) => {
            log_rejection(&error.clone().into(), Some(pending.app.id), None);
            // `approve` checks the requested grant again, finds the same error and delivers it to
            // the app.
            pending.approve(session, Approval::Implied).await
        }
        NextStep::Approve => pending.approve(session, Approval::Implied).await,
    }
}

fn render_consent_page(
    session: &BrowserSession,
    pending: &PendingAuthorization,
) -> Result<Response, PageError> {
    let account = session.account().ok_or(PageError::Expired)?;
    let grant = pending.requested_grant(session)?;
    let csrf = session.csrf_token();
    let [decide_path, switch_path] = [paths::AUTHORIZE, paths::SIGN_OUT]
        .map(|path| paths::with_language(path, pending.chosen_lang));
    let form = |action| pages::Form { action, csrf: &csrf, request: pending.handle() };
    let language_link =
        pending.handle().map_or_else(String::new, |handle| resume_path(handle, None));
    let page = ConsentPage {
        layout: session.layout(pending.lang()).with_language_link(&language_link),
        form: form(&decide_path),
        switch_account_form: form(&switch_path),
        app: &pending.app.details,
        is_operator_app: pending.app.properties.registered_by == Registrar::Operator,
        is_unverified: pending.app.is_unverified(&pending.request.target.redirect_uri),
        account: &account.name,
        scopes: &grant.scopes,
        redirect_uri: &pending.request.target.redirect_uri,
    };
    render_page(session, StatusCode::OK, &page, Some(page.redirect_uri))
}

/// Responds with 405. `HEAD` is not allowed, because the response may contain an authorization
/// code, which would be issued but not delivered.
pub(crate) fn method_not_allowed(allowed_methods: &'static str) -> Response {
    let allow = [(header::ALLOW, HeaderValue::from_static(allowed_methods))];
    (allow, CommonError::MethodNotAllowed).into_response()
}
