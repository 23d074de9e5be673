//! The access log: one line for each request that the setting `log.access` includes, under the
//! target `belfry::access`.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, Request, Uri, header};
use axum::response::Response;

use crate::app::AppState;
use crate::config::AccessLog;
use crate::escape::shorten;
use crate::http::extract::client::{client_address, peer_address};

/// The maximum length of a path in the log, in bytes. Bounded because clients choose the path.
const MAX_PATH_BYTES: usize = 500;

/// The maximum length of a user agent in the log, in bytes. Bounded because clients choose it.
const MAX_USER_AGENT_BYTES: usize = 200;

/// A request that may be logged once its response is known.
pub(super) struct AccessLogEntry {
    uri: Uri,
    address: IpAddr,
    user_agent: Option<HeaderValue>,
}

impl AccessLogEntry {
    /// Creates the entry for a request; `None` if the access log is off, unless the log level is
    /// `debug`, which logs all requests.
    pub(super) fn new(state: &AppState, request: &Request<Body>) -> Option<Self> {
        if state.config.log.access == AccessLog::Off && !is_debug_enabled() {
            return None;
        }
        let headers = request.headers();
        let address = client_address(&state.limits.active(), peer_address(), headers);
        Some(Self {
            uri: request.uri().clone(),
            address: address.to_canonical(),
            user_agent: headers.get(header::USER_AGENT).cloned(),
        })
    }

    /// Logs the request, if the setting includes it. The line also has the fields of the request's
    /// context.
    pub(super) fn log(self, setting: AccessLog, response: &Response, duration: Duration) {
        let status = response.status();
        let is_error = status.is_client_error() || status.is_server_error();
        let is_included = match setting {
            AccessLog::Off => false,
            AccessLog::Errors => is_error,
            AccessLog::All => true,
        };
        if !is_included && !is_debug_enabled() {
            return;
        }
        let user_agent = self.user_agent.as_ref().and_then(|value| value.to_str().ok());
        tracing::info!(
            target: "belfry::access",
            // Without the query, which may contain a token.
            path = shorten(self.uri.path(), MAX_PATH_BYTES),
            status = status.as_u16(),
            duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            bytes = response.body().size_hint().exact(),
            address = %self.address,
            user_agent = user_agent.map(|name| shorten(name, MAX_USER_AGENT_BYTES)),
            "request"
        );
    }
}

fn is_debug_enabled() -> bool {
    tracing::enabled!(target: "belfry::access", tracing::Level::DEBUG)
}
