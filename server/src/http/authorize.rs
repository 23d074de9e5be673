//! `/oauth/authorize`: an app asks, and its user decides.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use belfry_core::secret::Secret;

use super::error::{PageError, Problem};
use super::form::{Form, Query, value};
use super::page::answer;
use super::pending::Pending;
use super::visitor::Visitor;

/// Where a browser goes on with a request of this handle.
pub(super) fn resume_path(handle: &Secret) -> String {
    format!("/oauth/authorize/resume?request={}", handle.reveal())
}

/// `GET /oauth/authorize`: an app sends its user.
pub(super) async fn begin(visitor: Visitor, Query(pairs): Query) -> Response {
    let outcome = async { Pending::new(&visitor, &pairs).await?.proceed(&visitor).await };
    answer(&visitor, Some(value(&pairs, "lang")), outcome.await)
}

/// `GET /oauth/authorize/resume`: the user has signed in or out, and the request goes on. What its
/// URL holds is of use in this browser only.
pub(super) async fn resume(visitor: Visitor, Query(pairs): Query) -> Response {
    let handle = Secret::new(value(&pairs, "request"));
    let outcome = async { Pending::kept(&visitor, handle).await?.proceed(&visitor).await };
    answer(&visitor, None, outcome.await)
}

/// `POST /oauth/authorize`: the user decides. The form only names the request; what was asked is
/// what we kept.
pub(super) async fn decide(visitor: Visitor, Form(pairs): Form) -> Response {
    let outcome = async {
        visitor.check(&pairs)?;
        let handle = Secret::new(value(&pairs, "request"));
        match value(&pairs, "decision") {
            "allow" => Pending::taken(&visitor, handle).await?.allow(&visitor).await,
            "deny" => Pending::taken(&visitor, handle).await?.deny(&visitor),
            _ => Err(PageError::Unchecked),
        }
    };
    answer(&visitor, None, outcome.await)
}

/// `HEAD` of what may give a code: only who reads the answer may be given one.
pub(super) fn no_head(allowed: &'static str) -> Response {
    let allow = [(header::ALLOW, HeaderValue::from_static(allowed))];
    (allow, Problem::WrongMethod).into_response()
}
