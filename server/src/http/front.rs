//! `GET /`: the front page.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use url::Url;

use crate::app::AppState;
use crate::http::account::sign_in::sign_up_path;
use crate::http::error::{CommonError, PageError};
use crate::http::extract::page_language::accepts_html;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{render_response, respond};
use crate::pages::FrontPage;
use crate::paths::{ACCOUNT, OPENAPI, SIGN_IN, with_language};

/// `GET /`: an HTML page. Clients that do not accept HTML get an error with the path of the API
/// description.
pub(super) async fn get_front_page(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, CommonError> {
    let (mut parts, _) = request.into_parts();
    if !accepts_html(&parts.headers) {
        return Err(CommonError::FrontPage);
    }
    let session = BrowserSession::from_request_parts(&mut parts, &state).await?;
    Ok(respond(&session, render_front_page(&session)))
}

fn render_front_page(session: &BrowserSession) -> Result<Response, PageError> {
    let config = &session.state.config;
    let [account_path, sign_in_path] =
        [ACCOUNT, SIGN_IN].map(|path| with_language(path, session.lang));
    let sign_up_path = sign_up_path(session, None);
    let page = FrontPage {
        layout: session.layout(session.lang),
        description: &config.instance.description,
        account: session.account().map(|account| account.name.as_str()),
        account_path: &account_path,
        sign_in_path: &sign_in_path,
        sign_up_path: sign_up_path.as_deref(),
        api_path: OPENAPI,
        documentation_url: config.oauth.documentation_url.as_ref().map(Url::as_str),
    };
    // Without a form, the page needs no session cookie.
    Ok(render_response(StatusCode::OK, &page, None)?)
}
