//! `GET /.well-known/oauth-authorization-server`: the server's metadata (RFC 8414).

use std::sync::Arc;

use axum::routing::MethodRouter;
use belfry_core::oauth::metadata::{EndpointPaths, Metadata};

use crate::app::AppState;
use crate::http::paths;
use crate::http::respond::json::constant;

/// The route of the metadata.
pub(crate) fn metadata(state: &AppState) -> MethodRouter<Arc<AppState>> {
    let documentation = state.config.oauth.documentation_url.as_str();
    let endpoints = EndpointPaths {
        authorization: paths::AUTHORIZE,
        token: paths::TOKEN,
        app_registration: paths::APPS,
        revocation: paths::REVOKE,
        userinfo: paths::USERINFO,
        introspection: paths::INTROSPECT,
    };
    constant(&Metadata::new(&state.base_url.to_string(), &endpoints, documentation))
}
