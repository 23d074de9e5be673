//! `POST /oauth/token`: exchanges a code or client credentials for an access token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::grant::{Grant, GrantError, Redemption};
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::{GrantRequest, TokenRequest};
use belfry_core::secret::Digest;
use jiff::Timestamp;
use serde::Serialize;

use crate::app::AppState;
use crate::http::error::{CommonError, OAuthApiError};
use crate::http::extract::form::Form;
use crate::http::layer::rate_limit::guard::Guard;
use crate::http::oauth::client_auth::{authenticate, authorization};
use crate::http::respond::json::Json;
use crate::store::{Code, StoreError};
use crate::tokens::IssuedToken;

/// A successful token response (RFC 6749, section 5.1).
#[derive(Serialize)]
pub(crate) struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    scope: String,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
}

impl From<IssuedToken> for TokenResponse {
    fn from(issued: IssuedToken) -> Self {
        Self {
            access_token: issued.secret.reveal().to_owned(),
            token_type: "Bearer",
            scope: issued.scopes.to_string(),
            created_at: issued.created_at.as_second(),
            expires_in: issued.lifetime.map(|lifetime| lifetime.as_secs()),
        }
    }
}

/// Issues a token. Parameters in the query string are ignored, because URLs end up in logs.
pub(crate) async fn token(
    State(state): State<Arc<AppState>>,
    guard: Guard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Response, OAuthApiError> {
    let request = TokenRequest::parse(authorization(&headers)?, Parameters::new(&pairs))?;
    let app = authenticate(&state, &guard, &request.credentials).await?;
    let issued = match request.grant {
        GrantRequest::AuthorizationCode { code, redirect_uri, verifier } => {
            let attempt = Redemption {
                app_id: app.id,
                redirect_uri: &redirect_uri,
                verifier: verifier.as_ref(),
            };
            redeem(&state, code.digest(), &attempt).await?
        }
        GrantRequest::ClientCredentials { scope } => {
            let scopes = app.resolve_scopes(scope.as_deref())?;
            state.token_issuer().issue(app.id, None, scopes).await?
        }
    };
    Ok(Json(&TokenResponse::from(issued)).into_response())
}

async fn redeem(
    state: &AppState,
    code: Digest,
    attempt: &Redemption<'_>,
) -> Result<IssuedToken, OAuthApiError> {
    let now = state.clock.now();
    let Some(found) = state.store.code(code).await? else {
        return Err(OAuthError::InvalidGrant.into());
    };
    let grant = grant_of(&found)?;
    if let Err(why) = grant.check_redemption(attempt, found.token.is_some(), now) {
        tracing::info!(app = attempt.app_id, %why, "rejected the redemption of a code");
        if why == GrantError::Replayed {
            revoke_first(state, &found, now).await?;
        }
        return Err(why.into());
    }
    let account = state.store.account(grant.account_id).await?;
    if account.is_none_or(|account| account.disabled_at.is_some()) {
        return Err(OAuthError::InvalidGrant.into());
    }
    if let Some(issued) = state.token_issuer().redeem_code(code, grant.scopes).await? {
        return Ok(issued);
    }
    // Redeemed by another request since it was read: this one is the replay.
    if let Some(found) = state.store.code(code).await? {
        revoke_first(state, &found, now).await?;
    }
    Err(OAuthError::InvalidGrant.into())
}

fn grant_of(code: &Code) -> Result<Grant, CommonError> {
    let binding = serde_json::from_str(&code.details).ok();
    let scopes = code.scopes.parse().ok();
    let (binding, scopes) = binding.zip(scopes).ok_or(StoreError::Unreadable("code"))?;
    Ok(Grant {
        app_id: code.app,
        account_id: code.account,
        scopes,
        binding,
        expires_at: code.expires_at,
    })
}

/// Revokes the token of the first redemption, which may have been a theft (RFC 6749 section 4.1.2).
async fn revoke_first(state: &AppState, code: &Code, now: Timestamp) -> Result<(), StoreError> {
    if let Some(token) = code.token {
        state.store.revoke_token(token, now).await?;
    }
    Ok(())
}
