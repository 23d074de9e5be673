//! `POST /oauth/revoke`: token revocation (RFC 7009).

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::introspection_and_revocation::ClientTokenRequest;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::secret::SplitToken;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::json::Json;
use crate::http::oauth::client_auth::{authenticate_client, authorization_header};

/// Revokes a token of the client. Clients that cannot be authenticated, unknown tokens and tokens
/// of other apps cause the same error, which does not reveal which clients and tokens exist.
pub(crate) async fn revoke_token(
    State(state): State<Arc<AppState>>,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthApiError> {
    let parameters = Parameters::new(&pairs);
    let parse_result = ClientTokenRequest::parse(authorization_header(&headers)?, parameters);
    let request = parse_result.map_err(|error| match error {
        OAuthError::MissingOrMalformedCredentials => reject_revocation("no client credentials"),
        OAuthError::Missing(_) => reject_revocation("no token"),
        error => error.into(),
    })?;
    let app = match authenticate_client(&state, &guard, &request.credentials).await {
        Err(OAuthApiError::Undisclosed { reason, app, .. }) => {
            return Err(OAuthApiError::Undisclosed {
                error: OAuthError::UnauthorizedRevocation,
                reason,
                app,
            });
        }
        result => result?,
    };
    let secret = SplitToken::parse(request.token.reveal())
        .ok_or_else(|| reject_revocation("the token is malformed"))?
        .hashed_secret();
    let token = state.store.token(secret).await?;
    let app_id = token.ok_or_else(|| reject_revocation("the token is unknown"))?.app_id;
    if app_id != app.id {
        return Err(reject_revocation("the token belongs to another app"));
    }
    let events = guard.audit.success_event(AuditKind::TokenRevoke).into();
    state.store.revoke_token(&events, secret.lookup_key, state.clock.now()).await?;
    Ok(Json(json!({})))
}

fn reject_revocation(reason: &'static str) -> OAuthApiError {
    OAuthApiError::Undisclosed { error: OAuthError::UnauthorizedRevocation, reason, app: None }
}
