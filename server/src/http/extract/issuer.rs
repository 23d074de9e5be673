//! The issuer whose endpoint was requested.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::oauth::client::Issuer;

use crate::app::AppState;
use crate::paths::ID_PREFIX;

/// The issuer to which the path of a request belongs.
pub(crate) struct PathIssuer(pub(crate) Issuer);

impl FromRequestParts<AppState> for PathIssuer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Infallible> {
        let rest = parts.uri.path().strip_prefix(ID_PREFIX);
        let is_id = rest.is_some_and(|rest| rest.starts_with('/'));
        Ok(Self(if is_id { Issuer::Id } else { Issuer::OAuth }))
    }
}
