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
        answer
            .headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
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
        for (name, value) in answer.headers() {
            written.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        written
    }

    fn area(&self, path: &str) -> Area {
        Area::of(path, &self.belfry.config.name_segments)
    }
}
