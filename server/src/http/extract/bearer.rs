//! The access token of an API request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::oauth::bearer::extract_token;
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_core::oauth::token::{Token, TokenAccount, TokenError};
use belfry_core::secret::{Secret, SplitToken};

use crate::app::AppState;
use crate::http::error::ApiError;
use crate::http::extract::client::{Client, Credential};

/// A valid access token. Handlers that extract it reject requests without one.
pub(crate) struct Bearer(Arc<Token>);

impl FromRequestParts<Arc<AppState>> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, ApiError> {
        let secret = bearer_token(&parts.headers)?;
        let presented = SplitToken::parse(secret.reveal()).map(|token| token.hashed());
        let credential = Client::inspect(parts, state, |client| client.credential.clone()).await;
        // Only the token that the rate limits counted: with a second one in the query, the request
        // was counted for the address alone.
        let token = match credential {
            Credential::Token(counted, token) if Some(counted) == presented => token,
            Credential::LookupFailed(error) => return Err(error.into()),
            _ => return Err(ApiError::InvalidToken),
        };
        token.check(state.clock.now()).map_err(|error| match error {
            TokenError::Revoked => ApiError::RevokedToken,
            TokenError::Expired => ApiError::ExpiredToken,
            TokenError::AccountDisabled => ApiError::DisabledAccount,
        })?;
        Ok(Self(token))
    }
}

impl Bearer {
    /// The app that the token was issued to.
    pub(crate) fn app(&self) -> i64 {
        self.0.app_id
    }

    /// The scopes of the token.
    pub(crate) fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// Requires a scope that covers one of these.
    pub(crate) fn require_scope(&self, any: &[Scope]) -> Result<(), ApiError> {
        let allowed = any.iter().any(|scope| self.0.scopes.allows(*scope));
        if allowed { Ok(()) } else { Err(ApiError::OutsideScopes) }
    }

    /// The account of the token; none for a token of an app.
    pub(crate) fn account(&self) -> Option<&TokenAccount> {
        self.0.account.as_ref()
    }

    /// Requires the token of a user.
    pub(crate) fn require_user(&self) -> Result<&TokenAccount, ApiError> {
        self.account().ok_or(ApiError::UserRequired)
    }
}

/// The token in the `Authorization` header. The API accepts none in the query.
fn bearer_token(headers: &HeaderMap) -> Result<Secret, ApiError> {
    let all = headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes);
    extract_token(all, []).map_err(|_| ApiError::InvalidToken)?.ok_or(ApiError::MissingToken)
}
