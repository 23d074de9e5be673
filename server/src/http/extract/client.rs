//! Who calls: from which address, and with which token. Found once for every call.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use belfry_core::oauth::bearer::{self, BearerError};
use belfry_core::oauth::token::Token;
use belfry_core::secret::{Digest, Secret};
use jiff::Timestamp;
use url::form_urlencoded;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::limits::ActiveLimits;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The peer of the connection that a request came in on.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Who calls.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// When the call came.
    pub(crate) now: Timestamp,
    /// The client's address, also behind a proxy.
    pub(crate) address: IpAddr,
    /// The token.
    pub(crate) credential: Credential,
}

/// The token that a call presents, in its header or its query.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// None.
    Nothing,
    /// More than one, or one in two places.
    Several,
    /// One that was never issued.
    Unknown,
    /// That of an application service.
    Service(Digest),
    /// One that was issued. Whether it is still good, [`Token::check`] says.
    Token(Digest, Arc<Token>),
    /// One that could not be looked up.
    Unanswered(CommonError),
}

impl Client {
    /// Looks at who calls: at what the limits have found, or else it is found now.
    pub(crate) async fn look<T>(
        parts: &Parts,
        state: &AppState,
        look: impl FnOnce(&Self) -> T,
    ) -> T {
        match parts.extensions.get::<Self>() {
            Some(found) => look(found),
            // In a box: where limits are on, as by default, nobody need carry the room for this.
            None => look(&Box::pin(Self::find(parts, state)).await),
        }
    }

    async fn find(parts: &Parts, state: &AppState) -> Self {
        let now = state.clock.now();
        let active = state.limits.active();
        let address = address(&active, peer(&parts.extensions), &parts.headers);
        match Self::known(state, now, address, &parts.headers, parts.uri.query()) {
            Ok(known) => known,
            Err(digest) => Self { now, address, credential: look_up(state, digest).await },
        }
    }

    /// Who calls, if the database need not be asked; or else the token to ask it about.
    pub(crate) fn known(
        state: &AppState,
        now: Timestamp,
        address: IpAddr,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Self, Digest> {
        let credential = match token(headers, query).map(|token| token.map(|token| token.digest()))
        {
            Err(BearerError::Several) => Credential::Several,
            Ok(None) => Credential::Nothing,
            Ok(Some(digest)) if state.application_services.by_token(digest).is_some() => {
                Credential::Service(digest)
            }
            Ok(Some(digest)) => {
                Credential::Token(digest, state.store.cached_token(&digest).ok_or(digest)?)
            }
        };
        Ok(Self { now, address, credential })
    }
}

/// Who is at the other end. Only a call from within this process has nobody there.
pub(crate) fn peer(extensions: &Extensions) -> IpAddr {
    extensions.get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip())
}

/// The client: the peer, or whom a proxy of ours speaks for.
pub(crate) fn address(active: &ActiveLimits, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    if active.proxies.contains(peer) {
        let lines = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        return active.proxies.client_address(
            peer,
            lines(X_FORWARDED_FOR),
            lines(header::FORWARDED),
        );
    }
    if headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(header::FORWARDED) {
        active.warn_of_proxy(peer);
    }
    peer
}

/// The one token that is credential, if there is one.
fn token(headers: &HeaderMap, query: Option<&str>) -> Result<Option<Secret>, BearerError> {
    let authorization = headers.get_all(header::AUTHORIZATION).iter();
    let authorization = authorization.map(HeaderValue::as_bytes);
    let parameters: Vec<_> = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(name, _)| name == "access_token")
        .map(|(_, value)| value)
        .collect();
    bearer::extract_token(authorization, parameters.iter().map(AsRef::as_ref))
}

/// What the database knows of a token.
pub(crate) async fn look_up(state: &AppState, digest: Digest) -> Credential {
    match state.store.token(digest).await {
        Ok(Some(token)) => Credential::Token(digest, token),
        Ok(None) => Credential::Unknown,
        Err(error) => Credential::Unanswered(error.into()),
    }
}
