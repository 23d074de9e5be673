//! Details of a request for `belfry doctor`: over which proxy it arrived, and with which headers.
//!
//! A request with the header [`DIAGNOSTICS_KEY`] gets them if it comes from an operator, or if the
//! header contains the key. The key is random, differs between processes, and is returned to
//! operators only. A request with the key may come from any address, because the proxy in between may
//! be configured wrongly; its response proves that it reached this process.

use std::net::SocketAddr;

use axum::http::HeaderName;
use axum::http::request::Parts;
use belfry_core::secret::Sha256Digest;
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use crate::app::AppState;
use crate::config::SettingDigests;
use crate::http::extract::client::FORWARDING_HEADERS;
use crate::log::request_context::RequestContext;

/// The header of requests of `belfry doctor`.
pub const DIAGNOSTICS_KEY: &str = "belfry-diagnostics-key";

/// How a request arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// The key of this process; for operators.
    pub key: Option<String>,
    /// Whether the request had that key.
    pub has_key: bool,
    /// The settings of this process; for operators.
    #[serde(default)]
    pub settings: Option<SettingDigests>,
    /// The version of this process.
    pub version: String,
    /// Its limit on open files; `None` for no limit.
    pub open_files: Option<u64>,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// Whether the peer is one of `trusted_proxies`.
    pub is_trusted_proxy: bool,
    /// The names of the forwarding headers of the request.
    pub headers: Vec<String>,
}

/// The details of a request that is authorised to get them.
pub(super) fn of(state: &AppState, parts: &Parts, is_operator: bool) -> Option<Diagnostics> {
    let given = parts.headers.get(DIAGNOSTICS_KEY)?.to_str().ok()?;
    // Digests are compared in constant time.
    let has_key = Sha256Digest::of(given) == Sha256Digest::of(&state.diagnostics_key);
    if !is_operator && !has_key {
        return None;
    }
    let active = state.limits.active();
    let peer = RequestContext::read(|request| request.peer)?;
    let configured = active.proxy_header.as_ref().map(HeaderName::as_str);
    let headers = configured.into_iter().chain(FORWARDING_HEADERS);
    Some(Diagnostics {
        has_key,
        key: is_operator.then(|| state.diagnostics_key.clone()),
        settings: is_operator.then(|| SettingDigests::clone(&state.settings.load())),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        open_files: getrlimit(Resource::Nofile).current,
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
        is_trusted_proxy: active.proxies.contains(peer.ip()),
        headers: headers
            .filter(|name| parts.headers.contains_key(*name))
            .map(str::to_owned)
            .collect(),
    })
}
