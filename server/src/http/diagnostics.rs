//! Details for `belfry doctor`, in the response to a health request with the header
//! [`DIAGNOSTICS_HEADER`].
//!
//! Only a request signed with this process's key gets them. The client's address does not matter,
//! because a proxy in between may be misconfigured. The response proves that it comes from this
//! process.

use std::net::SocketAddr;

use axum::http::HeaderName;
use axum::http::request::Parts;
use rustix::process::{Resource, getrlimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::app::AppState;
use crate::config::SettingDigests;
use crate::diagnostics_key::{Challenge, DiagnosticsKey, DiagnosticsPurpose};
use crate::http::extract::client::FORWARDING_HEADERS;
use crate::log::request_context::RequestContext;

/// The header of requests from `belfry doctor`.
pub const DIAGNOSTICS_HEADER: &str = "belfry-diagnostics";

/// The body of a response to a health request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// Only for requests from `belfry doctor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Diagnostics>,
}

/// Details, and the signature that proves where they come from.
#[derive(Debug, Serialize, Deserialize)]
pub struct Diagnostics {
    /// [`ProcessSettings`] or [`ReceivedRequest`], depending on the purpose of the request. Not
    /// parsed, because the signature covers the JSON text.
    details: Box<RawValue>,
    signature: String,
}

/// The process and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSettings {
    /// The version of this process.
    pub version: String,
    /// The process's limit on open files; `None` for no limit.
    pub open_files: Option<u64>,
    /// Digests of the settings in use, which `belfry doctor` compares with those that it loads.
    pub settings: SettingDigests,
}

/// A request as this process received it, possibly through proxies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedRequest {
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// True if the peer is one of `trusted_proxies`.
    pub is_trusted_proxy: bool,
    /// The names of the forwarding headers of the request.
    pub headers: Vec<String>,
}

impl Diagnostics {
    /// Returns the details, if the request was signed with this process's key.
    pub(super) fn for_request(state: &AppState, parts: &Parts) -> Option<Self> {
        let key = &state.diagnostics_key;
        let challenge =
            Challenge::parse(parts.headers.get(DIAGNOSTICS_HEADER)?.to_str().ok()?, key)?;
        let serialized_details = match challenge.purpose {
            DiagnosticsPurpose::Settings => to_raw_value(&ProcessSettings {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                open_files: getrlimit(Resource::Nofile).current,
                settings: SettingDigests::clone(&state.setting_digests.load()),
            }),
            DiagnosticsPurpose::Arrival => to_raw_value(&ReceivedRequest::new(state, parts)?),
        };
        let details = serialized_details.ok()?;
        let signature = challenge.sign_response(key, details.get());
        Some(Self { details, signature })
    }

    /// Returns the details, if they are the response to `challenge` by a process that has `key`.
    pub fn verify<T: DeserializeOwned>(
        &self,
        challenge: &Challenge,
        key: &DiagnosticsKey,
    ) -> Option<T> {
        let details = self.details.get();
        let is_genuine = challenge.verify_response(key, details, &self.signature);
        serde_json::from_str(details).ok().filter(|_| is_genuine)
    }
}

impl ReceivedRequest {
    fn new(state: &AppState, parts: &Parts) -> Option<Self> {
        let limits = state.limits.active();
        let peer = RequestContext::with_current(|request| request.peer)?;
        let configured_header = limits.proxy_header.as_ref().map(HeaderName::as_str);
        let headers = configured_header.into_iter().chain(FORWARDING_HEADERS);
        Some(Self {
            peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
            is_trusted_proxy: limits.proxies.contains(peer.ip()),
            headers: headers
                .filter(|name| parts.headers.contains_key(*name))
                .map(str::to_owned)
                .collect(),
        })
    }
}
