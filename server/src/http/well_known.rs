//! Paths that other programs look for: `/@NAME` and `/.well-known/change-password`.

use axum::http::{StatusCode, header};

use crate::paths;

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
