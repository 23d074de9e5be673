//! A page as an answer: what surrounds its HTML, for every page in one place.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::redirect::RedirectUri;

use crate::app::AppState;
use crate::http::error::format::ErrorFormat;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::page_format::PageFormat;
use crate::http::extract::session::BrowserSession;
use crate::language::Language;
use crate::pages::{ErrorPage, Layout};

/// Where the forms of a page may lead.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Forms<'a> {
    /// To us.
    Stay,
    /// To us, and from there to the app.
    LeadTo(&'a RedirectUri),
}

impl Forms<'_> {
    /// The sources of `form-action`.
    ///
    /// Chrome judges every redirect that follows a form by it, also those of the app's own server,
    /// so a whole scheme is named: an origin would stop an app that sends its user on to another.
    fn sources(self) -> String {
        match self {
            Self::LeadTo(uri) if !uri.is_oob() => {
                let scheme = uri.as_str().split(':').next().unwrap_or_default();
                let own = if scheme == "https" { String::new() } else { format!(" {scheme}:") };
                format!("'self' https:{own}")
            }
            _ => "'self'".to_owned(),
        }
    }
}

/// A path of ours, in the language that the reader wishes for, if it is one.
pub(crate) fn in_language(path: &str, lang: Option<&str>) -> String {
    match lang.and_then(Language::from_tag) {
        Some(language) => format!("{path}?lang={}", language.code()),
        None => path.to_owned(),
    }
}

/// Shows a page.
pub(crate) fn show(
    session: &BrowserSession,
    status: StatusCode,
    page: &impl Template,
    forms: Forms<'_>,
) -> Result<Response, PageError> {
    Ok(session.greeted(written(&session.state, status, page, forms)?))
}

fn written(
    state: &AppState,
    status: StatusCode,
    page: &impl Template,
    forms: Forms<'_>,
) -> Result<Response, CommonError> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page was not written");
        CommonError::Internal
    })?;
    let html = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html);
    let mut answer = guarded(state, (status, html).into_response());
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'; form-action {}",
        forms.sources()
    );
    let policy = HeaderValue::from_str(&policy).expect("a scheme is plain ASCII");
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(answer)
}

/// Sends the browser elsewhere: with a GET, whatever it did before.
pub(crate) fn redirect(session: &BrowserSession, location: &str) -> Result<Response, PageError> {
    let location = HeaderValue::from_str(location).map_err(|_| CommonError::Internal)?;
    let answer = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    Ok(session.greeted(guarded(&session.state, answer)))
}

/// The answer of a handler, or the page that says what went wrong.
pub(crate) fn answer(
    session: &BrowserSession,
    lang: Option<&str>,
    outcome: Result<Response, PageError>,
) -> Response {
    let error = match outcome {
        Ok(answer) => return answer,
        Err(error) => error,
    };
    if session.wants_json() {
        return error.answer();
    }
    let layout = session.layout(lang);
    if let PageError::Common(problem) = error {
        return of_problem(&session.state, &PageFormat(layout.language), problem);
    }
    let page = ErrorPage { layout, cause: error.cause() };
    show(session, error.status(), &page, Forms::Stay)
        .unwrap_or_else(|_| CommonError::Internal.into_response())
}

/// The page that says what went wrong before anybody was asked who looks at it.
pub(crate) fn of_problem(state: &AppState, format: &PageFormat, problem: CommonError) -> Response {
    let told = problem.answer(ErrorFormat::Page);
    let layout = Layout { language: format.0, server: state.server_name() };
    let page = ErrorPage { layout, cause: PageError::from(problem).cause() };
    let Ok(mut answer) = written(state, told.status(), &page, Forms::Stay) else { return told };
    if let Some(wait) = told.headers().get(header::RETRY_AFTER) {
        answer.headers_mut().insert(header::RETRY_AFTER, wait.clone());
    }
    answer
}

/// What keeps a page, or the way to one, to its reader: no frame, no cache, no referrer, no opener.
fn guarded(state: &AppState, mut answer: Response) -> Response {
    let headers = answer.headers_mut();
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
    if state.base_url.is_secure() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    // Attack 100.
    #[test]
    fn a_form_may_lead_to_us_and_to_the_app() {
        assert_eq!(Forms::Stay.sources(), "'self'");
        for (uri, sources) in [
            ("https://app.example/cb", "'self' https:"),
            ("http://127.0.0.1:4000/cb", "'self' https: http:"),
            ("http://[::1]/cb", "'self' https: http:"),
            ("com.example.app:/cb", "'self' https: com.example.app:"),
            ("tusky://oauth", "'self' https: tusky:"),
            ("urn:ietf:wg:oauth:2.0:oob", "'self'"),
        ] {
            let uri = RedirectUri::new(uri).unwrap();
            assert_eq!(Forms::LeadTo(&uri).sources(), sources, "{uri}");
        }
    }
}
