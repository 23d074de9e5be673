//! The service as HTTP: what it holds, and every route on a line of its own.

mod accounts;
mod apps;
mod area;
mod assets;
mod authorize;
mod bearer;
mod body;
mod client;
mod consent;
mod cookie;
mod discovery;
mod error;
mod form;
mod health;
mod instance;
mod introspect;
mod login;
mod native;
mod page;
mod pending;
mod reader;
mod revoke;
mod site;
mod token;
mod userinfo;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use self::error::Problem;
pub use self::site::{Peer, Site};
use crate::clock::Clock;
use crate::config::{BaseUrl, Config};
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
        .route("/.well-known/oauth-authorization-server", discovery::metadata(&belfry))
        .route("/.well-known/nodeinfo", instance::nodeinfo_links(&belfry))
        .route("/nodeinfo/2.0", instance::nodeinfo(&belfry))
        .route("/api/v1/instance", instance::v1(&belfry))
        .route("/api/v2/instance", instance::v2(&belfry))
        .route("/api/v1/apps", post(apps::register))
        .route("/api/v1/apps/verify_credentials", get(apps::verify_credentials))
        .route("/api/v1/accounts", post(accounts::sign_up))
        .route("/api/v1/accounts/verify_credentials", get(accounts::verify_credentials))
        .route(
            "/oauth/authorize",
            get(authorize::begin).post(authorize::decide).head(authorize::head),
        )
        .route("/oauth/authorize/resume", get(authorize::resume))
        .route("/oauth/authorize/native", get(native::native))
        .route("/oauth/sign_in", get(login::sign_in_page).post(login::sign_in))
        .route("/oauth/sign_out", get(login::sign_out_page).post(login::sign_out))
        .route("/static/{file}", get(assets::asset))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(revoke::revoke))
        .route("/oauth/introspect", post(introspect::introspect))
        .route("/oauth/userinfo", get(userinfo::userinfo).post(userinfo::userinfo));
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
