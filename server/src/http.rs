//! The service as HTTP: what it holds, and every route on a line of its own.

mod area;
mod body;
mod error;
mod gateway;
mod health;
mod limit;
mod site;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};

use self::error::Problem;
pub use self::limit::guard::{Counted, Guard};
pub use self::limit::refused::Refused;
#[cfg(test)]
pub(crate) use self::site::tests::strange_site;
pub use self::site::{Peer, Site};
use crate::clock::Clock;
use crate::config::{BaseUrl, Config};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::passwords::Passwords;
use crate::store::Store;

/// Everything that a handler can ask.
pub struct Belfry {
    /// The settings.
    pub config: Config,
    /// The address under which clients reach this service.
    pub base_url: BaseUrl,
    /// What is remembered.
    pub store: Store,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How often is too often.
    pub limits: Limits,
    /// Password hashing.
    pub passwords: Passwords,
    /// What is counted.
    pub metrics: Metrics,
}

impl Belfry {
    /// The part of a user id after the colon.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.config.server_name.as_deref().unwrap_or_else(|| self.base_url.authority())
    }
}

/// Every route.
fn router(belfry: Arc<Belfry>) -> Router {
    let mut routes = Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/gateway/check", any(gateway::check))
        .route("/gateway/check/", any(gateway::check))
        .route("/gateway/check/{*call}", any(gateway::check));
    if belfry.config.metrics_listen.is_none() {
        routes = routes.merge(metrics_routes());
    }
    finish(routes, belfry)
}

/// The routes of the address that is set aside for metrics.
fn metrics_router(belfry: Arc<Belfry>) -> Router {
    finish(metrics_routes(), belfry)
}

fn metrics_routes() -> Router<Arc<Belfry>> {
    Router::new().route("/metrics", get(health::metrics))
}

fn finish(routes: Router<Arc<Belfry>>, belfry: Arc<Belfry>) -> Router {
    routes
        .fallback(async || Problem::NoSuchPath)
        .method_not_allowed_fallback(async || Problem::WrongMethod)
        .with_state(belfry)
}
