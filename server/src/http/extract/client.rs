//! The client of a request: its address and its credential, resolved once per request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use belfry_core::oauth::token::Token;
use belfry_core::oauth::token::{self, MultipleTokens};
use belfry_core::percent;
use belfry_core::secret::{HashedSecret, PresentedSecret, Secret, SplitToken};
use belfry_store::PresentedToken;
use jiff::Timestamp;

use crate::app::AppState;
use crate::auth::application_services::ApplicationService;
use crate::http::error::CommonError;
use crate::limits::ActiveLimits;
use crate::log::request_context::RequestContext;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Headers in which proxies pass the client's address.
pub(crate) const FORWARDING_HEADERS: [&str; 6] = [
    "x-forwarded-for",
    "forwarded",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "fly-client-ip",
];

/// The remote address of a request's connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) now: Timestamp,
    /// The peer's address; behind a trusted proxy, the address that it forwards.
    pub(crate) address: IpAddr,
    pub(crate) credential: Credential,
}

/// The access token in the header or the query of a request.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// No token.
    Missing,
    MultipleTokens,
    /// A malformed token, or one that is not in the database.
    Unknown,
    ApplicationService(Arc<ApplicationService>),
    /// An issued token, which may be revoked or expired.
    Token(HashedSecret, PresentedToken),
    /// The token could not be looked up in the database.
    LookupFailed(CommonError),
}

impl Client {
    /// Calls `read` with the client. The client is resolved here if rate limits are off; otherwise
    /// the rate limits have already resolved it.
    pub(crate) async fn inspect<T>(
        parts: &Parts,
        state: &AppState,
        read: impl FnOnce(&Self) -> T,
    ) -> T {
        match parts.extensions.get::<Self>() {
            Some(client) => read(client),
            // Boxed to keep the future small in the common case, with limits on.
            None => read(&Box::pin(Self::resolve(parts, state)).await),
        }
    }

    async fn resolve(parts: &Parts, state: &AppState) -> Self {
        let now = state.clock.now();
        let limits = state.limits.active();
        let address = client_address(&limits, peer_address(), &parts.headers);
        let cached_client =
            Self::resolve_cached(state, now, address, &parts.headers, parts.uri.query());
        let client = match cached_client {
            Ok(client) => client,
            Err(secret) => Self { now, address, credential: look_up_token(state, secret).await },
        };
        client.record_in_log();
        client
    }

    pub(crate) fn valid_token(&self) -> Option<&Token> {
        match &self.credential {
            Credential::Token(_, token) => token.check_validity(self.now).is_ok().then_some(token),
            _ => None,
        }
    }

    /// Adds the account and the app of a valid token to the log lines of the request.
    pub(crate) fn record_in_log(&self) {
        if let Some(token) = self.valid_token() {
            let account = token.account.as_ref().map(|account| account.id);
            RequestContext::record_token(account, token.app_id);
        }
    }

    /// Returns the client, if its token is cached; otherwise the token to look up in the database.
    pub(crate) fn resolve_cached(
        state: &AppState,
        now: Timestamp,
        address: IpAddr,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Self, PresentedSecret> {
        let query = query.filter(|_| state.config.oauth.query_tokens);
        let credential = match extract_token(headers, query) {
            Err(MultipleTokens) => Credential::MultipleTokens,
            Ok(None) => Credential::Missing,
            Ok(Some(secret)) => match state.application_services.by_token(&secret) {
                Some(service) => Credential::ApplicationService(Arc::clone(service)),
                None => match SplitToken::parse(secret.reveal()).map(|token| token.presented()) {
                    None => Credential::Unknown,
                    Some(secret) => {
                        let token = state.store.cached_token(secret).ok_or(secret)?;
                        Credential::Token(secret.hashed, token)
                    }
                },
            },
        };
        Ok(Self { now, address, credential })
    }
}

/// Returns the peer address of the current request; unspecified if there is no request.
pub(crate) fn peer_address() -> IpAddr {
    RequestContext::with_current(|request| request.peer.ip())
        .unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}

/// Returns the client's address: the peer's, or the one that a trusted proxy forwards.
pub(crate) fn client_address(limits: &ActiveLimits, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    if limits.proxies.contains(peer) {
        let (list_header, forwarded_header) = match &limits.proxy_header {
            None => (Some(X_FORWARDED_FOR), Some(header::FORWARDED)),
            Some(name) if *name == header::FORWARDED => (None, Some(header::FORWARDED)),
            Some(name) => (Some(name.clone()), None),
        };
        let values = |name: Option<HeaderName>| {
            let values = name.map(|name| headers.get_all(name).into_iter());
            values.into_iter().flatten().map(HeaderValue::as_bytes)
        };
        return limits.proxies.client_address(peer, values(list_header), values(forwarded_header));
    }
    let is_present = |name: &HeaderName| headers.contains_key(name);
    if [X_FORWARDED_FOR, header::FORWARDED].iter().chain(&limits.proxy_header).any(is_present) {
        limits.warn_about_proxy(peer);
    }
    peer
}

/// Returns the client's address, if it is certain: the one that a trusted proxy forwards, or the
/// peer's if nothing indicates a proxy.
pub(crate) fn verified_address(limits: &ActiveLimits, parts: &Parts) -> Option<IpAddr> {
    let peer = peer_address();
    let address = client_address(limits, peer, &parts.headers);
    // A trusted proxy whose headers are missing, malformed or contradictory counts as the client.
    let is_forwarded = address.to_canonical() != peer.to_canonical();
    (is_forwarded || !may_be_forwarded(limits, parts)).then_some(address)
}

/// Returns whether anything in a request indicates a proxy: a header that proxies add, a domain
/// name as its host, or HTTP/1.0. Programs on the same network rarely use a domain name. nginx uses
/// HTTP/1.0 by default, and current clients do not.
fn may_be_forwarded(limits: &ActiveLimits, parts: &Parts) -> bool {
    let is_proxy_header = |name: &HeaderName| {
        let lowercase_name = name.as_str();
        FORWARDING_HEADERS.contains(&lowercase_name)
            || ["x-forwarded-", "x-original-"]
                .iter()
                .any(|prefix| lowercase_name.starts_with(prefix))
            || ["x-client-ip", "x-cluster-client-ip", "cdn-loop"].contains(&lowercase_name)
            || *name == header::VIA
            || limits.proxy_header.as_ref() == Some(name)
    };
    let host = parts.headers.get(header::HOST).map(HeaderValue::as_bytes);
    let hosts =
        host.map(Authority::try_from).into_iter().chain(parts.uri.authority().cloned().map(Ok));
    parts.version == Version::HTTP_10
        || parts.headers.keys().any(is_proxy_header)
        || hosts.into_iter().any(|host| !host.is_ok_and(|host| is_local_host(host.host())))
}

/// Returns whether a host is an IP address or `localhost`.
fn is_local_host(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.is_ok() || host.eq_ignore_ascii_case("localhost")
}

/// Returns a request's access token. A malformed query is ignored.
fn extract_token(
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Option<Secret>, MultipleTokens> {
    let authorization = headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes);
    let query = percent::parse_query(query.unwrap_or_default()).unwrap_or_default();
    let parameters = query.iter().filter(|(name, _)| name == "access_token");
    token::extract_token(authorization, parameters.map(|(_, value)| value.as_str()))
}

pub(crate) async fn look_up_token(state: &AppState, secret: PresentedSecret) -> Credential {
    match state.store.token(secret).await {
        Ok(Some(token)) => Credential::Token(secret.hashed, token),
        Ok(None) => Credential::Unknown,
        Err(error) => Credential::LookupFailed(error.into()),
    }
}
