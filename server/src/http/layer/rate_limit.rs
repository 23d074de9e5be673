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
use belfry_core::limits::{Claims, Counting, Network, Verdict};
use belfry_core::secret::Digest;
use jiff::Timestamp;

pub(crate) use self::headers::{Counted, Told};
use crate::app::AppState;
use crate::config::LimitMode;
use crate::http::error::limit_exceeded::Refused;
use crate::http::extract::client::{self, Client, Credential, Peer};
use crate::limits::InForce;

/// A call, as far as limits are concerned.
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    /// The path, in any spelling.
    pub(crate) target: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: IpAddr,
}

/// Judges a request and keeps in it who calls, so that no handler needs to look again. Where nothing
/// is counted, it keeps who could be asked.
pub(crate) async fn enter(
    state: &AppState,
    peer: Peer,
    request: &mut Request<Body>,
    told: &mut Told,
) -> Result<(), Refused> {
    let in_force = state.limits.in_force();
    if in_force.mode == LimitMode::Off || is_exempt(request) {
        request.extensions_mut().insert(peer);
        return Ok(());
    }
    let call = Call {
        method: request.method().as_str(),
        target: request.uri().path(),
        query: request.uri().query(),
        headers: request.headers(),
        peer: peer.0.ip(),
    };
    let now = state.clock.now();
    let (client, verdict) = match judge_at_once(state, &in_force, &call, now) {
        Some(judged) => judged,
        // In a box: most calls need not carry the room for this.
        None => Box::pin(judge(state, &in_force, &call, now)).await,
    };
    request.extensions_mut().insert(client);
    // Guards stand before what is posted; no other call need carry the room for what they find.
    if request.method() == Method::POST {
        request.extensions_mut().insert(told.overhear());
    }
    let refused = Refused::by(&verdict, in_force.mode);
    told.add(verdict);
    refused.map_or(Ok(()), Err)
}

fn is_exempt(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    if let Some(rest) = path.strip_prefix("/gateway/check") {
        return rest.is_empty() || rest.starts_with('/');
    }
    matches!(path, "/healthz" | "/readyz" | "/metrics") || path.starts_with("/static/")
}

/// Finds out who calls, and counts the call for the address and, with a good token of a user, for
/// the account. Nothing is counted where limits are off, or do not hold for an application service.
pub(crate) async fn judge(
    state: &AppState,
    in_force: &InForce,
    call: &Call<'_>,
    now: Timestamp,
) -> (Client, Verdict) {
    let address = client::address(in_force, call.peer, call.headers);
    let client = match Client::known(state, now, address, call.headers, call.query) {
        Ok(known) => known,
        Err(digest) => match look_up(state, in_force, call, address, digest, now).await {
            Ok(credential) => Client { now, address, credential },
            Err(verdict) => {
                return (Client { now, address, credential: Credential::Unknown }, verdict);
            }
        },
    };
    let claims = claims(state, in_force, call, &client);
    let verdict = state.limits.judge(in_force, Counting::Check, &claims, now).await;
    (client, verdict)
}

/// Judges as [`judge`] does, where nothing needs to be asked elsewhere: the way of most calls.
fn judge_at_once(
    state: &AppState,
    in_force: &InForce,
    call: &Call<'_>,
    now: Timestamp,
) -> Option<(Client, Verdict)> {
    let here = state.limits.here()?;
    let address = client::address(in_force, call.peer, call.headers);
    let client = Client::known(state, now, address, call.headers, call.query).ok()?;
    let claims = claims(state, in_force, call, &client);
    let verdict = here.judge(in_force, Counting::Check, &claims, now);
    Some((client, verdict))
}

/// Asks the database for a token, unless the address is over its limits: tokens that are made up
/// would cost a read each.
async fn look_up(
    state: &AppState,
    in_force: &InForce,
    call: &Call<'_>,
    address: IpAddr,
    digest: Digest,
    now: Timestamp,
) -> Result<Credential, Verdict> {
    if in_force.mode == LimitMode::Enforce {
        let claims = in_force.claims(call.method, call.target, None, Network::of(address));
        let verdict = state.limits.judge(in_force, Counting::Peek, &claims, now).await;
        if !verdict.admitted() {
            return Err(verdict);
        }
    }
    Ok(client::look_up(state, digest).await)
}

/// What a call draws on.
fn claims<'a>(
    state: &AppState,
    in_force: &InForce,
    call: &Call<'_>,
    client: &Client,
) -> Claims<'a> {
    let account = match &client.credential {
        Credential::Service(token) if is_free(state, *token) => return Claims::new(),
        Credential::Token(_, token) if token.check(client.now).is_ok() => token.account.as_ref(),
        _ => None,
    };
    let account = account.map(|account| account.id);
    in_force.claims(call.method, call.target, account, Network::of(client.address))
}

/// Whether limits do not hold, because an application service is registered so.
fn is_free(state: &AppState, token: Digest) -> bool {
    state.application_services.of_token(token).is_some_and(|service| !service.rate_limited)
}
