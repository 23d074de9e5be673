//! The language of who reads an error of the API.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use belfry_core::oauth::form;

use super::form::value;
use crate::language::Language;

/// The language that the query's `lang` names, or else the one that the caller prefers.
pub(super) struct Reader(pub(super) Language);

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form::pairs(query.as_bytes()).unwrap_or_default();
        let accept = parts.headers.get(header::ACCEPT_LANGUAGE);
        let accept = accept.and_then(|accept| accept.to_str().ok());
        Ok(Self(Language::choose(Some(value(&pairs, "lang")), None, accept)))
    }
}
