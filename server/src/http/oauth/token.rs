//! `POST /oauth/token`: exchanges a code or client credentials for an access token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject, NewAuditEvent};
use belfry_core::oauth::grant::{CodeError, RedemptionAttempt};
use belfry_core::oauth::parameters::Parameters;
use belfry_core::oauth::token_request::{TokenRequest, TokenRequestKind};
use belfry_core::secret::{HashedSecret, LookupKey, SplitToken};
use belfry_store::{Account, RedeemError, StoreError};
use serde::Serialize;

use crate::app::AppState;
use crate::auth::tokens::IssuedToken;
use crate::http::error::OAuthApiError;
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::form::Form;
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
}

impl From<IssuedToken> for TokenResponse {
    fn from(IssuedToken { secret, token }: IssuedToken) -> Self {
        let created_at = token.created_at.as_second();
        let lifetime = token.expires_at.map(|expires_at| expires_at.as_second() - created_at);
        Self {
            access_token: secret.reveal().to_owned(),
            token_type: "Bearer",
            scope: token.scopes.to_string(),
            created_at,
            expires_in: lifetime,
        }
    }
}

/// Issues a token. Parameters in the query string are ignored, because URLs end up in logs.
pub(crate) async fn issue_token(
    State(state): State<Arc<AppState>>,
    guard: AbuseGuard,
    headers: HeaderMap,
    Form(pairs): Form,
) -> Result<Response, OAuthApiError> {
    let policy = &state.issuer_policy;
    let request =
        TokenRequest::parse(policy, authorization_header(&headers)?, Parameters::new(&pairs))?;
    let app = authenticate_client(&state, &guard, &request.credentials).await?;
    app.properties.check_grant_type(request.kind.grant_type())?;
    let token_counters = &state.metrics.authentication.tokens;
    let (issued_token, counter) = match request.kind {
        TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier } => {
            let attempt = RedemptionAttempt {
                app_id: app.id,
                redirect_uri: &redirect_uri,
                verifier: verifier.as_ref(),
            };
            let code = SplitToken::parse(code.reveal()).map(|code| code.hashed_secret());
            let issued_token = redeem_code(&state, &guard.audit, code, &attempt).await?;
            (issued_token, &token_counters.authorization_code)
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

/// Redeems a code, which is `None` if it is malformed. A rejection is recorded as an audit event,
/// and if a code is redeemed twice (replayed), the token that was issued for it is revoked.
async fn redeem_code(
    state: &AppState,
    audit: &RequestAudit,
    code: Option<HashedSecret>,
    attempt: &RedemptionAttempt<'_>,
) -> Result<IssuedToken, OAuthApiError> {
    let reject = |reason: CodeError, account_id: Option<i64>| {
        let app = Some(attempt.app_id);
        let detail = Some(reason.to_string());
        let subject = CountedSubject::new(AuditKind::TokenIssue, AuditOutcome::Failure);
        audit.count(CountedSubject { account: account_id, app, detail, ..subject });
        OAuthApiError::Code(reason)
    };
    let now = state.clock.now();
    let code = code.ok_or_else(|| reject(CodeError::Unknown, None))?;
    let code_row = state.store.code(code).await?;
    let stored_code = code_row.ok_or_else(|| reject(CodeError::Unknown, None))?;
    let grant = stored_code.grant;
    let owner = Some(grant.account_id);
    if let Err(error) = grant.check_redemption(attempt, stored_code.token.is_some(), now) {
        if let (CodeError::Replayed, Some(token)) = (error, stored_code.token) {
            // The code may have been stolen and redeemed by the thief (RFC 6749, section 4.1.2).
            revoke_token_of_replayed_code(state, audit, token).await?;
        }
        return Err(reject(error, owner));
    }
    // The account may have been disabled, or have lost the role that the scopes require.
    let account = state.store.account(grant.account_id).await?;
    let is_allowed = |account: Account| {
        account.disabled_at.is_none() && grant.scopes.are_allowed_for(Some(account.role))
    };
    if !account.is_some_and(is_allowed) {
        return Err(reject(CodeError::Revoked, owner));
    }
    let events = audit.success_event(AuditKind::TokenIssue).into();
    match state.token_issuer().redeem_code(&events, code.lookup_key, grant).await {
        Ok(issued_token) => Ok(issued_token),
        Err(RedeemError::AlreadyRedeemed(token)) => {
            // Another request has redeemed the code since it was read, so this one replays it.
            revoke_token_of_replayed_code(state, audit, token).await?;
            Err(reject(CodeError::Replayed, owner))
        }
        Err(RedeemError::NotRedeemable) => Err(reject(CodeError::Revoked, owner)),
        Err(RedeemError::Store(error)) => Err(error.into()),
    }
}

/// Revokes the token that was issued for a replayed code.
async fn revoke_token_of_replayed_code(
    state: &AppState,
    audit: &RequestAudit,
    token: LookupKey,
) -> Result<(), StoreError> {
    let detail = Some("authorization code replayed".to_owned());
    let events = NewAuditEvent { detail, ..audit.success_event(AuditKind::TokenRevoke) }.into();
    state.store.revoke_token(&events, token, state.clock.now()).await.map(drop)
}
