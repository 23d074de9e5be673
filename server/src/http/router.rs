//! Every route of the service, one per line.

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};

use super::account::{page, sign_in};
use super::api::{accounts, apps, instance};
use super::error::CommonError;
use super::matrix::{self, login, register};
use super::oauth::{authorize, introspect, metadata, out_of_band, revoke, token, userinfo};
use super::push::{evaluate, explain, rules};
use super::{assets, gateway, health};
use crate::app::AppState;

/// The versions of the push rules' interface, which are the same to us.
pub(super) const APIS: [&str; 3] = ["api/v1", "r0", "v3"];

/// Every route.
pub(super) fn router(state: Arc<AppState>) -> Router {
    let mut routes = Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/.well-known/oauth-authorization-server", metadata::metadata(&state))
        .route("/.well-known/nodeinfo", instance::nodeinfo_links(&state))
        .route("/nodeinfo/2.0", instance::nodeinfo(&state))
        .route("/api/v1/instance", instance::v1(&state))
        .route("/api/v2/instance", instance::v2(&state))
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
        .route("/oauth/authorize/native", get(out_of_band::native))
        .route("/oauth/sign_in", get(sign_in::sign_in_page).post(sign_in::sign_in))
        .route("/oauth/sign_out", get(sign_in::sign_out_page).post(sign_in::sign_out))
        .route("/oauth/account", get(page::account_page))
        .route("/oauth/account/remove_app", post(page::remove_app))
        .route("/static/{file}", get(assets::asset))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(revoke::revoke))
        .route("/oauth/introspect", post(introspect::introspect))
        .route("/oauth/userinfo", get(userinfo::userinfo).post(userinfo::userinfo))
        .route("/gateway/check", any(gateway::check))
        .route("/gateway/check/", any(gateway::check))
        .route("/gateway/check/{*call}", any(gateway::check));
    if state.config.metrics_listen.is_none() {
        routes = routes.merge(metrics_routes());
    }
    for segment in &state.config.name_segments {
        routes = routes
            .route(&format!("/{segment}/client/versions"), get(matrix::versions))
            .route(&format!("/{segment}/app/v1/evaluate"), post(evaluate::evaluate));
        for api in APIS {
            routes = routes.merge(client_routes(&format!("/{segment}/client/{api}")));
        }
    }
    finish(routes, state)
}

/// The push rules, and what Matrix clients ask beside them, under one prefix.
fn client_routes(prefix: &str) -> Router<Arc<AppState>> {
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
pub(super) fn metrics_router(state: Arc<AppState>) -> Router {
    finish(metrics_routes(), state)
}

fn metrics_routes() -> Router<Arc<AppState>> {
    Router::new().route("/metrics", get(health::metrics))
}

fn finish(routes: Router<Arc<AppState>>, state: Arc<AppState>) -> Router {
    routes
        .fallback(async || CommonError::NoSuchPath)
        .method_not_allowed_fallback(async || CommonError::WrongMethod)
        .with_state(state)
}
