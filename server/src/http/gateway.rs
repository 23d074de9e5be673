//! `/gateway/check`: authorizes and rate-limits an original request to the protected server.
//!
//! The endpoint is open to everyone: a client that calls it directly, not through a trusted proxy,
//! consumes only the quota of its own token and address.

use std::borrow::Cow;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::RateLimitDecision;
use belfry_core::limits::check_options::{CheckOptions, CheckOptionsError};
use belfry_core::limits::original_request::{
    OriginalRequest, OriginalRequestError, resolve_original_request,
};
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_core::oauth::token::Token;
use belfry_runtime::log_throttled;
use jiff::Timestamp;

use crate::app::AppState;
use crate::escape::shorten;
use crate::http::error::LimitExceeded;
use crate::http::error::gateway::GatewayError;
use crate::http::extract::client::{self, Credential};
use crate::http::layer::rate_limit::{self, LimitedRequest};
use crate::paths::GATEWAY_CHECK;

/// Maximum length of a method or a path in the log, in bytes. Bounded because clients choose
/// both.
const MAX_LOGGED_BYTES: usize = 500;

/// `/gateway/check`, with any method: proxies send the method of the original request, or GET.
pub(crate) async fn check_request(
    State(state): State<AppState>,
    request: Request,
) -> (Extension<RateLimitDecision>, Result<Response, GatewayError>) {
    let own_method = request.method().as_str();
    let uri = request.uri();
    let headers = request.headers();
    let original = find_original_request(own_method, uri, headers);
    let (method, target, query) = match &original {
        Ok(original) => (&*original.method, &*original.target, original.query()),
        // A check without an original request is counted like any other request.
        Err(_) => (own_method, uri.path(), None),
    };
    let peer = client::peer_address();
    let limited_request = LimitedRequest { method, target, query, headers, peer };
    let limits = state.limits.active();
    let now = state.clock.now();
    let (client, decision) = rate_limit::check_limits(&state, &limits, &limited_request, now).await;
    let response = match (LimitExceeded::check(&decision, limits.mode), &original) {
        (Err(exceeded), _) => Err(exceeded.into()),
        (Ok(()), Err(error)) => {
            if *error == OriginalRequestError::Conflicting {
                log_throttled!(
                    info,
                    "gateway check names different requests; the proxy must remove \
                     X-Original-* and X-Forwarded-* headers sent by clients"
                );
            }
            Err((*error).into())
        }
        (Ok(()), Ok(original)) => {
            authorize_token(&state, client.credential, parse_options(uri, original), now)
        }
    };
    if let Err(error) = &response
        && error.is_misconfiguration()
    {
        // Without the query, which may contain a token.
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let [method, path] = [method, path].map(|value| shorten(value, MAX_LOGGED_BYTES));
        log_throttled!(warn, "gateway check is misconfigured", %error, method, path);
    }
    // The area's layer reports the decision in the headers.
    (Extension(decision), response)
}

/// Returns the original request, from the path or from the headers of the proxy.
fn find_original_request<'a>(
    method: &'a str,
    uri: &'a Uri,
    headers: &'a HeaderMap,
) -> Result<OriginalRequest<'a>, OriginalRequestError> {
    let path_request = original_target(uri)
        .map(|target| OriginalRequest { method: method.into(), target: target.into() });
    let header = |name| single_header(headers, name);
    let original = (header("x-original-method")?, header("x-original-uri")?);
    let forwarded = (header("x-forwarded-method")?, header("x-forwarded-uri")?);
    resolve_original_request(path_request, original, forwarded)
}

/// Returns the path and query after `/gateway/check`, if the path continues there.
fn original_target(uri: &Uri) -> Option<&str> {
    let target = uri.path_and_query()?.as_str();
    target.strip_prefix(GATEWAY_CHECK).filter(|target| target.starts_with('/'))
}

/// Returns the value of a header that must not be repeated.
fn single_header<'a>(
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

/// Checks the token against the options, and records its use. The response headers contain the
/// account, app and scopes.
fn authorize_token(
    state: &AppState,
    credential: Credential,
    options: Result<CheckOptions, CheckOptionsError>,
    now: Timestamp,
) -> Result<Response, GatewayError> {
    let options = options?;
    let (secret, token) = match credential {
        Credential::Token(secret, token) => (secret, token),
        Credential::Missing => return Err(GatewayError::MissingToken),
        Credential::Unknown | Credential::ApplicationService(_) => {
            return Err(GatewayError::InvalidToken);
        }
        Credential::MultipleTokens => return Err(GatewayError::MultipleTokens),
        Credential::LookupFailed(error) => return Err(GatewayError::Common(error)),
    };
    token.check_validity(now)?;
    state.store.record_use(secret.lookup_key, &token, now);
    if token.account.is_none() && !options.allows_app_tokens {
        let app = token.app_id;
        log_throttled!(info, "gateway check without app=allow rejected an app token", app);
        return Err(GatewayError::AppToken);
    }
    // A sign-in that only identifies the user gives access to nothing that the gateway protects.
    if token.is_family() && token.scopes.only_identify() && options.scopes.is_empty() {
        return Err(GatewayError::MissingScopes(Scopes::from_iter([Scope::Read])));
    }
    let missing_scopes: Scopes =
        options.scopes.iter().filter(|scope| !token.scopes.allows(*scope)).collect();
    if missing_scopes.is_empty() {
        Ok(identity_headers(&token).into_response())
    } else {
        Err(GatewayError::MissingScopes(missing_scopes))
    }
}

/// Returns the options of the check. If the original request is in the path, the query belongs to
/// that request, and the check has no options.
fn parse_options(
    uri: &Uri,
    original: &OriginalRequest<'_>,
) -> Result<CheckOptions, CheckOptionsError> {
    let check_query = uri.query().filter(|_| original_target(uri).is_none());
    CheckOptions::parse(check_query.unwrap_or_default(), original.query().unwrap_or_default())
}

/// Returns the headers that identify the client. `X-Account-Id` is present, but empty, for a token
/// without an account, so that a proxy that copies it overwrites a value sent by the client.
fn identity_headers(token: &Token) -> [(HeaderName, HeaderValue); 3] {
    let account = match &token.account {
        Some(account) => account.id.into(),
        None => HeaderValue::from_static(""),
    };
    let scopes =
        HeaderValue::try_from(token.scopes.to_string()).unwrap_or(HeaderValue::from_static(""));
    [
        (HeaderName::from_static("x-account-id"), account),
        (HeaderName::from_static("x-app-id"), token.app_id.into()),
        (HeaderName::from_static("x-scopes"), scopes),
    ]
}
