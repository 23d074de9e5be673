//! Content negotiation for pages and error messages: the language, and HTML or JSON.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};

use super::cookie::Cookie;
use super::same_origin::is_same_origin;
use crate::app::AppState;
use crate::config::BaseUrl;
use crate::language::Language;
use crate::pages::AccountSection;
use crate::paths::{FRONT, REMEMBER_LANGUAGE};

/// The time for which a browser remembers the language chosen on a page, in seconds.
const LANGUAGE_COOKIE_SECONDS: u64 = 365 * 24 * 3600;

/// The maximum length of a query that the links for choosing a language repeat, in bytes.
const MAX_QUERY_BYTES: usize = 4096;

/// Returns the parameters of a query, without decoding them, because a malformed query may be the
/// error to report. Language tags need no escapes.
fn raw_parameters(uri: &Uri) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Returns the language in the query's `lang`.
fn language_parameter(uri: &Uri) -> Option<Language> {
    let (_, tag) = raw_parameters(uri).rfind(|(name, _)| *name == "lang")?;
    Language::from_tag(tag)
}

/// Returns the language of a page: that of the query's `lang`, else the one chosen on a page, else
/// the preferred one in `Accept-Language`.
pub(crate) fn page_language(uri: &Uri, headers: &HeaderMap, base_url: &BaseUrl) -> Language {
    let accept = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let cookie_language = chosen_language(headers, base_url);
    Language::negotiate(language_parameter(uri), cookie_language, None, accept)
}

pub(crate) fn chosen_language(headers: &HeaderMap, base_url: &BaseUrl) -> Option<Language> {
    Cookie::Language.value(headers, base_url).and_then(Language::from_tag)
}

/// Returns the beginning of the links for choosing a language. They point to the same page with its
/// other parameters, and are relative without a path, so they cannot point to another server.
/// A link cannot resubmit a form, and a long query would make the page too large. In these cases,
/// they point to the account page with the form or, if there is none, to the front page.
pub(crate) fn language_link(method: &Method, uri: &Uri) -> String {
    let is_short = uri.query().is_none_or(|query| query.len() <= MAX_QUERY_BYTES);
    if !is_short || ![Method::GET, Method::HEAD].contains(method) {
        return AccountSection::from_form_path(uri.path())
            .map_or(FRONT, AccountSection::path)
            .to_owned();
    }
    let mut link = String::new();
    for (name, value) in
        raw_parameters(uri).filter(|(name, _)| !["lang", REMEMBER_LANGUAGE].contains(name))
    {
        link.extend([if link.is_empty() { "?" } else { "&" }, name, "=", value]);
    }
    link
}

/// Returns the cookie that remembers the chosen language, if the request follows a link from
/// [`language_link`]. Other sites cannot choose a language.
pub(crate) fn language_cookie(
    uri: &Uri,
    headers: &HeaderMap,
    base_url: &BaseUrl,
) -> Option<HeaderValue> {
    let is_choice = raw_parameters(uri).any(|(name, _)| name == REMEMBER_LANGUAGE);
    let language =
        language_parameter(uri).filter(|_| is_choice && is_same_origin(headers, base_url))?;
    Some(Cookie::Language.set_cookie_header(base_url, language.code(), LANGUAGE_COOKIE_SECONDS))
}

impl FromRequestParts<AppState> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(page_language(&parts.uri, &parts.headers, &state.base_url))
    }
}

/// Returns whether the client accepts JSON and not HTML, and so gets errors as JSON.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    accept_header(headers).contains("application/json") && !accepts_html(headers)
}

/// Returns whether the client accepts HTML, as browsers do.
pub(crate) fn accepts_html(headers: &HeaderMap) -> bool {
    accept_header(headers).contains("text/html")
}

fn accept_header(headers: &HeaderMap) -> &str {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
