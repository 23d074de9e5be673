//! The HTTP service: routes requests, and records every response in metrics and the access log.

mod access_log;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use axum::response::Response;
use belfry_core::request::{RequestId, TraceId};

use self::access_log::AccessLogEntry;
use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::extract::client::Peer;
use crate::http::layer::area::{self, Route};
use crate::http::router::{Routes, metrics_routes, routes};
use crate::log::request_context::{self, RequestContext};
use crate::metrics::method_name;
use crate::paths::{HEALTHZ, READYZ};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The HTTP service with its routes and shared state.
#[derive(Clone)]
pub struct HttpService {
    routes: Arc<Routes>,
    state: AppState,
}

impl HttpService {
    /// Returns the service for the public address.
    pub fn new(state: AppState) -> Self {
        Self { routes: Arc::new(routes(&state)), state }
    }

    /// Returns the service for the metrics address, with metrics and readiness only.
    pub fn metrics_only(state: AppState) -> Self {
        Self { routes: Arc::new(metrics_routes(&state)), state }
    }

    /// Returns the state shared by the handlers.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// Responds to a request from this peer. If a handler panics, the status is 500.
    pub async fn respond(&self, peer: Peer, request: Request<Body>) -> Response {
        self.serve(peer, request, None).await
    }

    /// Responds on a connection beyond the maximum: serves health requests and rejects all others.
    pub async fn respond_over_capacity(&self, peer: Peer, request: Request<Body>) -> Response {
        let is_health_request = [HEALTHZ, READYZ].contains(&request.uri().path());
        let reason = "Too many connections at the moment; try again soon";
        let rejection = (!is_health_request).then_some(CommonError::Unavailable(reason));
        self.serve(peer, request, rejection).await
    }

    pub(crate) async fn reject(
        &self,
        peer: Peer,
        request: Request<Body>,
        reason: &str,
    ) -> Response {
        self.serve(peer, request, Some(CommonError::Malformed(reason.to_owned()))).await
    }

    /// Runs a health check from within the process. The check is not recorded, because metrics and
    /// the access log cover client requests only.
    pub async fn check_health(&self) -> StatusCode {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = Uri::from_static(HEALTHZ);
        let route = self.routes.find(HEALTHZ);
        let id = request_context::new_request_id();
        let method = method_name(request.method());
        let context = RequestContext::new(id, None, peer, method, route.pattern);
        let router = self.routes.router.clone();
        let handler_future = pin!(area::serve(route, &self.state, request, router));
        context.scope(handler_future).await.status()
    }

    /// Serves a request in its context, or rejects it with this error, and adds the request id to
    /// the response.
    async fn serve(
        &self,
        peer: Peer,
        request: Request<Body>,
        rejection: Option<CommonError>,
    ) -> Response {
        let route = self.routes.find(request.uri().path());
        let Peer(peer) = peer;
        let id = self.request_id(peer.ip(), request.headers());
        let trace_id =
            single_header(request.headers(), &TRACEPARENT).and_then(TraceId::parse_traceparent);
        let method = method_name(request.method());
        let context = RequestContext::new(id, trace_id, peer, method, route.pattern);
        // Pinned here, because the future is large and would be moved otherwise.
        let handler_future = pin!(self.respond_and_record(route, method, request, rejection));
        let mut response = context.scope(handler_future).await;
        let id = HeaderValue::from_bytes(id.as_bytes()).expect("ids are plain ASCII");
        response.headers_mut().insert(X_REQUEST_ID, id);
        response
    }

    /// Calls the handler of a request, or rejects it, and records the response.
    async fn respond_and_record(
        &self,
        route: Route,
        method: &'static str,
        request: Request<Body>,
        rejection: Option<CommonError>,
    ) -> Response {
        let start = Instant::now();
        let log_entry = AccessLogEntry::new(&self.state, &request);
        let response = match rejection {
            Some(error) => area::reject(route, &self.state, &error),
            None => area::serve(route, &self.state, request, self.routes.router.clone()).await,
        };
        let duration = start.elapsed();
        self.routes.metrics[route.index].record(method, response.status(), duration);
        if let Some(log_entry) = log_entry {
            log_entry.log(self.state.config.log.access, &response, duration);
        }
        response
    }

    /// Returns the request id from a trusted proxy, or a new one.
    fn request_id(&self, peer: IpAddr, headers: &HeaderMap) -> RequestId {
        single_header(headers, &X_REQUEST_ID)
            .filter(|_| self.state.limits.active().proxies.contains(peer))
            .and_then(RequestId::parse)
            .unwrap_or_else(request_context::new_request_id)
    }
}

/// Returns the value of a header that is present exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).into_iter();
    let value = values.next()?;
    values.next().is_none().then_some(value.as_bytes())
}

#[cfg(test)]
pub(crate) mod tests;
