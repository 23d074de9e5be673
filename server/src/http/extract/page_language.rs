//! Content negotiation for pages and error messages: the language, and HTML or JSON.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};

use crate::language::Language;

/// The language of a page: the query's `lang`, or else the one in `Accept-Language`. The query is
/// not decoded, because a malformed one may be the error to report; language tags need no escapes.
pub(crate) fn page_language(uri: &Uri, headers: &HeaderMap) -> Language {
    let pairs = uri.query().unwrap_or_default().split('&');
    let lang = pairs.filter_map(|pair| pair.strip_prefix("lang=")).next_back();
    let accept = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    Language::negotiate(lang, None, accept)
}

impl<S: Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(page_language(&parts.uri, &parts.headers))
    }
}

/// Returns whether the client accepts JSON and not HTML, and so gets errors as JSON.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    accept(headers).contains("application/json") && !accepts_html(headers)
}

/// Returns whether the client asks for HTML, as browsers do.
pub(crate) fn accepts_html(headers: &HeaderMap) -> bool {
    accept(headers).contains("text/html")
}

fn accept(headers: &HeaderMap) -> &str {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
