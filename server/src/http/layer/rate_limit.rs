//! Rate limiting: checks every request against all its limits before its handler runs.
//!
//! Health checks, metrics, static files and the metadata of the issuer below `/id` are exempt. A
//! gateway check counts the original request instead of itself. CORS preflight requests are not counted: a page could not read a rejection,
//! and the request that follows is counted.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request};
use axum::response::Response;
use belfry_core::limits::{Buckets, CountMode, Network, RateLimitDecision, TokenOwner};
use jiff::Timestamp;

use crate::app::AppState;
use crate::config::RateLimitMode;
use crate::http::error::LimitExceeded;
use crate::http::extract::abuse_guard::GuardDecisionSlot;
use crate::http::extract::client::{self, Client, Credential};
use crate::limits::ActiveLimits;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

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

/// The rate-limit decisions that a response reports: on the request itself, by the handler's guard,
/// and on the original request of a gateway check.
#[derive(Debug, Default)]
pub(crate) struct RateLimitHeaders {
    decision: RateLimitDecision,
    guard_slot: Option<GuardDecisionSlot>,
}

impl RateLimitHeaders {
    pub(crate) fn add_decision(&mut self, decision: RateLimitDecision) {
        self.decision = std::mem::take(&mut self.decision).merge(decision);
    }

    /// Returns the slot for a guard's decision, creating it if missing.
    pub(crate) fn guard_slot(&mut self) -> GuardDecisionSlot {
        self.guard_slot.get_or_insert_default().clone()
    }

    /// Adds the decision that a handler returned with its response, as an extension.
    pub(crate) fn add_decision_from(&mut self, response: &mut Response) {
        if let Some(decision) = response.extensions_mut().remove() {
            self.add_decision(decision);
        }
    }

    /// Writes the headers: `X-RateLimit-*` for the closest limit, `RateLimit` and
    /// `RateLimit-Policy` for all limits.
    pub(crate) fn write_to(mut self, response: &mut Response) {
        if let Some(decision) = self.guard_slot.take().and_then(|slot| slot.take()) {
            self.add_decision(decision);
        }
        let Some(closest) = self.decision.closest_status() else { return };
        let headers = response.headers_mut();
        headers.insert(X_LIMIT, number_value(closest.limit.requests()));
        headers.insert(X_REMAINING, number_value(closest.remaining));
        headers.insert(X_RESET, text_value(&closest.reset_time()));
        headers.insert(RATE_LIMIT, text_value(&self.decision.rate_limit()));
        headers.insert(RATE_LIMIT_POLICY, text_value(&self.decision.rate_limit_policy()));
    }
}

fn number_value(value: u32) -> HeaderValue {
    text_value(itoa::Buffer::new().format(value))
}

/// Converts text to a header value. The text is always valid, because limit names consist of
/// characters that headers allow.
///
/// The text is copied into one allocation. Converting a `String` or a number would make a second
/// one, and cost another atomic operation when the value is dropped.
fn text_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
