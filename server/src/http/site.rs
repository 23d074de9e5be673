//! The whole site as one function from a request to an answer: what surrounds every handler.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use axum::response::Response;
use futures_util::FutureExt;
use tower::ServiceExt;

use super::area::Area;
use super::error::Problem;
use super::{Belfry, metrics_router, router};

/// Who is at the other end of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// The routes, and what surrounds them.
#[derive(Clone)]
pub struct Site {
    router: Router,
    belfry: Arc<Belfry>,
}

impl Site {
    /// The public site.
    #[must_use]
    pub fn new(belfry: Arc<Belfry>) -> Self {
        Self { router: router(Arc::clone(&belfry)), belfry }
    }

    /// The site that only has metrics.
    #[must_use]
    pub fn of_metrics(belfry: Arc<Belfry>) -> Self {
        Self { router: metrics_router(Arc::clone(&belfry)), belfry }
    }

    /// What all of it rests on.
    #[must_use]
    pub fn belfry(&self) -> &Arc<Belfry> {
        &self.belfry
    }

    /// Answers a request. It always does: a handler that panics costs its own caller a 500.
    pub async fn answer(&self, mut request: Request<Body>) -> Response {
        let began = Instant::now();
        drop_last_slash(request.uri_mut());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let calling = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind();
        let mut answer = match calling.await {
            Ok(Ok(answer)) => self.shape(answer, &path),
            Ok(Err(never)) => match never {},
            Err(_) => {
                self.belfry.metrics.panics.inc();
                tracing::error!(%method, path, "a handler panicked");
                Problem::Internal.answer(self.area(&path))
            }
        };
        self.mark(answer.headers_mut(), &path);
        let took = began.elapsed();
        self.belfry.metrics.answered(answer.status(), took.as_secs_f64());
        // The path alone: a query may hold a token.
        tracing::debug!(%method, path, status = answer.status().as_u16(), ?took);
        answer
    }

    /// Writes a problem in the shape of its area; the headers that came with it stay.
    fn shape(&self, mut answer: Response, path: &str) -> Response {
        let Some(problem) = answer.extensions_mut().remove::<Problem>() else { return answer };
        let mut written = problem.answer(self.area(path));
        // The router has measured the empty body that the problem travelled in.
        answer.headers_mut().remove(header::CONTENT_LENGTH);
        for (name, value) in answer.headers() {
            written.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        written
    }

    /// What every answer says: not to guess its type, and not to keep what is one caller's.
    fn mark(&self, headers: &mut HeaderMap, path: &str) {
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if headers.contains_key(header::CACHE_CONTROL) {
            return;
        }
        let area = self.area(path);
        if area == Area::OAuth {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        } else if area == Area::Rules || path.starts_with("/api/") {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        }
    }

    fn area(&self, path: &str) -> Area {
        Area::of(path, &self.belfry.config.name_segments)
    }
}

/// Clients write `/oauth/authorize/` and `/api/v1/instance/` and mean the same. Under the push rules
/// a last slash has a meaning, so there it stays.
fn drop_last_slash(uri: &mut Uri) {
    let path = uri.path();
    let may_have_one =
        ["/api/", "/oauth/", "/.well-known/"].iter().any(|area| path.starts_with(area));
    let Some(bare) = path.strip_suffix('/').filter(|_| may_have_one) else { return };
    let path_and_query = match uri.query() {
        Some(query) => format!("{bare}?{query}"),
        None => bare.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(path_and_query).ok();
    if let Ok(without) = Uri::from_parts(parts) {
        *uri = without;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_slash_makes_no_difference_to_the_api_and_to_oauth() {
        for (sent, routed) in [
            ("/oauth/authorize/?a=/b/", "/oauth/authorize?a=/b/"),
            ("/api/v1/instance/", "/api/v1/instance"),
            ("/.well-known/nodeinfo/", "/.well-known/nodeinfo"),
            ("http://ring.example/oauth/token/", "http://ring.example/oauth/token"),
            ("/oauth/token//", "/oauth/token/"),
            ("/oauth/", "/oauth"),
            ("/_matrix/client/v3/pushrules/", "/_matrix/client/v3/pushrules/"),
            ("/healthz/", "/healthz/"),
            ("/", "/"),
            ("*", "*"),
        ] {
            let mut uri: Uri = sent.parse().unwrap();
            drop_last_slash(&mut uri);
            assert_eq!(uri.to_string(), routed);
        }
    }
}
