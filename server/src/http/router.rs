//! All routes of the service, grouped in areas with common policies.

mod area_router;
#[cfg(test)]
mod tests;

use axum::response::Redirect;
use axum::routing::{any, get, post};

pub(crate) use self::area_router::{AreaRouter, Routes};
use super::account::{
    devices as devices_page, notifications, page, security, sign_in, sign_out, sign_up,
};
use super::api::admin::{self, actions};
use super::api::{accounts, apps, instance, subscription};
use super::error::{ErrorFormat, MatrixError};
use super::layer::area::{Area, CachePolicy, RateLimiting};
use super::layer::cors::Cors;
use super::matrix::{self, devices, login, pushers, register};
use super::oauth::{
    authorize, introspect, metadata, out_of_band, registration, revoke, token, userinfo,
};
use super::push::{
    evaluate, explain, notifications as notifications_api, notify, path, read, read_elsewhere,
    replace, write,
};
use super::{assets, front, gateway, health, metrics, openapi};
use crate::app::AppState;
use crate::paths;

/// The area of paths that no other area covers, with the API's error format and without caching.
pub(crate) const DEFAULT_AREA: Area = Area {
    error_format: ErrorFormat::Api,
    cors: Cors::SameOrigin,
    cache_policy: CachePolicy::NoStore,
    rate_limiting: RateLimiting::Counted,
    has_pages_for_browsers: false,
    ignores_trailing_slash: false,
    reports_load_as_unavailable: false,
};

const FRONT_PAGE: Area = Area { has_pages_for_browsers: true, ..DEFAULT_AREA };

/// Health, metrics and static files.
pub(crate) const EXEMPT: Area = Area { rate_limiting: RateLimiting::Exempt, ..DEFAULT_AREA };

/// Gateway checks. The Matrix error format suits all clients of the protected server, because it
/// has the field `error` that clients of Mastodon's API read.
const GATEWAY: Area = Area {
    error_format: ErrorFormat::Matrix,
    cache_policy: CachePolicy::PrivateNoStore,
    rate_limiting: RateLimiting::Gateway,
    ..DEFAULT_AREA
};

/// Metadata, which scripts of any origin may read.
const WELL_KNOWN: Area =
    Area { cors: Cors::AnyOrigin, ignores_trailing_slash: true, ..DEFAULT_AREA };

const API: Area = Area { cache_policy: CachePolicy::PrivateNoStore, ..WELL_KNOWN };

/// OAuth endpoints that only servers call.
const OAUTH: Area =
    Area { error_format: ErrorFormat::OAuth, ignores_trailing_slash: true, ..DEFAULT_AREA };

/// OAuth endpoints that web apps call, from any origin.
const OAUTH_CLIENT: Area = Area { cors: Cors::AnyOrigin, ..OAUTH };

/// The metadata of the issuer for clients without a secret. No request counts: clients read it before
/// a refresh, and some sign their user out after any error.
const ID_METADATA: Area = Area { rate_limiting: RateLimiting::Exempt, ..WELL_KNOWN };

/// The same metadata for Matrix clients.
const MATRIX_METADATA: Area = Area { rate_limiting: RateLimiting::Exempt, ..MATRIX };

/// OAuth endpoints for clients without a secret.
const ID: Area = Area { reports_load_as_unavailable: true, ..OAUTH_CLIENT };

/// Pages. They are authenticated by a cookie, so they do not allow other origins.
const PAGES: Area = Area { error_format: ErrorFormat::Page, ..OAUTH };

/// The push rules and the other endpoints for Matrix clients.
pub(crate) const MATRIX: Area = Area {
    error_format: ErrorFormat::Matrix,
    cors: Cors::AnyOrigin,
    cache_policy: CachePolicy::PrivateNoStore,
    ..DEFAULT_AREA
};

/// Returns the routes of the public address.
pub(crate) fn routes(state: &AppState) -> Routes {
    Routes::join(area_routers(state), DEFAULT_AREA, state)
}

pub(crate) fn metrics_routes(state: &AppState) -> Routes {
    let area = AreaRouter::new(EXEMPT)
        .route("/metrics", get(metrics::serve_metrics))
        .route(paths::READYZ, get(health::readyz_with_details));
    Routes::join(vec![area], EXEMPT, state)
}

