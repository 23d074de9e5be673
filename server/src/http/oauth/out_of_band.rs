//! `GET /oauth/authorize/native`: shows a code to a user whose app has no address of its own.
//!
//! The code comes in a cookie: what stands in a URL stays in the browser's history.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use belfry_core::oauth::error::OAuthError;
use belfry_core::secret::Secret;

use crate::http::error::PageError;
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::{Query, value};
use crate::http::extract::session::BrowserSession;
use crate::http::paths::ACCOUNT;
use crate::http::respond::page::{Forms, answer, in_language, show};
use crate::pages::CodePage;

/// A code that a caller already has may also be given as `code`, to see whether it is still good.
pub(crate) async fn native(
    session: BrowserSession,
    headers: HeaderMap,
    Query(pairs): Query,
) -> Response {
    let lang = Some(value(&pairs, "lang"));
    let sent = Some(value(&pairs, "code")).filter(|code| !code.is_empty()).map(Secret::new);
    let code = sent.or_else(|| Cookie::Code.read(&headers, &session.state.base_url));
    let outcome = show_code(&session, lang, code).await;
    answer(&session, lang, outcome)
}

/// Only a code that can still be spent is shown, and only to who agreed to it: whoever sends
/// somebody here with a code of their own must not get it shown in our name.
async fn show_code(
    session: &BrowserSession,
    lang: Option<&str>,
    code: Option<Secret>,
) -> Result<Response, PageError> {
    let (store, now) = (&session.state.store, session.state.clock.now());
    let viewer = session.account().map(|account| account.id);
    let code = code.ok_or(OAuthError::InvalidGrant)?;
    let found = store.code(code.digest()).await?;
    let good = found.filter(|found| {
        found.token.is_none() && found.expires_at > now && Some(found.account) == viewer
    });
    let app = store.app(good.ok_or(OAuthError::InvalidGrant)?.app).await?;
    let app = app.ok_or(OAuthError::InvalidGrant)?.name;
    let account = in_language(ACCOUNT, lang);
    let page = CodePage { layout: session.layout(lang), app: &app, code: &code, account: &account };
    show(session, StatusCode::OK, &page, Forms::Stay)
}
