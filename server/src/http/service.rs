//! The whole HTTP service: the router and the state behind it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
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

    /// Responds on a connection beyond the maximum, to health requests only.
    pub async fn respond_to_health(&self, peer: Peer, request: Request<Body>) -> Response {
        if [HEALTHZ, READYZ].contains(&request.uri().path()) {
            return self.respond(peer, request).await;
        }
        let error = CommonError::Unavailable("Too many connections at the moment; try again soon");
        error.to_response(ErrorFormat::Api)
    }

    /// Responds to a request of this peer. If a handler panics, the status is 500.
    pub async fn respond(&self, peer: Peer, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(peer);
        let area = self.routes.area(request.uri().path());
        area::serve(area, &self.state, request, self.routes.router.clone()).await
    }
}

#[cfg(test)]
pub(crate) mod tests;
