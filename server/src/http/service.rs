//! The whole HTTP service: the router and the state behind it, and the record of every response.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::Response;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::error::format::ErrorFormat;
use crate::http::extract::client::Peer;
use crate::http::layer::area;
use crate::http::paths::{HEALTHZ, READYZ};
use crate::http::router::{Routes, metrics_routes, routes};

/// The router and the state behind it.
#[derive(Clone)]
pub struct HttpService {
    routes: Arc<Routes>,
    state: Arc<AppState>,
}

impl HttpService {
    /// The service of the public address.
    pub fn new(state: Arc<AppState>) -> Self {
        Self { routes: Arc::new(routes(&state)), state }
    }

    /// The service of the metrics address, without other routes.
    pub fn metrics_only(state: Arc<AppState>) -> Self {
        Self { routes: Arc::new(metrics_routes(&state)), state }
    }

    /// The state shared by the handlers.
    pub fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    /// Responds to a request of this peer. If a handler panics, the status is 500.
    pub async fn respond(&self, peer: Peer, request: Request<Body>) -> Response {
        self.serve(peer, request, false).await
    }

    /// Responds on a connection beyond the maximum, to health requests only.
    pub async fn respond_to_health(&self, peer: Peer, request: Request<Body>) -> Response {
        self.serve(peer, request, true).await
    }

    /// Handles a request and records its response.
    async fn serve(&self, peer: Peer, mut request: Request<Body>, health_only: bool) -> Response {
        let started = Instant::now();
        request.extensions_mut().insert(peer);
        let (method, uri) = (method_name(request.method()), request.uri().clone());
        let route = self.routes.find(uri.path());
        let response = if health_only && ![HEALTHZ, READYZ].contains(&uri.path()) {
            let reason = "Too many connections at the moment; try again soon";
            CommonError::Unavailable(reason).to_response(ErrorFormat::Api)
        } else {
            area::serve(route.area, &self.state, request, self.routes.router.clone()).await
        };
        let duration = started.elapsed();
        self.routes.metrics[route.index].record(method, response.status(), duration);
        // The query is not logged, because it may contain a token.
        let (route, path, status) = (route.pattern, uri.path(), response.status().as_u16());
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(method, route, path, status, duration_us, "request handled");
        response
    }
}

/// The name of a method for logs and metrics. Clients can invent methods, so unusual ones have one
/// name.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
pub(crate) mod tests;
