//! Page responses: HTML, redirects and error pages, with their security headers.

use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::header::whole_seconds;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_runtime::log_throttle::LogThrottle;

use crate::app::AppState;
use crate::http::error::{CommonError, ErrorFormat, PageError};
use crate::http::extract::session::BrowserSession;
use crate::language::Language;
use crate::pages::{AccountSection, ErrorPage, Layout, Notice};
use crate::paths::{SIGN_IN, with_language, with_parameters};

static TEMPLATE_ERROR_LOG: LogThrottle = LogThrottle::new("template rendering failed");

/// Returns the sources of the directive `form-action`: this server, and the app's redirect URI if
/// there is one. Chrome applies the directive to every redirect after a form, including redirects
/// by the app's server to other origins. Whole schemes are therefore allowed.
fn form_action_sources(redirect_uri: Option<&RedirectUri>) -> String {
    let Some(uri) = redirect_uri.filter(|uri| !uri.is_oob()) else { return "'self'".to_owned() };
    match uri.as_str().split(':').next().unwrap_or_default() {
        "https" => "'self' https:".to_owned(),
        scheme => format!("'self' https: {scheme}:"),
    }
}

/// Renders a page, and sets the session cookie if necessary. The page's forms are posted to this
/// server, which may then redirect to the app's redirect URI, if there is one.
pub(crate) fn render_page(
    session: &BrowserSession,
    status: StatusCode,
    page: &impl Template,
    redirect_uri: Option<&RedirectUri>,
) -> Result<Response, PageError> {
    Ok(session.with_cookie(render_response(status, page, redirect_uri)?))
}

/// Renders a page like [`render_page`]. A large page counts as an unread response of the account
/// until it is sent or the connection is closed.
pub(crate) fn render_large_page(
    session: &BrowserSession,
    status: StatusCode,
    page: &impl Template,
    account_id: i64,
) -> Result<Response, PageError> {
    let html = session.state.unread_responses.count(account_id, render_html(page)?.into())?;
    Ok(session.with_cookie(html_response(status, html, None)))
}

/// Renders a page without setting the session cookie.
pub(crate) fn render_response(
    status: StatusCode,
    page: &impl Template,
    redirect_uri: Option<&RedirectUri>,
) -> Result<Response, CommonError> {
    Ok(html_response(status, render_html(page)?, redirect_uri))
}

fn render_html(page: &impl Template) -> Result<String, CommonError> {
    page.render().map_err(|error| {
        if TEMPLATE_ERROR_LOG.admits() {
            tracing::error!(%error, "template rendering failed");
        }
        CommonError::Internal
    })
}

fn html_response(
    status: StatusCode,
    html: impl Into<Body>,
    redirect_uri: Option<&RedirectUri>,
) -> Response {
    let body: Body = html.into();
    let content_type = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    let mut response = with_security_headers((status, content_type, body).into_response());
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'; form-action {}",
        form_action_sources(redirect_uri)
    );
    let policy = HeaderValue::from_str(&policy).expect("a scheme is plain ASCII");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Adds a `Retry-After` header, if the client has to wait.
pub(crate) fn with_retry_after(mut response: Response, retry_after: Option<Duration>) -> Response {
    if let Some(retry_after) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(retry_after).into());
    }
    response
}

/// Redirects with 303, so that the browser sends a GET request even after a POST.
pub(crate) fn redirect(session: &BrowserSession, location: &str) -> Result<Response, PageError> {
    let location = HeaderValue::from_str(location).map_err(|_| CommonError::Internal)?;
    let response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    Ok(session.with_cookie(with_security_headers(response)))
}

/// Redirects to a page of this server, which shows a notice about the change.
pub(crate) fn redirect_with_notice(
    session: &BrowserSession,
    path: &str,
    notice: Notice,
) -> Result<Response, PageError> {
    let path = with_language(path, session.lang);
    redirect(session, &with_parameters(&path, [("notice", notice.code())]))
}

/// Returns the path of the sign-in page, with the page to return to. The default is the overview.
pub(crate) fn sign_in_path(
    lang: Option<Language>,
    return_to: Option<AccountSection>,
    notice: Option<Notice>,
) -> String {
    let return_to = return_to
        .filter(|section| *section != AccountSection::Overview)
        .map(|section| ("return_to", section.code()));
    let notice = notice.map(|notice| ("notice", notice.code()));
    with_parameters(&with_language(SIGN_IN, lang), return_to.into_iter().chain(notice))
}

/// Waits for the result of a handler: see [`respond`].
pub(crate) async fn respond_with(
    session: &BrowserSession,
    result: impl Future<Output = Result<Response, PageError>>,
) -> Response {
    respond(session, result.await)
}

/// Returns the response of a handler, or its error as a page or JSON. If the page requires a
/// sign-in, the browser is redirected to the sign-in page.
pub(crate) fn respond(session: &BrowserSession, result: Result<Response, PageError>) -> Response {
    let result = match result {
        Err(PageError::SignInRequired(section, notice)) => {
            redirect(session, &sign_in_path(session.lang, Some(section), notice))
        }
        result => result,
    };
    let error = match result {
        Ok(response) => return response,
        Err(error) => error,
    };
    if session.wants_json {
        return error.into_json();
    }
    let layout = session.layout(session.lang);
    if let PageError::Common(error) = error {
        return render_error_page(&session.state, layout.language, layout.language_link, error);
    }
    let page = ErrorPage { layout, cause: error.cause() };
    render_page(session, error.status(), &page, None)
        .unwrap_or_else(|_| CommonError::Internal.into_response())
}

/// Returns the page for an error that any endpoint can return. No session is needed, because the
/// error may occur before the session is loaded.
pub(crate) fn render_error_page(
    state: &AppState,
    language: Language,
    language_link: &str,
    error: CommonError,
) -> Response {
    let json_response = error.to_response(ErrorFormat::Page);
    let layout = Layout { language_link, ..state.layout(language) };
    let page = ErrorPage { layout, cause: PageError::from(error).cause() };
    let Ok(mut response) = render_response(json_response.status(), &page, None) else {
        return json_response;
    };
    if let Some(retry_after) = json_response.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after.clone());
    }
    response
}

/// Adds headers that forbid framing, caching, referrers, and cross-origin openers and embedding.
pub(crate) fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::PRAGMA, "no-cache"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_action_allows_this_server_and_the_app() {
        assert_eq!(form_action_sources(None), "'self'");
        for (uri, sources) in [
            ("https://app.example/cb", "'self' https:"),
            ("http://127.0.0.1:4000/cb", "'self' https: http:"),
            ("http://[::1]/cb", "'self' https: http:"),
            ("com.example.app:/cb", "'self' https: com.example.app:"),
            ("tusky://oauth", "'self' https: tusky:"),
            ("urn:ietf:wg:oauth:2.0:oob", "'self'"),
        ] {
            let uri = RedirectUri::new(uri).unwrap();
            assert_eq!(form_action_sources(Some(&uri)), sources, "{uri:?}");
        }
    }
}
