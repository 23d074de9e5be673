//! How often: every call is judged by all its limits together, once, before any route sees it.
//!
//! Not counted are health, metrics and static files. The gateway check counts the call that it is
//! asked about instead of itself. What browsers ask before a page may call never comes here: a page
//! could not read why that was refused, while the call behind it is counted and told.

pub(super) mod guard;
pub(super) mod refused;
mod told;

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request};
use belfry_core::limits::{Claims, Counting, Network, Verdict};
use belfry_core::secret::Digest;
use jiff::Timestamp;

use self::refused::Refused;
pub(super) use self::told::{Counted, Told};
use super::entrant::{self, Entrant, Presented};
use super::{Belfry, Peer};
use crate::config::LimitMode;
use crate::limits::InForce;

/// A call, as far as limits are concerned.
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    /// The path, in any spelling.
    pub(super) target: &'a str,
    pub(super) query: Option<&'a str>,
    pub(super) headers: &'a HeaderMap,
    pub(super) peer: IpAddr,
}

/// Judges a request and keeps in it who calls, so that no handler needs to look again. Where nothing
/// is counted, it keeps who could be asked.
pub(super) async fn enter(
    belfry: &Belfry,
    peer: Peer,
    request: &mut Request<Body>,
    told: &mut Told,
) -> Result<(), Refused> {
    let in_force = belfry.limits.in_force();
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
    let now = belfry.clock.now();
    let (entrant, verdict) = match judge_at_once(belfry, &in_force, &call, now) {
        Some(judged) => judged,
        // In a box: most calls need not carry the room for this.
        None => Box::pin(judge(belfry, &in_force, &call, now)).await,
    };
    request.extensions_mut().insert(entrant);
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
pub(super) async fn judge(
    belfry: &Belfry,
    in_force: &InForce,
    call: &Call<'_>,
    now: Timestamp,
) -> (Entrant, Verdict) {
    let address = entrant::address(in_force, call.peer, call.headers);
    let entrant = match Entrant::known(belfry, now, address, call.headers, call.query) {
        Ok(known) => known,
        Err(digest) => match look_up(belfry, in_force, call, address, digest, now).await {
            Ok(presented) => Entrant { now, address, presented },
            Err(verdict) => {
                return (Entrant { now, address, presented: Presented::Unknown }, verdict);
            }
        },
    };
    let claims = claims(belfry, in_force, call, &entrant);
    let verdict = belfry.limits.judge(in_force, Counting::Check, &claims, now).await;
    (entrant, verdict)
}

/// Judges as [`judge`] does, where nothing needs to be asked elsewhere: the way of most calls.
fn judge_at_once(
    belfry: &Belfry,
    in_force: &InForce,
    call: &Call<'_>,
    now: Timestamp,
) -> Option<(Entrant, Verdict)> {
    let here = belfry.limits.here()?;
    let address = entrant::address(in_force, call.peer, call.headers);
    let entrant = Entrant::known(belfry, now, address, call.headers, call.query).ok()?;
    let claims = claims(belfry, in_force, call, &entrant);
    let verdict = here.judge(in_force, Counting::Check, &claims, now);
    Some((entrant, verdict))
}

/// Asks the database for a token, unless the address is over its limits: tokens that are made up
/// would cost a read each.
async fn look_up(
    belfry: &Belfry,
    in_force: &InForce,
    call: &Call<'_>,
    address: IpAddr,
    digest: Digest,
    now: Timestamp,
) -> Result<Presented, Verdict> {
    if in_force.mode == LimitMode::Enforce {
        let claims = in_force.claims(call.method, call.target, None, Network::of(address));
        let verdict = belfry.limits.judge(in_force, Counting::Peek, &claims, now).await;
        if !verdict.admitted() {
            return Err(verdict);
        }
    }
    Ok(entrant::look_up(belfry, digest).await)
}

/// What a call draws on.
fn claims<'a>(
    belfry: &Belfry,
    in_force: &InForce,
    call: &Call<'_>,
    entrant: &Entrant,
) -> Claims<'a> {
    let account = match &entrant.presented {
        Presented::Service(token) if is_free(belfry, *token) => return Claims::new(),
        Presented::Token(_, token) if token.check(entrant.now).is_ok() => token.account.as_ref(),
        _ => None,
    };
    let account = account.map(|account| account.id);
    in_force.claims(call.method, call.target, account, Network::of(entrant.address))
}

/// Whether limits do not hold, because an application service is registered so.
fn is_free(belfry: &Belfry, token: Digest) -> bool {
    belfry.application_services.of_token(token).is_some_and(|service| !service.rate_limited)
}
