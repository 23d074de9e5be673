//! How often: every call is judged by all its limits together, once, before any route sees it.
//!
//! Not counted are health, metrics and static files. The gateway check counts the call that it is
//! asked about instead of itself. What browsers ask before a page may call never comes here: a page
//! could not read why that was refused, while the call behind it is counted and told.

pub(crate) mod guard;
mod headers;

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request};
use belfry_core::limits::{Buckets, CountMode, Network, RateLimitDecision};
use belfry_core::secret::Digest;
use jiff::Timestamp;

pub(crate) use self::headers::{Counted, RateLimitHeaders};
use crate::app::AppState;
use crate::config::LimitMode;
use crate::http::error::limit_exceeded::LimitExceeded;
use crate::http::extract::client::{self, Client, Credential};
use crate::limits::ActiveLimits;

/// A call, as far as limits are concerned.
pub(crate) struct LimitedRequest<'a> {
    pub(crate) method: &'a str,
    /// The path, in any spelling.
    pub(crate) target: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: IpAddr,
}

/// Applies rate limits, and stores the resolved client in the request's extensions for handlers.
pub(crate) async fn enter(
    state: &AppState,
    request: &mut Request<Body>,
    told: &mut RateLimitHeaders,
) -> Result<(), LimitExceeded> {
    let active = state.limits.active();
    if active.mode == LimitMode::Off {
        return Ok(());
    }
    let call = LimitedRequest {
        method: request.method().as_str(),
        target: request.uri().path(),
        query: request.uri().query(),
        headers: request.headers(),
        peer: client::peer_address(request.extensions()),
    };
    let now = state.clock.now();
    let (client, decision) = match judge_at_once(state, &active, &call, now) {
        Some(judged) => judged,
        // In a box: most calls need not carry the room for this.
        None => Box::pin(judge(state, &active, &call, now)).await,
    };
    request.extensions_mut().insert(client);
    // Guards stand before what is posted; no other call need carry the room for what they find.
    if request.method() == Method::POST {
        request.extensions_mut().insert(told.guard_slot());
    }
    let refused = LimitExceeded::by(&decision, active.mode);
    told.add(decision);
    refused.map_or(Ok(()), Err)
}

/// Finds out who calls, and counts the call for the address and, with a good token of a user, for
/// the account. Nothing is counted where limits are off, or do not hold for an application service.
pub(crate) async fn judge(
    state: &AppState,
    active: &ActiveLimits,
    call: &LimitedRequest<'_>,
    now: Timestamp,
) -> (Client, RateLimitDecision) {
    let address = client::client_address(active, call.peer, call.headers);
    let client = match Client::resolve_cached(state, now, address, call.headers, call.query) {
        Ok(known) => known,
        Err(digest) => match look_up(state, active, call, address, digest, now).await {
            Ok(credential) => Client { now, address, credential },
            Err(decision) => {
                return (Client { now, address, credential: Credential::Unknown }, decision);
            }
        },
    };
    let buckets = buckets(state, active, call, &client);
    let decision = state.limits.judge(active, CountMode::Check, &buckets, now).await;
    (client, decision)
}

/// Judges as [`judge`] does, where nothing needs to be asked elsewhere: the way of most calls.
fn judge_at_once(
    state: &AppState,
    active: &ActiveLimits,
    call: &LimitedRequest<'_>,
    now: Timestamp,
) -> Option<(Client, RateLimitDecision)> {
    let here = state.limits.here()?;
    let address = client::client_address(active, call.peer, call.headers);
    let client = Client::resolve_cached(state, now, address, call.headers, call.query).ok()?;
    let buckets = buckets(state, active, call, &client);
    let decision = here.judge(active, CountMode::Check, &buckets, now);
    Some((client, decision))
}

/// Asks the database for a token, unless the address is over its limits: tokens that are made up
/// would cost a read each.
async fn look_up(
    state: &AppState,
    active: &ActiveLimits,
    call: &LimitedRequest<'_>,
    address: IpAddr,
    digest: Digest,
    now: Timestamp,
) -> Result<Credential, RateLimitDecision> {
    if active.mode == LimitMode::Enforce {
        let buckets = active.buckets(call.method, call.target, None, Network::of(address));
        let decision = state.limits.judge(active, CountMode::Peek, &buckets, now).await;
        if !decision.is_admitted() {
            return Err(decision);
        }
    }
    Ok(client::look_up_token(state, digest).await)
}

/// What a call draws on.
fn buckets<'a>(
    state: &AppState,
    active: &'a ActiveLimits,
    call: &LimitedRequest<'_>,
    client: &Client,
) -> Buckets<'a> {
    let account = match &client.credential {
        Credential::ApplicationService(token) if is_free(state, *token) => return Buckets::new(),
        Credential::Token(_, token) if token.check(client.now).is_ok() => token.account.as_ref(),
        _ => None,
    };
    let account = account.map(|account| account.id);
    active.buckets(call.method, call.target, account, Network::of(client.address))
}

/// Whether limits do not hold, because an application service is registered so.
fn is_free(state: &AppState, token: Digest) -> bool {
    state.application_services.by_token(token).is_some_and(|service| !service.rate_limited)
}
