//! `GET /.well-known/oauth-authorization-server`, and documents like it: the same for everybody as
//! long as the service runs, so they are written once.

use std::future::ready;
use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::routing::{MethodRouter, get};
use belfry_core::json::write;
use belfry_core::oauth::metadata::Metadata;
use bytes::Bytes;
use serde::Serialize;

use super::Belfry;
use super::json;

/// What clients must know to ask for a token.
pub(super) fn metadata(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    let documentation = belfry.config.oauth.documentation_url.as_str();
    fixed(&Metadata::new(&belfry.base_url.to_string(), documentation))
}

/// A route that always answers this.
pub(super) fn fixed(document: &impl Serialize) -> MethodRouter<Arc<Belfry>> {
    let body = Bytes::from(write(document));
    get(move || {
        let mut answer = json::answer(body.clone());
        // Who changes the settings wants every client to see it after the restart.
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=0"));
        ready(answer)
    })
}
