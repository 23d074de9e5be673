//! Rate limiting: checks every request against all its limits before its handler runs.
//!
//! Health checks, metrics and static files are exempt. A gateway check counts the original request
//! instead of itself. CORS preflight requests are not counted: a page could not read a rejection,
//! and the request that follows is counted.

mod headers;

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use belfry_core::limits::{Buckets, CountMode, Network, RateLimitDecision, TokenOwner};
use jiff::Timestamp;

pub(crate) use self::headers::RateLimitHeaders;
use crate::app::AppState;
use crate::config::RateLimitMode;
use crate::http::error::LimitExceeded;
use crate::http::extract::client::{self, Client, Credential};
use crate::limits::ActiveLimits;

pub(crate) struct LimitedRequest<'a> {
    pub(crate) method: &'a str,
    /// The path, percent-encoded or not. For a gateway check, it may include the query.
    pub(crate) target: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: IpAddr,
}

/// Applies the limits, unless they are off, and stores the client in the request's extensions for
/// extractors. With `may_use_guard`, the handler may use a guard, and the headers also report the
/// guard's decision.
pub(crate) async fn apply_limits(
    state: &AppState,
    request: &mut Request<Body>,
    headers: &mut RateLimitHeaders,
    may_use_guard: bool,
) -> Result<(), LimitExceeded> {
    let limits = state.limits.active();
    if limits.mode == RateLimitMode::Off {
        return Ok(());
    }
    let limited_request = LimitedRequest {
        method: request.method().as_str(),
        target: request.uri().path(),
        query: request.uri().query(),
        headers: request.headers(),
        peer: client::peer_address(),
    };
    let (client, decision) =
        check_limits(state, &limits, &limited_request, state.clock.now()).await;
    let result = LimitExceeded::check(&decision, limits.mode);
    headers.add_decision(decision);
    result?;
    request.extensions_mut().insert(client);
    if may_use_guard {
        request.extensions_mut().insert(headers.guard_slot());
    }
    Ok(())
}

/// Resolves the client and counts the request for its address. With a valid token, the request is
/// also counted for the token's account, or for the app of an app token. Requests from an
/// application service count only if its registration says so.
pub(crate) async fn check_limits(
    state: &AppState,
    limits: &ActiveLimits,
    request: &LimitedRequest<'_>,
    now: Timestamp,
) -> (Client, RateLimitDecision) {
    let address = client::client_address(limits, request.peer, request.headers);
    let buckets_for = |owner| {
        limits.buckets(request.method, request.target, owner, Network::from_address(address))
    };
    let client = match Client::resolve_cached(state, now, address, request.headers, request.query) {
        Ok(client) => client,
        Err(secret) => {
            // The address is checked first, because each invented token would otherwise cost a
            // database query.
            if limits.mode == RateLimitMode::Enforce {
                let decision =
                    state.limits.check(limits, CountMode::Peek, &buckets_for(None), now).await;
                if !decision.is_admitted() {
                    // No handler uses the credential of a rejected request.
                    let credential = Credential::Unknown;
                    return (Client { now, address, credential }, decision);
                }
            }
            Client { now, address, credential: client::look_up_token(state, secret).await }
        }
    };
    client.record_in_log();
    let buckets = match &client.credential {
        Credential::ApplicationService(service) if service.rate_limited != Some(true) => {
            Buckets::new()
        }
        _ => buckets_for(client.valid_token().map(|token| {
            let account_id = token.account.as_ref().map(|account| account.id);
            TokenOwner { account_id, app_id: token.app_id }
        })),
    };
    let decision = state.limits.check(limits, CountMode::Check, &buckets, now).await;
    (client, decision)
}