fn area_routers(state: &AppState) -> Vec<AreaRouter> {
    let mut exempt = AreaRouter::new(EXEMPT)
        .route(paths::HEALTHZ, get(health::healthz))
        .route(paths::READYZ, get(health::readyz))
        .route(&format!("{}/{{file}}", paths::STATIC), get(assets::serve_asset))
        .not_found_under(paths::STATIC);
    if state.config.metrics_listen.is_none() {
        exempt = exempt.route("/metrics", get(metrics::serve_metrics_to_operators));
    }
    let gateway = AreaRouter::new(GATEWAY)
        .route(paths::GATEWAY_CHECK, any(gateway::check_request))
        .route(&format!("{}/", paths::GATEWAY_CHECK), any(gateway::check_request))
        .route(&format!("{}/{{*request}}", paths::GATEWAY_CHECK), any(gateway::check_request));
    let front_page = AreaRouter::new(FRONT_PAGE).route(paths::FRONT, get(front::get_front_page));
    // The profile that `userinfo` and Mastodon's `Account` link to. Belfry has no public profiles, so
    // people are redirected to their own account. The response is the same for every name, so that
    // it does not reveal which accounts exist.
    let profile = get(async || Redirect::to(paths::ACCOUNT));
    let plain = AreaRouter::new(DEFAULT_AREA)
        .route(&format!("{}{{name}}", paths::PROFILE), profile)
        .route(paths::NODEINFO, instance::nodeinfo_route(state));
    let well_known = AreaRouter::new(WELL_KNOWN)
        .route(paths::OPENAPI, openapi::openapi_route(state))
        .route(paths::METADATA, metadata::metadata_route(state))
        .route("/.well-known/nodeinfo", instance::nodeinfo_links_route(state))
        // For password managers (<https://www.w3.org/TR/change-password-url/>).
        .route("/.well-known/change-password", get(async || Redirect::to(paths::ACCOUNT_SECURITY)))
        .not_found_under("/.well-known");
    let api = AreaRouter::new(API)
        .route("/api/v1/instance", instance::v1_route(state))
        .route("/api/v2/instance", get(instance::v2))
        .route(paths::APPS, post(apps::register_app))
        .route("/api/v1/apps/verify_credentials", get(apps::verify_credentials))
        .route("/api/v1/accounts", post(accounts::sign_up))
        .route("/api/v1/accounts/verify_credentials", get(accounts::verify_credentials))
        .route(
            paths::PUSH_SUBSCRIPTION,
            get(subscription::get_subscription)
                .post(subscription::create_subscription)
                .put(subscription::change_subscription)
                .delete(subscription::delete_subscription),
        )
        .not_found_under("/api");
    let api = add_admin_routes(api);
    let mut area_routers = vec![exempt, gateway, front_page, plain, well_known, api];
    area_routers.extend(oauth_area_routers());
    if state.store.has_family_key() {
        area_routers.extend(id_area_routers());
        area_routers.extend(id_metadata_area_routers(state));
    }
    area_routers
        .extend(state.config.name_segments.iter().map(|segment| matrix_area_router(segment)));
    area_routers
}

fn add_admin_routes(api: AreaRouter) -> AreaRouter {
    api.route(paths::ADMIN_ACCOUNTS, get(admin::accounts::list_accounts))
        .route(
            "/api/v1/admin/accounts/{id}",
            get(admin::accounts::get_account).delete(actions::delete_account),
        )
        .route("/api/v1/admin/accounts/{id}/action", post(actions::perform_action))
        .route("/api/v1/admin/accounts/{id}/enable", post(actions::enable_account))
}

