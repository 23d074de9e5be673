//! `POST /oauth/introspect`: token introspection (RFC 7662).

use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::{ClientTokenRequest, can_introspect};
use belfry_core::secret::SplitToken;
use belfry_runtime::log_throttled;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::extract::issuer::PathIssuer;
use crate::http::json::Json;
use crate::http::oauth::client_auth::{authenticate_client, authorization_header};

/// Describes a token. A token that is invalid or unknown, or that the client may not introspect, is
/// reported as inactive.
pub(crate) async fn introspect(
    State(state): State<AppState>,
    PathIssuer(issuer): PathIssuer,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthApiError> {
    let parameters = Parameters::new(&pairs);
    let policy = state.policy(issuer);
    let request = ClientTokenRequest::parse(policy, authorization_header(&headers)?, parameters)?;
    let app = authenticate_client(&state, issuer, &guard, &request.credentials).await?;
    let inactive = Ok(Json(json!({ "active": false })));

    let Some(secret) = SplitToken::parse(request.token.reveal()) else { return inactive };
    let secret = secret.presented();
    let now = state.clock.now();
    let token = state.store.token(secret).await?;
    let Some(token) = token.filter(|token| token.check_validity(now).is_ok()) else {
        return inactive;
    };
    if !can_introspect(&app, token.app_id, &state.config.oauth.resource_servers) {
        log_throttled!(info, "introspection by an app that is not in oauth.resource_servers");
        return inactive;
    }
    // Counted as a use, because the resource server has received a request with the token.
    state.store.record_use(secret.hashed.lookup_key, &token, now);
    let Some(token_app) = state.store.cached_app(token.app_id).await? else { return inactive };
    let mut response = json!({
        "active": true,
        "scope": token.scopes.to_string(),
        "client_id": token_app.app.client_id,
        "token_type": "Bearer",
        "iat": token.created_at.as_second(),
        "iss": state.policy(token_app.app.properties.issuer).identifier(&state.base_url.to_string()),
    });
    if let Some(expires_at) = token.expires_at.map(Timestamp::as_second) {
        response["exp"] = expires_at.into();
    }
    if let Some(account) = &token.account {
        response["username"] = (&*account.name).into();
        response["sub"] = state.base_url.account_uri(account.id).into();
    }
    Ok(Json(response))
}
