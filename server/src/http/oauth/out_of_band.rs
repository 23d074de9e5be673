//! `GET /oauth/authorize/native`: shows a code to the user of an app without a redirect URI.
//!
//! The code is normally in a cookie, because a code in the URL would remain in the browser's
//! history. Mastodon's URL with the parameter `code` works too.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use belfry_core::form::last_value;
use belfry_core::oauth::error::OAuthError;
use belfry_core::secret::SplitToken;

use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::Query;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{render_page, respond_with};
use crate::pages::CodePage;

/// Shows the code from the cookie, or from the parameter `code`. The code must be redeemable, and
/// the signed-in account must have approved it. Otherwise a link could show an attacker's code as
/// if this server had issued it to the user.
pub(crate) async fn get_code_page(
    session: BrowserSession,
    headers: HeaderMap,
    Query(pairs): Query,
) -> Response {
    respond_with(&session, async {
        let code = match last_value(&pairs, "code") {
            "" => Cookie::Code.value(&headers, &session.state.base_url),
            code => Some(code),
        };
        let code = code.and_then(SplitToken::parse_code).ok_or(OAuthError::InvalidGrant)?;
        let store = &session.state.store;
        let viewer = session.account().map(|account| account.id);
        let redeemable_code = store.code(code.hashed_secret()).await?.filter(|stored_code| {
            let grant = &stored_code.grant;
            stored_code.token.is_none()
                && grant.expires_at > session.now
                && Some(grant.account_id) == viewer
        });
        let app_id = redeemable_code.ok_or(OAuthError::InvalidGrant)?.grant.app_id;
        let app = store.app(app_id).await?.ok_or(OAuthError::InvalidGrant)?.app.details.name;
        let layout = session.layout(session.lang);
        let page = CodePage { layout, app: &app, code: code.secret() };
        render_page(&session, StatusCode::OK, &page, None)
    })
    .await
}
