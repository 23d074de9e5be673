//! `GET /.well-known/oauth-authorization-server`, and documents like it: the same for everybody as
//! long as the service runs, so they are written once.

use std::sync::Arc;

use axum::http::header;
use axum::routing::{MethodRouter, get};
use belfry_core::json;
use belfry_core::oauth::metadata::Metadata;
use bytes::Bytes;
use serde::Serialize;

use super::Belfry;

/// What clients must know to ask for a token.
pub(super) fn metadata(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    let documentation = belfry.config.oauth.documentation_url.as_str();
    fixed(&Metadata::new(&belfry.base_url.to_string(), documentation))
}

/// A route that always answers this.
pub(super) fn fixed(document: &impl Serialize) -> MethodRouter<Arc<Belfry>> {
    let body = Bytes::from(json::write(document));
    // Who changes the settings wants every client to see it after the restart.
    let headers =
        [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "max-age=0")];
    get(move || {
        let body = body.clone();
        async move { (headers, body) }
    })
}
