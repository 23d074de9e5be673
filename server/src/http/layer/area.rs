//! The layer around the router, which applies the policies of an area: CORS, rate limits, error
//! format and cache policy. It also handles panics.

use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use tower_service::Service;

use super::cors::Cors;
use super::rate_limit::{self, RateLimitHeaders};
use crate::app::AppState;
use crate::http::error::{CommonError, ErrorFormat};
use crate::http::extract::page_language::{
    accepts_html, language_cookie, language_link, page_language, wants_json,
};
use crate::http::respond::render_error_page;

/// The policies of a group of routes. Every route belongs to one area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) error_format: ErrorFormat,
    pub(crate) cors: Cors,
    pub(crate) cache_policy: CachePolicy,
    pub(crate) rate_limiting: RateLimiting,
    /// True if browsers get error pages, even though programs get a different error format.
    pub(crate) has_pages_for_browsers: bool,
    /// True if each route also has a path with a trailing slash.
    pub(crate) ignores_trailing_slash: bool,
    /// True if 429 and 408 become 503, because clients take every 4xx as the end of a sign-in.
    pub(crate) reports_load_as_unavailable: bool,
}

/// Whether and where the rate limits count the requests of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateLimiting {
    /// Every request counts, before its handler runs.
    Counted,
    /// No request counts.
    Exempt,
    /// The handler counts the original request of a proxy instead of the request itself.
    Gateway,
}

/// The `Cache-Control` header of responses whose handler sets none. Every response has one, because
/// shared caches may store responses without it, even those with the status 404 or 405 (RFC 9110,
/// section 15.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CachePolicy {
    /// `private, no-store`: responses belong to one user.
    PrivateNoStore,
    /// `no-store`, and `Pragma` for HTTP/1.0 caches, as RFC 6749, section 5.1 requires.
    NoStore,
}

impl CachePolicy {
    /// Adds the headers, unless the handler set `Cache-Control`.
    fn write_headers(self, headers: &mut HeaderMap) {
        if headers.contains_key(header::CACHE_CONTROL) {
            return;
        }
        let value = if self == Self::NoStore { "no-store" } else { "private, no-store" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
        if self == Self::NoStore {
            headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        }
    }
}

/// The pattern of requests without a route.
pub(crate) const UNMATCHED: &str = "unmatched";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) area: Area,
    /// The path with placeholders, for logs and metrics; [`UNMATCHED`] if no route has the path.
    pub(crate) pattern: &'static str,
    /// The index of the pattern among all patterns; 0 for [`UNMATCHED`].
    pub(crate) index: usize,
}

impl Route {
    /// Returns whether responses depend on `Accept` and `Accept-Language`: on pages, in areas with
    /// error pages for browsers, and on unknown paths outside the APIs that other origins may call.
    fn is_negotiated(&self) -> bool {
        let is_outside_apis = self.pattern == UNMATCHED && self.area.cors == Cors::SameOrigin;
        let Area { error_format, has_pages_for_browsers, .. } = self.area;
        error_format == ErrorFormat::Page || has_pages_for_browsers || is_outside_apis
    }

    /// Returns whether errors are written as pages.
    fn writes_error_pages(&self, headers: &HeaderMap) -> bool {
        match self.area.error_format {
            ErrorFormat::Page => !wants_json(headers),
            _ => self.is_negotiated() && accepts_html(headers),
        }
    }
}

pub(crate) async fn serve(
    route: Route,
    state: &AppState,
    request: Request,
    router: Router,
) -> Response {
    let area = route.area;
    let response = match area.cors.preflight_response(request.method()) {
        Some(preflight) => preflight,
        None => run_handler(route, state, request, router).await,
    };
    with_area_headers(route, state, response)
}

/// Rejects a request without calling its handler or counting it.
pub(crate) fn reject(route: Route, state: &AppState, error: &CommonError) -> Response {
    with_area_headers(route, state, error.to_response(route.area.error_format))
}

fn with_area_headers(route: Route, state: &AppState, mut response: Response) -> Response {
    let headers = response.headers_mut();
    route.area.cors.write_headers(headers);
    route.area.cache_policy.write_headers(headers);
    if route.is_negotiated() {
        headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Language"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if state.base_url.allows_hsts() {
        let one_year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, one_year);
    }
    response
}

/// Applies the rate limits, calls the handler, writes errors in the format of the area, and
/// remembers a language chosen on a page. Every response reports the limits, even after an error or
/// a panic.
async fn run_handler(
    route: Route,
    state: &AppState,
    mut request: Request,
    mut router: Router,
) -> Response {
    let area = route.area;
    let uri = request.uri();
    let headers = request.headers();
    let base_url = &state.base_url;
    let page_options = route
        .writes_error_pages(headers)
        .then(|| (page_language(uri, headers, base_url), language_link(request.method(), uri)));
    let language_cookie =
        page_options.as_ref().and_then(|_| language_cookie(uri, headers, base_url));
    let write_error = |error: CommonError| {
        let mut response = match &page_options {
            Some((language, link)) => render_error_page(state, *language, link, error),
            None => error.to_response(area.error_format),
        };
        // hyper would add the length, except in responses to HEAD.
        if let Some(length) = response.body().size_hint().exact() {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        response
    };
    let mut limit_headers = RateLimitHeaders::default();
    let limited_handler = async {
        if area.rate_limiting == RateLimiting::Counted {
            let may_use_guard =
                request.method() == Method::POST || area.error_format == ErrorFormat::Page;
            rate_limit::apply_limits(state, &mut request, &mut limit_headers, may_use_guard)
                .await?;
        }
        let Ok(mut response) = router.call(request).await;
        limit_headers.add_decision_from(&mut response);
        Ok::<_, CommonError>(response)
    };
    let mut response = match AssertUnwindSafe(limited_handler).catch_unwind().await {
        Ok(Ok(mut response)) => match response.extensions_mut().remove::<CommonError>() {
            None => response,
            Some(error) => {
                // The headers that the handler set remain, except the length of its empty body.
                let mut error_response = write_error(error);
                for (name, value) in response.headers() {
                    error_response.headers_mut().entry(name).or_insert_with(|| value.clone());
                }
                error_response
            }
        },
        Ok(Err(error)) => write_error(error),
        // The panic hook in `log` has logged the panic.
        Err(_) => {
            state.metrics.http.panics.inc();
            write_error(CommonError::Internal)
        }
    };
    if let Some(cookie) = language_cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    limit_headers.write_to(&mut response);
    let is_load =
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&response.status());
    if area.reports_load_as_unavailable && is_load {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("5"));
    }
    response
}
