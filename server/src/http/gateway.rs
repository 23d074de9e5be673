//! `/gateway/check`: is this call of another server's good, for whom, and within its limits?
//!
//! Anybody may ask: whoever asks without a proxy of ours before it spends nothing but the budget of
//! the token it holds and of the address it comes from.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::original_request::{
    HeaderPair, OriginalRequest, OriginalRequestError, resolve,
};
use belfry_core::oauth::scope::{ScopeError, Scopes};
use belfry_core::oauth::token::{Token, TokenError};
use jiff::Timestamp;
use thiserror::Error;
use url::form_urlencoded;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::error::limit_exceeded::LimitExceeded;
use crate::http::extract::client::{self, Credential};
use crate::http::layer::rate_limit::{self, Counted, LimitedRequest};

const PATH: &str = "/gateway/check";

/// Why a call is not let through.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Denied {
    /// It is not known which call is meant.
    #[error(transparent)]
    Request(#[from] OriginalRequestError),
    /// The check asks for a scope that is none.
    #[error("{0}")]
    NoScope(#[from] ScopeError),
    /// The call presents no token.
    #[error("The access token is invalid")]
    NoToken,
    /// The call presents more than one token.
    #[error("Send the access token once: in the Authorization header or as access_token")]
    Several,
    /// The token is no good, and why.
    #[error("{0}")]
    Token(&'static str),
    /// The token's account is disabled.
    #[error("Your login is currently disabled")]
    Account,
    /// The token does not carry a scope that the check asks for.
    #[error("This action is outside the authorized scopes")]
    Scope,
    /// What can go wrong anywhere.
    #[error("{0:?}")]
    Common(CommonError),
}

/// `/gateway/check`, by any method: proxies send that of the call, or GET.
pub(crate) async fn check(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> (Counted, Result<Response, Denied>) {
    let (own_method, uri, headers) = (request.method().as_str(), request.uri(), request.headers());
    let named = call_of(own_method, uri, headers);
    let (method, target, query) = match &named {
        Ok(call) => (&*call.method, &*call.target, call.query()),
        // A check that names no call is a call like any other.
        Err(_) => (own_method, uri.path(), None),
    };
    let peer = client::peer_address(request.extensions());
    let call = LimitedRequest { method, target, query, headers, peer };
    let (active, now) = (state.limits.active(), state.clock.now());
    let (client, decision) = rate_limit::judge(&state, &active, &call, now).await;
    let outcome = match (LimitExceeded::by(&decision, active.mode), &named) {
        (Some(refused), _) => Err(Denied::Common(refused.into())),
        (None, Err(error)) => Err((*error).into()),
        (None, Ok(_)) => pass(client.credential, uri, now),
    };
    (Counted(decision), outcome)
}

/// The call that is asked about.
fn call_of<'a>(
    method: &'a str,
    uri: &'a Uri,
    headers: &'a HeaderMap,
) -> Result<OriginalRequest<'a>, OriginalRequestError> {
    let path =
        rest_of(uri).map(|target| OriginalRequest { method: method.into(), target: target.into() });
    let pair = |method, target| {
        Ok(HeaderPair { method: said(headers, method)?, target: said(headers, target)? })
    };
    let original = pair("x-original-method", "x-original-uri")?;
    resolve(path, original, pair("x-forwarded-method", "x-forwarded-uri")?)
}

/// What stands behind `/gateway/check`, with the query, if anything does.
fn rest_of(uri: &Uri) -> Option<&str> {
    let whole = uri.path_and_query()?.as_str();
    whole.strip_prefix(PATH).filter(|rest| rest.starts_with('/'))
}

/// What a header says; a proxy says it once.
fn said<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> Result<Option<Cow<'a, str>>, OriginalRequestError> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Ok(Some(String::from_utf8_lossy(value.as_bytes()))),
        (Some(_), Some(_)) => Err(OriginalRequestError::Conflicting),
    }
}

/// Whether the token is good for what the check asks, and whose it is.
fn pass(credential: Credential, uri: &Uri, now: Timestamp) -> Result<Response, Denied> {
    let needed = needed(uri)?;
    let token = match credential {
        Credential::Token(_, token) => token,
        Credential::Missing => return Err(Denied::NoToken),
        Credential::Unknown | Credential::ApplicationService(_) => {
            return Err(Denied::Token("The access token is invalid"));
        }
        Credential::Multiple => return Err(Denied::Several),
        Credential::LookupFailed(problem) => return Err(Denied::Common(problem)),
    };
    token.check(now).map_err(|error| match error {
        TokenError::Revoked => Denied::Token("The access token was revoked"),
        TokenError::Expired => Denied::Token("The access token expired"),
        TokenError::AccountDisabled => Denied::Account,
    })?;
    if needed.iter().all(|scope| token.scopes.allows(scope)) {
        Ok(let_in(&token))
    } else {
        Err(Denied::Scope)
    }
}

/// The scopes that the check asks for. Where the path names the call, the query is the caller's.
fn needed(uri: &Uri) -> Result<Scopes, ScopeError> {
    let query = uri.query().filter(|_| rest_of(uri).is_none()).unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    Scopes::from_texts(pairs.filter(|(name, _)| name == "scope").map(|(_, value)| value))
}

/// Whose call it is. The header of the account is there also for a token without one, so that a
/// proxy which copies it overwrites what its client sent under that name.
fn let_in(token: &Token) -> Response {
    let account = match &token.account {
        Some(account) => account.id.into(),
        None => HeaderValue::from_static(""),
    };
    let scopes =
        HeaderValue::try_from(token.scopes.to_string()).unwrap_or(HeaderValue::from_static(""));
    let headers = [
        (HeaderName::from_static("x-account-id"), account),
        (HeaderName::from_static("x-app-id"), token.app_id.into()),
        (HeaderName::from_static("x-scopes"), scopes),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    headers.into_response()
}
