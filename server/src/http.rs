//! The service as HTTP: what it holds, and every route on a line of its own.

mod account;
mod accounts;
mod apps;
mod area;
mod assets;
mod authorize;
mod bearer;
mod body;
mod caller;
mod client;
mod consent;
mod cookie;
mod cors;
mod discovery;
mod entrant;
mod error;
mod evaluate;
mod explain;
mod form;
mod gateway;
mod health;
mod instance;
mod introspect;
mod json;
mod limit;
mod matrix;
mod native;
mod page;
mod password;
mod pending;
mod reader;
mod revoke;
mod rules;
mod sign_in;
mod site;
mod token;
mod userinfo;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};
use tokio::sync::Semaphore;

use self::error::Problem;
pub use self::limit::guard::Guard;
pub use self::limit::refused::Refused;
use self::matrix::{login, register};
pub use self::rules::Changes;
#[cfg(test)]
pub(crate) use self::site::tests::strange_site;
pub use self::site::{Peer, Site};
use crate::application_services::ApplicationServices;
use crate::audience::KeptAudience;
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
    /// Who may act for many users.
    pub application_services: ApplicationServices,
    /// The rules of those whom events are judged for.
    pub audience: KeptAudience,
    /// Changes of rules that wait to be saved.
    pub changes: Changes,
    /// The turn to explain a verdict.
    explaining: Arc<Semaphore>,
}

impl Belfry {
    /// Puts together what the settings ask for, around a store and a clock.
    pub async fn new(
        config: Config,
        base_url: BaseUrl,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut metrics = Metrics::default();
        let passwords = Passwords::new(config.passwords.parallel);
        metrics.add_passwords(passwords.made().clone());
        Ok(Self {
            limits: Limits::open(&config, &mut metrics).await?,
            passwords,
            application_services: ApplicationServices::load(&config.application_services)?,
            audience: KeptAudience::new(config.store.cache_bytes / 8),
            changes: Changes::default(),
            explaining: Arc::new(Semaphore::new(1)),
            config,
            base_url,
            store,
            clock,
            metrics,
        })
    }

    /// The part of a user id after the colon.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.config.name_of_server(&self.base_url)
    }
}

/// The versions of the push rules' interface, which are the same to us.
const APIS: [&str; 3] = ["api/v1", "r0", "v3"];

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
            get(authorize::begin)
                .post(authorize::decide)
                .head(async || authorize::no_head("GET,POST")),
        )
        .route(
            "/oauth/authorize/resume",
            get(authorize::resume).head(async || authorize::no_head("GET")),
        )
        .route("/oauth/authorize/native", get(native::native))
        .route("/oauth/sign_in", get(sign_in::sign_in_page).post(sign_in::sign_in))
        .route("/oauth/sign_out", get(sign_in::sign_out_page).post(sign_in::sign_out))
        .route("/oauth/account", get(account::account_page))
        .route("/oauth/account/remove_app", post(account::remove_app))
        .route("/static/{file}", get(assets::asset))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(revoke::revoke))
        .route("/oauth/introspect", post(introspect::introspect))
        .route("/oauth/userinfo", get(userinfo::userinfo).post(userinfo::userinfo))
        .route("/gateway/check", any(gateway::check))
        .route("/gateway/check/", any(gateway::check))
        .route("/gateway/check/{*call}", any(gateway::check));
    if belfry.config.metrics_listen.is_none() {
        routes = routes.merge(metrics_routes());
    }
    for segment in &belfry.config.name_segments {
        routes = routes
            .route(&format!("/{segment}/client/versions"), get(matrix::versions))
            .route(&format!("/{segment}/app/v1/evaluate"), post(evaluate::evaluate));
        for api in APIS {
            routes = routes.merge(client_routes(&format!("/{segment}/client/{api}")));
        }
    }
    finish(routes, belfry)
}

/// The push rules, and what Matrix clients ask beside them, under one prefix.
fn client_routes(prefix: &str) -> Router<Arc<Belfry>> {
    let at = |path: &str| format!("{prefix}{path}");
    let account_data = "/user/{user}/account_data/m.push_rules";
    Router::new()
        .route(&at("/pushrules/"), any(rules::answer))
        .route(&at("/pushrules/explain"), post(explain::explain))
        .route(&at("/pushrules/{*rest}"), any(rules::answer))
        .route(&at("/versions"), get(matrix::versions))
        .route(&at("/login"), get(login::flows).post(login::login))
        .route(&at("/register"), post(register::register))
        .route(&at("/logout"), post(matrix::logout))
        .route(&at("/account/whoami"), get(matrix::whoami))
        .route(&at(account_data), get(matrix::account_data))
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
