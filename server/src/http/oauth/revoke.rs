//! `POST /oauth/revoke`: token revocation (RFC 7009).

use axum::extract::State;
use axum::http::HeaderMap;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::ClientTokenRequest;
use belfry_core::secret::SplitToken;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::extract::issuer::PathIssuer;
use crate::http::json::Json;
use crate::http::oauth::client_auth::{authenticate_client, authorization_header};

/// Revokes a token of the client. Clients that cannot be authenticated, unknown tokens and tokens
/// of other apps cause the same response, which does not reveal which clients and tokens exist.
/// Tokens of families need no client: whoever has one may end the family.
pub(crate) async fn revoke_token(
    State(state): State<AppState>,
    PathIssuer(issuer): PathIssuer,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Json<Value>, OAuthApiError> {
    let policy = state.policy(issuer);
    let reject = |reason, app| match policy.foreign_revocation.clone() {
        Ok(()) => Ok(Json(json!({}))),
        Err(error) => Err(OAuthApiError::Undisclosed { error, reason, app }),
    };
    let parameters = Parameters::new(&pairs);
    let revoke = async |lookup_key| -> Result<_, OAuthApiError> {
        let events = guard.audit.success_event(AuditKind::TokenRevoke).into();
        state.store.revoke_token(&events, lookup_key, state.clock.now()).await?;
        Ok(Json(json!({})))
    };
    if policy.issues_families() {
        let token = SplitToken::parse(parameters.required(Parameter::Token)?);
        let family = match token {
            Some(token) => state.store.family(token.presented()).await?,
            None => None,
        };
        return match family {
            Some(family) => revoke(family.token.lookup_key).await,
            None => Ok(Json(json!({}))),
        };
    }
    let authorization = authorization_header(&headers)?;
    let request = match ClientTokenRequest::parse(policy, authorization, parameters) {
        Err(OAuthError::MissingOrMalformedCredentials) => {
            return reject("no client credentials", None);
        }
        Err(OAuthError::Missing(_)) => return reject("no token", None),
        result => result?,
    };
    let app = match authenticate_client(&state, issuer, &guard, &request.credentials).await {
        Err(OAuthApiError::Undisclosed { reason, app, .. }) => return reject(reason, app),
        result => result?,
    };
    let Some(secret) = SplitToken::parse(request.token.reveal()) else {
        return reject("the token is malformed", None);
    };
    let secret = secret.presented();
    match state.store.token(secret).await? {
        None => return reject("the token is unknown", None),
        Some(token) if token.app_id != app.id => {
            return reject("the token belongs to another app", None);
        }
        Some(_) => {}
    }
    revoke(secret.hashed.lookup_key).await
}
