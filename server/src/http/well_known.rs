//! Paths that other programs look for: `/@NAME`, `/.well-known/security.txt` and
//! `/.well-known/change-password`.

use std::future::ready;
use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;

use crate::app::AppState;
use crate::config::{BaseUrl, SecuritySettings};
use crate::http::error::CommonError;
use crate::paths;

/// Returns the route for `security.txt`, the contact for vulnerability reports (RFC 9116).
pub(super) fn security_txt_route(state: &AppState) -> MethodRouter<Arc<AppState>> {
    let security_txt =
        render_security_txt(&state.config.security, &state.base_url).map(Bytes::from);
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "max-age=0")];
    get(move || {
        ready(security_txt.clone().map(|text| (headers, text)).ok_or(CommonError::NotFound))
    })
}

/// A redirect to an account page.
type AccountRedirect = (StatusCode, [(header::HeaderName, &'static str); 1]);

/// `GET /@NAME`: the profile that `userinfo` and Mastodon's `Account` link to. Belfry has no public
/// profiles, so people are redirected to their own account. The response is the same for every
/// name, so that it does not reveal which accounts exist.
pub(super) async fn redirect_profile() -> AccountRedirect {
    (StatusCode::SEE_OTHER, [(header::LOCATION, paths::ACCOUNT)])
}

/// Redirects to the page where users change their password, for password managers
/// (<https://www.w3.org/TR/change-password-url/>).
pub(super) async fn redirect_change_password() -> AccountRedirect {
    (StatusCode::SEE_OTHER, [(header::LOCATION, paths::ACCOUNT_SECURITY)])
}

/// Returns the text of `security.txt`, if a contact and an expiry are configured.
fn render_security_txt(security: &SecuritySettings, base_url: &BaseUrl) -> Option<String> {
    let SecuritySettings { contact, expires, policy, encryption } = security;
    let expires = expires.filter(|_| !contact.is_empty())?;
    let mut lines: Vec<String> = contact.iter().map(|url| format!("Contact: {url}")).collect();
    lines.extend(encryption.iter().map(|url| format!("Encryption: {url}")));
    lines.extend(policy.iter().map(|url| format!("Policy: {url}")));
    lines.push(format!("Expires: {expires}"));
    if base_url.is_https() {
        lines.push(format!("Canonical: {base_url}{}", paths::SECURITY_TXT));
    }
    Some(lines.join("\n") + "\n")
}