/// The issuer for clients without a secret. Clients sign their user out if a refresh is answered
/// with 4xx, so load is reported as 503.
fn id_area_routers() -> [AreaRouter; 2] {
    let id = AreaRouter::new(ID)
        .route(paths::ID_TOKEN, post(token::issue_token))
        .route(paths::ID_REVOKE, post(revoke::revoke_token))
        .route(paths::ID_INTROSPECT, post(introspect::introspect))
        .route(paths::ID_REGISTER, post(registration::register_client))
        .not_found_under(paths::ID_PREFIX);
    let pages = AreaRouter::new(PAGES).route(
        paths::ID_AUTHORIZE,
        get(authorize::begin_authorization)
            .head(async || authorize::method_not_allowed("GET"))
            .fallback(async || authorize::method_not_allowed("GET")),
    );
    [id, pages]
}

fn oauth_area_routers() -> [AreaRouter; 3] {
    let oauth = AreaRouter::new(OAUTH)
        .route(paths::INTROSPECT, post(introspect::introspect))
        .not_found_under("/oauth");
    let oauth_client = AreaRouter::new(OAUTH_CLIENT)
        .route(paths::TOKEN, post(token::issue_token))
        .route(paths::REVOKE, post(revoke::revoke_token))
        .route(paths::USERINFO, get(userinfo::userinfo).post(userinfo::userinfo));
    let pages = AreaRouter::new(PAGES)
        .route(
            paths::AUTHORIZE,
            get(authorize::begin_authorization)
                .post(authorize::submit_decision)
                .head(async || authorize::method_not_allowed("GET,POST"))
                .fallback(async || authorize::method_not_allowed("GET,POST")),
        )
        .route(
            paths::AUTHORIZE_RESUME,
            get(authorize::resume_authorization)
                .head(async || authorize::method_not_allowed("GET"))
                .fallback(async || authorize::method_not_allowed("GET")),
        )
        .route(paths::OUT_OF_BAND_CODE, get(out_of_band::get_code_page))
        .route(paths::SIGN_IN, get(sign_in::get_sign_in_page).post(sign_in::sign_in))
        .route(paths::SIGN_UP, get(sign_up::get_sign_up_page).post(sign_up::sign_up))
        .route(paths::SIGN_OUT, get(sign_out::get_sign_out_page).post(sign_out::sign_out))
        .route(paths::ACCOUNT, get(page::get_account_page))
        .route(paths::REMOVE_APP, post(page::remove_app))
        .route(
            paths::ACCOUNT_NOTIFICATIONS,
            get(notifications::get_notifications_page).post(notifications::change_notifications),
        )
        .route(
            paths::ACCOUNT_DEVICES,
            get(devices_page::get_devices_page).post(devices_page::change_devices),
        )
        .route(paths::REVOKE_TOKEN, post(page::revoke_token))
        .route(paths::ACCOUNT_SECURITY, get(security::get_security_page))
        .route(paths::CHANGE_PASSWORD, post(security::change_password))
        .route(paths::CHANGE_EMAIL, post(security::change_email))
        .route(paths::END_SESSION, post(security::end_session))
        .route(paths::END_OTHER_SESSIONS, post(security::end_other_sessions))
        .route(paths::DOWNLOAD_DATA, post(security::download_data))
        .route(paths::DELETE_ACCOUNT, post(security::request_deletion))
        .route(paths::CANCEL_DELETION, post(security::cancel_deletion))
        .not_found_under(paths::AUTHORIZE)
        .not_found_under(paths::SIGN_IN)
        .not_found_under(paths::SIGN_UP)
        .not_found_under(paths::SIGN_OUT)
        .not_found_under(paths::ACCOUNT);
    [oauth, oauth_client, pages]
}

fn id_metadata_area_routers(state: &AppState) -> [AreaRouter; 2] {
    let mut well_known = AreaRouter::new(ID_METADATA);
    for path in paths::ID_METADATA {
        well_known = well_known.route(path, metadata::id_metadata_route(state));
    }
    let mut matrix = AreaRouter::new(MATRIX_METADATA);
    for segment in &state.config.name_segments {
        matrix = matrix.replace_prefix(&format!("/{segment}"), "/{segment}");
        for path in ["v1/auth_metadata", "unstable/org.matrix.msc2965/auth_metadata"] {
            let route = metadata::id_metadata_route(state);
            matrix = matrix.route(&format!("/{segment}/client/{path}"), route);
        }
    }
    [well_known, matrix]
}

