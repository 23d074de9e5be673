//! The authenticated user of a Matrix API request, or the application service that acts for a user.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::audit::{AuditKind, AuditOutcome, CountedSubject};
use belfry_core::matrix;
use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_core::oauth::token::MultipleTokens;
use belfry_core::oauth::token::TokenError;
use belfry_core::percent;
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use crate::app::AppState;
use crate::auth::application_services::ApplicationService;
use crate::http::error::MatrixError;
use crate::http::extract::client::{Client, Credential};
use crate::log::request_context::RequestContext;

/// The user on whose behalf a request is made. Handlers that extract it reject unauthenticated
/// requests.
pub(crate) struct Requester {
    pub(crate) account_id: i64,
    pub(crate) user_id: String,
    /// The token's lookup key; `None` for an application service.
    pub(crate) token_key: Option<LookupKey>,
    /// The scopes of the token; `None` for an application service, which needs none.
    scopes: Option<Scopes>,
    pub(crate) now: Timestamp,
}

impl Requester {
    /// Requires a token with one of these scopes, or an application service.
    pub(crate) fn require_scope(&self, sufficient: &'static [Scope]) -> Result<(), MatrixError> {
        match &self.scopes {
            Some(scopes) if !scopes.allows_any(sufficient) => {
                Err(MatrixError::MissingScope(sufficient))
            }
            _ => Ok(()),
        }
    }
}

impl FromRequestParts<AppState> for Requester {
    type Rejection = MatrixError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, MatrixError> {
        let query = percent::parse_query(parts.uri.query().unwrap_or_default())?;
        match authenticate_token(parts, state).await? {
            TokenOwner::User(requester) => Ok(requester),
            TokenOwner::Service(service) => resolve_user(&service, &query, state).await,
        }
    }
}

/// The application service that sent a request. Handlers that extract it reject users.
pub(crate) struct RequestingService(pub(crate) Arc<ApplicationService>);

impl FromRequestParts<AppState> for RequestingService {
    type Rejection = MatrixError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, MatrixError> {
        match authenticate_token(parts, state).await? {
            TokenOwner::Service(service) => Ok(Self(service)),
            TokenOwner::User(..) => Err(MatrixError::ApplicationServiceRequired),
        }
    }
}

enum TokenOwner {
    User(Requester),
    Service(Arc<ApplicationService>),
}

async fn authenticate_token(parts: &Parts, state: &AppState) -> Result<TokenOwner, MatrixError> {
    Client::inspect(parts, state, |client| match &client.credential {
        Credential::Token(secret, token) => match token.check_validity(client.now) {
            Ok(()) => {
                state.store.record_use(secret.lookup_key, token, client.now);
                let account = token.account.as_ref().ok_or(MatrixError::UserRequired)?;
                Ok(TokenOwner::User(Requester {
                    account_id: account.id,
                    user_id: matrix::user_id(&account.name, state.server_name()),
                    token_key: Some(secret.lookup_key),
                    scopes: Some(token.scopes.clone()),
                    now: client.now,
                }))
            }
            Err(TokenError::Expired) if token.is_family() => Err(MatrixError::ExpiredToken),
            Err(TokenError::Revoked | TokenError::Expired) => Err(MatrixError::UnknownToken),
            Err(TokenError::AccountDisabled) => Err(MatrixError::Deactivated),
        },
        Credential::ApplicationService(service) => Ok(TokenOwner::Service(Arc::clone(service))),
        Credential::Missing => Err(MatrixError::MissingToken),
        Credential::MultipleTokens => Err(MultipleTokens.into()),
        Credential::Unknown => Err(MatrixError::UnknownToken),
        Credential::LookupFailed(error) => Err(error.clone().into()),
    })
    .await
}

/// Returns the user for whom an application service acts: the query's `user_id`, or the service's
/// own sender. Records the use in the audit trail.
async fn resolve_user(
    service: &ApplicationService,
    query: &[(String, String)],
    state: &AppState,
) -> Result<Requester, MatrixError> {
    let mut ids = query.iter().filter(|(name, _)| name == "user_id").map(|(_, id)| id.as_str());
    let name = match (ids.next(), ids.next()) {
        (None, _) => service.sender.as_str(),
        (Some(id), None) => {
            let server_name = state.server_name();
            let name = matrix::localpart(id, server_name)
                .ok_or_else(|| MatrixError::OtherServer(server_name.to_owned()))?;
            if !service.may_act_for(name, id) {
                return Err(MatrixError::OutsideNamespace);
            }
            name
        }
        (Some(_), Some(_)) => return Err(MatrixError::RepeatedUser),
    };
    let account = state.store.token_account(name).await?.ok_or(MatrixError::NoAccount)?;
    if account.disabled_at.is_some() {
        return Err(MatrixError::Deactivated);
    }
    let subject = CountedSubject {
        account: Some(account.id),
        detail: Some(service.id.clone()),
        ..CountedSubject::new(AuditKind::ServiceUse, AuditOutcome::Success)
    };
    let now = state.clock.now();
    state.audit.record(subject, now);
    RequestContext::record_account(account.id);
    let user_id = matrix::user_id(&account.name, state.server_name());
    Ok(Requester { account_id: account.id, user_id, token_key: None, scopes: None, now })
}
