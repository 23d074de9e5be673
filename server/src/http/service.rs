//! The whole HTTP service: the router and the state behind it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use tower_service::Service;

use crate::app::AppState;
use crate::http::extract::client::Peer;
use crate::http::router::{metrics_router, router};

/// The router and the state behind it.
#[derive(Clone)]
pub struct HttpService {
    router: Router,
    state: Arc<AppState>,
}

impl HttpService {
    /// The service of the public address.
    #[must_use]
    pub fn new(state: Arc<AppState>) -> Self {
        Self { router: router(&state), state }
    }

    /// The service of the metrics address, without other routes.
    #[must_use]
    pub fn metrics_only(state: Arc<AppState>) -> Self {
        Self { router: metrics_router(&state), state }
    }

    /// The state shared by the handlers.
    #[must_use]
    pub fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    /// Responds to a request of this peer. If a handler panics, the status is 500.
    pub async fn respond(&self, peer: Peer, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(peer);
        match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
