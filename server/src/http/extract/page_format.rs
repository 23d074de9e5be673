//! Who reads an answer, as far as the request itself tells.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use url::form_urlencoded;

use crate::language::Language;

/// The language that the query's `lang` names, or else the one that the caller prefers.
pub(crate) struct PageFormat(pub(crate) Language);

impl PageFormat {
    /// The reader of the answer to a request, also to one whose query is broken elsewhere.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let lang = query.filter(|(name, _)| name == "lang").last().map(|(_, lang)| lang);
        let accept = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Self(Language::negotiate(lang.as_deref(), None, accept))
    }
}

impl<S: Sync> FromRequestParts<S> for PageFormat {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.uri, &parts.headers))
    }
}

/// Whether a program reads, to whom an error is an object and not a page.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|it| it.contains("application/json") && !it.contains("text/html"))
}
