//! The metadata of both issuers (RFC 8414).

use axum::routing::MethodRouter;
use belfry_core::oauth::client::Issuer;
use belfry_core::oauth::issuer_policy::metadata_document;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::account::page::ACCOUNT_ACTIONS;
use crate::http::json::constant_route;
use crate::paths;

/// `GET /.well-known/oauth-authorization-server`: the metadata of the issuer below `/oauth`.
pub(crate) fn metadata_route(state: &AppState) -> MethodRouter<AppState> {
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
    constant_route(&document(state, Issuer::OAuth, &endpoints))
}

/// The metadata of the issuer below `/id`, at several addresses. The registration endpoint is listed
/// even if it is closed, because Matrix clients require the field.
pub(crate) fn id_metadata_route(state: &AppState) -> MethodRouter<AppState> {
    let endpoints = [
        ("authorization_endpoint", paths::ID_AUTHORIZE),
        ("token_endpoint", paths::ID_TOKEN),
        ("revocation_endpoint", paths::ID_REVOKE),
        ("introspection_endpoint", paths::ID_INTROSPECT),
        ("registration_endpoint", paths::ID_REGISTER),
        ("account_management_uri", paths::ACCOUNT),
    ];
    let mut document = document(state, Issuer::Id, &endpoints);
    document["prompt_values_supported"] = json!(["create"]);
    document["account_management_actions_supported"] = json!(ACCOUNT_ACTIONS);
    constant_route(&document)
}

fn document(state: &AppState, issuer: Issuer, endpoints: &[(&str, &str)]) -> Value {
    let base_url = state.base_url.to_string();
    let documentation_url = match &state.config.oauth.documentation_url {
        Some(url) => url.to_string(),
        None => format!("{base_url}{}", paths::OPENAPI),
    };
    metadata_document(state.policy(issuer), &base_url, endpoints, &documentation_url)
}
