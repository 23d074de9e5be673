//! `GET /.well-known/oauth-authorization-server`: the server's metadata (RFC 8414).

use axum::routing::MethodRouter;
use belfry_core::oauth::issuer_policy::metadata_document;

use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::json::constant_route;
use crate::paths;

pub(crate) fn metadata_route(state: &AppState) -> MethodRouter<AppState> {
    let base_url = state.base_url.to_string();
    let documentation_url = match &state.config.oauth.documentation_url {
        Some(url) => url.to_string(),
        None => format!("{base_url}{}", paths::OPENAPI),
    };
    let mut endpoints = vec![
        ("authorization_endpoint", paths::AUTHORIZE),
        ("token_endpoint", paths::TOKEN),
        ("revocation_endpoint", paths::REVOKE),
        ("userinfo_endpoint", paths::USERINFO),
        ("introspection_endpoint", paths::INTROSPECT),
    ];
    if state.config.app_registration == RegistrationPolicy::Open {
        endpoints.push(("app_registration_endpoint", paths::APPS));
    }
    constant_route(&metadata_document(
        &state.issuer_policy,
        &base_url,
        &endpoints,
        &documentation_url,
    ))
}
