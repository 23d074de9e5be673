//! `/oauth/authorize`: an app asks, and its user decides.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::request::NextStep;
use belfry_core::secret::Secret;

use crate::http::account::sign_in;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::form::{Form, Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::oauth::consent;
use crate::http::oauth::pending::PendingAuthorization;
use crate::http::respond::page::answer;

/// `GET /oauth/authorize`: an app sends its user.
pub(crate) async fn begin(session: BrowserSession, Query(pairs): Query) -> Response {
    let outcome =
        async { proceed(&session, PendingAuthorization::new(&session, &pairs).await?).await };
    answer(&session, Some(value(&pairs, "lang")), outcome.await)
}

/// `GET /oauth/authorize/resume`: the user has signed in or out, and the request goes on. What its
/// URL holds is of use in this browser only.
pub(crate) async fn resume(session: BrowserSession, Query(pairs): Query) -> Response {
    let handle = Secret::new(value(&pairs, "request"));
    let outcome =
        async { proceed(&session, PendingAuthorization::kept(&session, handle).await?).await };
    answer(&session, None, outcome.await)
}

/// `POST /oauth/authorize`: the user decides. The form only names the request; what was asked is
/// what we kept.
pub(crate) async fn decide(session: BrowserSession, Form(pairs): Form) -> Response {
    let outcome = async {
        session.check(&pairs)?;
        let handle = Secret::new(value(&pairs, "request"));
        match value(&pairs, "decision") {
            "allow" => PendingAuthorization::taken(&session, handle).await?.allow(&session).await,
            "deny" => PendingAuthorization::taken(&session, handle).await?.deny(&session),
            _ => Err(PageError::Unchecked),
        }
    };
    answer(&session, None, outcome.await)
}

/// Takes the next step of an authorization.
async fn proceed(
    session: &BrowserSession,
    mut pending: PendingAuthorization,
) -> Result<Response, PageError> {
    match pending.next_step(session).await? {
        NextStep::SignIn => sign_in::ask(session, None, Some(&mut pending), "", None).await,
        NextStep::AskConsent => consent::ask(session, &mut pending).await,
        NextStep::Reject(_) | NextStep::Approve => pending.complete_unasked(session).await,
    }
}

/// `HEAD` of what may give a code: only who reads the answer may be given one.
pub(crate) fn no_head(allowed: &'static str) -> Response {
    let allow = [(header::ALLOW, HeaderValue::from_static(allowed))];
    (allow, CommonError::WrongMethod).into_response()
}
