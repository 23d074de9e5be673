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

use crate::app::AppState;
use crate::http::respond::json;

/// What clients must know to ask for a token.
pub(crate) fn metadata(state: &AppState) -> MethodRouter<Arc<AppState>> {
    let documentation = state.config.oauth.documentation_url.as_str();
    fixed(&Metadata::new(&state.base_url.to_string(), documentation))
}

/// A route that always answers this.
pub(crate) fn fixed(document: &impl Serialize) -> MethodRouter<Arc<AppState>> {
    let body = Bytes::from(write(document));
    get(move || {
        let mut answer = json::answer(body.clone());
        // Who changes the settings wants every client to see it after the restart.
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=0"));
        ready(answer)
    })
}
