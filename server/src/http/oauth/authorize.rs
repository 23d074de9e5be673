//! `/oauth/authorize`: authorization requests, and the decision of the user.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::request::NextStep;

use crate::http::account::sign_in;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::form::{Form, Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::oauth::consent;
use crate::http::oauth::pending::PendingAuthorization;
use crate::http::respond::page::respond;

/// `GET /oauth/authorize`: starts an authorization.
pub(crate) async fn begin(session: BrowserSession, Query(pairs): Query) -> Response {
    let result =
        async { proceed(&session, PendingAuthorization::new(&session, &pairs).await?).await };
    respond(&session, Some(value(&pairs, "lang")), result.await)
}

/// `GET /oauth/authorize/resume`: continues after the user has signed in or out. The handle in the
/// URL is valid in this browser only.
pub(crate) async fn resume(session: BrowserSession, Query(pairs): Query) -> Response {
    let handle = value(&pairs, "request");
    let result =
        async { proceed(&session, PendingAuthorization::load(&session, handle).await?).await };
    respond(&session, None, result.await)
}

/// `POST /oauth/authorize`: the decision of the user. The form holds only the handle; the request
/// itself is stored.
pub(crate) async fn decide(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        session.check_form(&pairs)?;
        let handle = value(&pairs, "request");
        match value(&pairs, "decision") {
            "allow" => PendingAuthorization::consume(&session, handle).await?.allow(&session).await,
            "deny" => PendingAuthorization::consume(&session, handle).await?.deny(&session),
            _ => Err(PageError::ForgedForm),
        }
    };
    respond(&session, None, result.await)
}

/// Takes the next step of an authorization.
async fn proceed(
    session: &BrowserSession,
    mut pending: PendingAuthorization,
) -> Result<Response, PageError> {
    match pending.next_step(session).await? {
        NextStep::SignIn => {
            sign_in::show_sign_in_page(session, None, Some(&mut pending), "", None).await
        }
        NextStep::AskConsent => consent::show_consent_page(session, &mut pending).await,
        NextStep::Reject(_) | NextStep::Approve => pending.complete_unasked(session).await,
    }
}

/// Rejects `HEAD` where a response may hold a code, which would be issued but never read.
pub(crate) fn head_not_allowed(allowed: &'static str) -> Response {
    let allow = [(header::ALLOW, HeaderValue::from_static(allowed))];
    (allow, CommonError::MethodNotAllowed).into_response()
}
