//! Content negotiation for pages and error texts: the language, and HTML or JSON.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use url::form_urlencoded;

use crate::language::Language;

/// The language of a page: the query's `lang`, or else the one in `Accept-Language`. A malformed
/// query is ignored, because it may itself be the error to report.
pub(crate) fn page_language(uri: &Uri, headers: &HeaderMap) -> Language {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let lang = query.filter(|(name, _)| name == "lang").last().map(|(_, lang)| lang);
    let accept = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    Language::negotiate(lang.as_deref(), None, accept)
}

impl<S: Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(page_language(&parts.uri, &parts.headers))
    }
}

/// Whether the client accepts JSON and not HTML, and so gets errors as JSON.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|types| types.contains("application/json") && !types.contains("text/html"))
}
