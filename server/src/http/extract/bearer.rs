//! The access token of an API request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use belfry_core::oauth::scope::Scope;
use belfry_core::oauth::token::TokenAccount;
use belfry_core::oauth::token::extract_token;
use belfry_core::secret::{LookupKey, Secret, SplitToken};
use belfry_store::PresentedToken;
use jiff::Timestamp;

use crate::app::AppState;
use crate::http::error::ApiError;
use crate::http::extract::client::{Client, Credential};

/// A valid access token. Handlers that extract it reject requests without one.
pub(crate) struct Bearer {
    pub(crate) token: PresentedToken,
    pub(crate) lookup_key: LookupKey,
    /// The token as the client sent it.
    pub(crate) secret: Secret,
    pub(crate) now: Timestamp,
}

impl FromRequestParts<AppState> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        // The API does not accept a token in the query.
        let authorization_headers = parts.headers.get_all(header::AUTHORIZATION).iter();
        let header_secret = extract_token(authorization_headers.map(HeaderValue::as_bytes), [])
            .map_err(|_| ApiError::InvalidToken)?
            .ok_or(ApiError::MissingToken)?;
        let header_hash =
            SplitToken::parse(header_secret.reveal()).map(|token| token.hashed_secret());
        let credential = Client::inspect(parts, state, |client| client.credential.clone()).await;
        // Only the token for which the rate limiter counted the request is valid. With a second
        // one in the query, the request was counted for the address alone.
        let (hash, token) = match credential {
            Credential::Token(hash, token) if Some(hash) == header_hash => (hash, token),
            Credential::LookupFailed(error) => return Err(error.into()),
            _ => return Err(ApiError::InvalidToken),
        };
        let now = state.clock.now();
        token.check_validity(now)?;
        state.store.record_use(hash.lookup_key, &token, now);
        Ok(Self { token, lookup_key: hash.lookup_key, secret: header_secret, now })
    }
}

impl Bearer {
    pub(crate) fn require_scope(&self, sufficient_scopes: &[Scope]) -> Result<(), ApiError> {
        let is_allowed = self.token.scopes.allows_any(sufficient_scopes);
        if is_allowed { Ok(()) } else { Err(ApiError::OutsideScopes(sufficient_scopes.to_vec())) }
    }

    pub(crate) fn require_user(&self) -> Result<&TokenAccount, ApiError> {
        self.token.account.as_ref().ok_or(ApiError::UserRequired)
    }
}
