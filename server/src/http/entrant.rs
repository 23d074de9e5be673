//! Who calls: from which address, and with which token. Found once for every call.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use belfry_core::oauth::bearer::{self, BearerError};
use belfry_core::secret::{Digest, Secret};
use jiff::Timestamp;
use url::form_urlencoded;

use super::error::Problem;
use super::{Belfry, Peer};
use crate::limits::InForce;
use crate::store::Token;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Who calls.
#[derive(Debug, Clone)]
pub(super) struct Entrant {
    /// When the call came.
    pub(super) now: Timestamp,
    /// The client's address, also behind a proxy.
    pub(super) address: IpAddr,
    /// The token.
    pub(super) presented: Presented,
}

/// The token that a call presents, in its header or its query.
#[derive(Debug, Clone)]
pub(super) enum Presented {
    /// None.
    Nothing,
    /// More than one, or one in two places.
    Several,
    /// One that was never issued.
    Unknown,
    /// That of an application service.
    Service(Digest),
    /// One that was issued. Whether it is still good, [`Token::check`] says.
    Token(Digest, Token),
    /// One that could not be looked up.
    Unanswered(Problem),
}

impl Entrant {
    /// Looks at who calls: at what the limits have found, or else it is found now.
    pub(super) async fn look<T>(
        parts: &Parts,
        belfry: &Belfry,
        look: impl FnOnce(&Self) -> T,
    ) -> T {
        match parts.extensions.get::<Self>() {
            Some(found) => look(found),
            // In a box: where limits are on, as by default, nobody need carry the room for this.
            None => look(&Box::pin(Self::find(parts, belfry)).await),
        }
    }

    async fn find(parts: &Parts, belfry: &Belfry) -> Self {
        let now = belfry.clock.now();
        let in_force = belfry.limits.in_force();
        let address = address(&in_force, peer(&parts.extensions), &parts.headers);
        match Self::known(belfry, now, address, &parts.headers, parts.uri.query()) {
            Ok(known) => known,
            Err(digest) => Self { now, address, presented: look_up(belfry, digest).await },
        }
    }

    /// Who calls, if the database need not be asked; or else the token to ask it about.
    pub(super) fn known(
        belfry: &Belfry,
        now: Timestamp,
        address: IpAddr,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Self, Digest> {
        let presented = match token(headers, query).map(|token| token.map(|token| token.digest())) {
            Err(BearerError::Several) => Presented::Several,
            Ok(None) => Presented::Nothing,
            Ok(Some(digest)) if belfry.application_services.of_token(digest).is_some() => {
                Presented::Service(digest)
            }
            Ok(Some(digest)) => {
                Presented::Token(digest, belfry.store.cached_token(&digest).ok_or(digest)?)
            }
        };
        Ok(Self { now, address, presented })
    }
}

/// Who is at the other end. Only a call from within this process has nobody there.
pub(super) fn peer(extensions: &Extensions) -> IpAddr {
    extensions.get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip())
}

/// The client: the peer, or whom a proxy of ours speaks for.
pub(super) fn address(in_force: &InForce, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    if in_force.proxies.contain(peer) {
        let lines = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        return in_force.proxies.client(peer, lines(X_FORWARDED_FOR), lines(header::FORWARDED));
    }
    if headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(header::FORWARDED) {
        in_force.warn_of_proxy(peer);
    }
    peer
}

/// The one token that is presented, if there is one.
fn token(headers: &HeaderMap, query: Option<&str>) -> Result<Option<Secret>, BearerError> {
    let authorization = headers.get_all(header::AUTHORIZATION).iter();
    let authorization = authorization.map(HeaderValue::as_bytes);
    let parameters: Vec<_> = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(name, _)| name == "access_token")
        .map(|(_, value)| value)
        .collect();
    bearer::presented(authorization, parameters.iter().map(AsRef::as_ref))
}

/// What the database knows of a token.
pub(super) async fn look_up(belfry: &Belfry, digest: Digest) -> Presented {
    match belfry.store.token(digest).await {
        Ok(Some(token)) => Presented::Token(digest, token),
        Ok(None) => Presented::Unknown,
        Err(error) => Presented::Unanswered(error.into()),
    }
}