fn matrix_area_router(segment: &str) -> AreaRouter {
    let mut area = AreaRouter::new(MATRIX);
    // The second argument is literal: the name of the route in logs and metrics.
    for api in paths::CLIENT_API_VERSIONS {
        area = area.replace_prefix(&format!("/{segment}/client/{api}"), "/{segment}/client/{api}");
    }
    area = area.replace_prefix(&format!("/{segment}"), "/{segment}");
    for api in paths::CLIENT_API_VERSIONS {
        area = add_push_rule_routes(area, &format!("/{segment}/client/{api}/pushrules"));
    }
    // The handler for other methods applies only to the routes above.
    area = area.method_not_allowed_fallback(path::reject_method);
    for api in paths::CLIENT_API_VERSIONS {
        let full_path = |path: &str| format!("/{segment}/client/{api}{path}");
        area = area
            .route(&full_path("/pushrules/explain"), post(explain::explain))
            .route(&full_path("/pushrules/export"), get(read::export_rulesets))
            .route(&full_path("/pushrules/import"), post(replace::import_rulesets))
            .route(&full_path("/pushrules/reset"), post(replace::reset_rulesets))
            .route(&full_path("/versions"), get(matrix::versions))
            .route(&full_path("/login"), get(login::get_login_flows).post(login::login))
            .route(&full_path("/register"), post(register::register))
            .route(&full_path("/logout"), post(matrix::logout))
            .route(&full_path("/logout/all"), post(matrix::logout_all))
            .route(&full_path("/devices"), get(devices::list_devices))
            .route(
                &full_path("/devices/{device}"),
                get(devices::get_device).put(devices::rename_device).delete(devices::delete_device),
            )
            .route(&full_path("/account/whoami"), get(matrix::whoami))
            .route(&full_path("/capabilities"), get(pushers::capabilities))
            .route(&full_path("/pushers"), get(pushers::list_pushers))
            .route(&full_path("/pushers/set"), post(pushers::set_pusher))
            .route(&full_path("/pushers/ack"), post(pushers::acknowledge_pusher))
            .route(&full_path("/user/{user}/account_data/m.push_rules"), get(matrix::account_data));
    }
    area.route(&format!("/{segment}/client/versions"), get(matrix::versions))
        .route(
            &format!("/{segment}/client/unstable/org.matrix.msc4174/pushers/ack"),
            post(pushers::acknowledge_pusher),
        )
        .route(&format!("/{segment}/app/v1/evaluate"), post(evaluate::evaluate))
        .route(&format!("/{segment}/app/v1/notify"), post(notify::notify))
        .route(&format!("/{segment}/app/v1/notifications"), post(notifications_api::notify_account))
        .route(&format!("/{segment}/app/v1/read"), post(read_elsewhere::read_elsewhere))
        .not_found_under(&format!("/{segment}"))
        .not_found_under(&format!("//{segment}"))
}

/// Adds the push rule routes below a prefix. A device scope has two path segments, or one with an
/// encoded slash.
fn add_push_rule_routes(area: AreaRouter, prefix: &str) -> AreaRouter {
    let mut area = area
        .route(&format!("{prefix}/"), get(read::get_all_rulesets))
        .route(&format!("{prefix}/device/"), get(read::get_device_rulesets))
        .catch_all(prefix, any(async || MatrixError::MissingSlash))
        .catch_all_under(prefix, any(path::reject_unknown_path));
    for scope in ["{scope}", "device/{profile_tag}"] {
        let full_path = |path: &str| format!("{prefix}/{scope}{path}");
        area = area
            .route(&full_path("/"), get(read::get_ruleset))
            .route(&full_path("/{kind}/"), get(read::get_rules_of_kind))
            .route(
                &full_path("/{kind}/{rule_id}"),
                get(read::get_rule).put(write::put_rule).delete(write::delete_rule),
            )
            .route(
                &full_path("/{kind}/{rule_id}/enabled"),
                get(read::get_rule_enabled).put(write::put_rule_enabled),
            )
            .route(
                &full_path("/{kind}/{rule_id}/actions"),
                get(read::get_rule_actions).put(write::put_rule_actions),
            );
    }
    area
}
