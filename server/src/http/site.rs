//! The whole site as one function from a request to an answer: what surrounds every handler.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, header};
use axum::response::Response;
use futures_util::FutureExt;
use tower::ServiceExt;

use super::area::Area;
use super::cors;
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
    pub async fn answer(&self, request: Request<Body>) -> Response {
        let began = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let area = Area::of(&path, &self.belfry.config.name_segments);
        let is_open = cors::is_open(&path, area);
        let mut answer = match cors::preflight(&method).filter(|_| is_open) {
            Some(answer) => answer,
            None => self.call(request, area).await,
        };
        if is_open {
            cors::open(&mut answer);
        }
        let headers = answer.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if area == Area::Rules {
            // The address may hold a token: no proxy may keep anything of it.
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        }
        let took = began.elapsed();
        self.belfry.metrics.answered(answer.status(), took.as_secs_f64());
        // The path alone: a query may hold a token.
        tracing::debug!(%method, path, status = answer.status().as_u16(), ?took);
        answer
    }

    async fn call(&self, request: Request<Body>, area: Area) -> Response {
        let calling = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind();
        match calling.await {
            Ok(Ok(answer)) => shape(answer, area),
            Ok(Err(never)) => match never {},
            Err(_) => {
                self.belfry.metrics.panics.inc();
                tracing::error!(?area, "a handler panicked");
                Problem::Internal.answer(area)
            }
        }
    }
}

/// Writes a problem in the shape of its area; the headers that came with it stay.
fn shape(mut answer: Response, area: Area) -> Response {
    let Some(problem) = answer.extensions_mut().remove::<Problem>() else { return answer };
    let mut written = problem.answer(area);
    // The router has told the length of the empty body that the problem came in.
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    for (name, value) in answer.headers() {
        written.headers_mut().entry(name).or_insert_with(|| value.clone());
    }
    written
}
