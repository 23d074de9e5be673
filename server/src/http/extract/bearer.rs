//! The access token of a call to the API, and whether it is good.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::oauth::bearer::extract_token;
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_core::oauth::token::{Token, TokenAccount, TokenError};
use belfry_core::secret::Secret;

use crate::app::AppState;
use crate::http::error::ApiError;
use crate::http::extract::client::{Client, Credential};

/// A call with a good token; a handler that takes one is closed to everyone else.
pub(crate) struct Bearer(Arc<Token>);

impl FromRequestParts<Arc<AppState>> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, ApiError> {
        let secret = token_of(&parts.headers)?;
        let credential = Client::look(parts, state, |client| client.credential.clone()).await;
        // The token that the limits counted and no other: a second one in the query counts for
        // nobody, so it opens nothing.
        let token = match credential {
            Credential::Token(digest, token) if digest == secret.digest() => token,
            Credential::Unanswered(problem) => return Err(problem.into()),
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

    /// What the token may be used for.
    pub(crate) fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// Demands a scope that opens one of these.
    pub(crate) fn demand(&self, any: &[Scope]) -> Result<(), ApiError> {
        let allowed = any.iter().any(|scope| self.0.scopes.allows(*scope));
        if allowed { Ok(()) } else { Err(ApiError::OutsideScopes) }
    }

    /// The account that the token speaks for, if it speaks for one.
    pub(crate) fn account(&self) -> Option<&TokenAccount> {
        self.0.account.as_ref()
    }

    /// The account that the token speaks for.
    pub(crate) fn user(&self) -> Result<&TokenAccount, ApiError> {
        self.account().ok_or(ApiError::NoUser)
    }
}

/// The token of the `Authorization` header, the only place where the API looks for one.
fn token_of(headers: &HeaderMap) -> Result<Secret, ApiError> {
    let all = headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes);
    extract_token(all, []).map_err(|_| ApiError::InvalidToken)?.ok_or(ApiError::MissingToken)
}
