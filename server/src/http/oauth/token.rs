//! `POST /oauth/token`: exchanges a code or client credentials for an access token.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::grant::{CodeError, RedemptionAttempt};
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::{TokenRequest, TokenRequestKind};
use serde::Serialize;

use crate::app::AppState;
use crate::auth::tokens::{IssuedToken, RefreshRejection};
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::form::Form;
use crate::http::extract::issuer::PathIssuer;
use crate::http::json::Json;
use crate::http::oauth::client_auth::{authenticate_client, authorization_header};

/// A successful token response (RFC 6749, section 5.1).
#[derive(Serialize)]
pub(crate) struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    scope: String,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
}

impl From<IssuedToken> for TokenResponse {
    fn from(IssuedToken { secret, refresh, token }: IssuedToken) -> Self {
        let created_at = token.created_at.as_second();
        let lifetime = token.expires_at.map(|expires_at| expires_at.as_second() - created_at);
        Self {
            access_token: secret.reveal().to_owned(),
            token_type: "Bearer",
            scope: token.scopes.to_string(),
            created_at,
            expires_in: lifetime,
            refresh_token: refresh.map(|refresh| refresh.reveal().to_owned()),
        }
    }
}

/// Issues a token. Parameters in the query string are ignored, because URLs end up in logs.
pub(crate) async fn issue_token(
    State(state): State<AppState>,
    PathIssuer(issuer): PathIssuer,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Response, OAuthApiError> {
    let policy = state.policy(issuer);
    let request =
        TokenRequest::parse(policy, authorization_header(&headers)?, Parameters::new(&pairs))?;
    let app = authenticate_client(&state, issuer, &guard, &request.credentials).await?;
    app.properties.check_grant_type(request.kind.grant_type())?;
    let count_rejection = |detail: String, account| {
        let subject = CountedSubject::new(AuditKind::TokenIssue, AuditOutcome::Failure);
        let (app, detail) = (Some(app.id), Some(detail));
        guard.audit.count(CountedSubject { account, app, detail, ..subject });
    };
    let token_counters = &state.metrics.authentication.tokens;
    let (issued_token, counter) = match request.kind {
        TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier } => {
            let attempt = RedemptionAttempt {
                app_id: app.id,
                redirect_uri: &redirect_uri,
                verifier: verifier.as_ref(),
            };
            let new_event = |kind| guard.audit.success_event(kind);
            let result = state.token_issuer().redeem_code(policy, new_event, &code, &attempt).await;
            let reject = |reason: CodeError, account_id| {
                count_rejection(reason.to_string(), account_id);
                OAuthApiError::Code(reason)
            };
            (result.map_err(|error| error.map(reject))?, &token_counters.authorization_code)
        }
        TokenRequestKind::RefreshToken { token, scope } => {
            let new_event = |kind| guard.audit.success_event(kind);
            let scope = policy.parse_scopes(scope).map_err(OAuthError::from)?;
            let result = state.token_issuer().refresh(new_event, app.id, &token, &scope).await;
            let reject = |reason: RefreshRejection, account_id| {
                if reason == RefreshRejection::Reused {
                    token_counters.reused_refresh_tokens.inc();
                }
                count_rejection(reason.to_string(), account_id);
                match reason {
                    RefreshRejection::OtherScope => OAuthError::RefreshScope.into(),
                    _ => OAuthApiError::Undisclosed {
                        error: OAuthError::InvalidRefreshToken,
                        reason: reason.into(),
                        app: Some(app.id),
                    },
                }
            };
            (result.map_err(|error| error.map(reject))?, &token_counters.refresh_token)
        }
        TokenRequestKind::ClientCredentials { scope } => {
            let scopes = app.resolve_app_token_scopes(policy, scope.as_deref())?;
            let issued_token = state.token_issuer().issue_app_token(app.id, scopes).await?;
            let subject = CountedSubject::new(AuditKind::AppTokenIssue, AuditOutcome::Success);
            let subject_with_app = CountedSubject { app: Some(app.id), ..subject };
            state.audit.record(subject_with_app, state.clock.now());
            (issued_token, &token_counters.client_credentials)
        }
    };
    counter.inc();
    Ok(Json(&TokenResponse::from(issued_token)).into_response())
}
