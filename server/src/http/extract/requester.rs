//! Who calls the push rules: a user, or an application service that acts for one.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::matrix;
use belfry_core::oauth::bearer::BearerError;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::{Token, TokenError};
use belfry_core::percent;
use belfry_core::rules::RuleAccess;
use belfry_core::secret::Digest;

use crate::app::AppState;
use crate::application_services::ApplicationService;
use crate::http::error::MatrixError;
use crate::http::extract::client::{Client, Credential};

/// The user whose rules are meant; a handler that takes one is closed to everyone else.
pub(crate) struct Requester {
    /// The account.
    pub(crate) account: i64,
    /// Its name.
    pub(crate) name: String,
    /// The token, if it is the user's own and not that of an application service.
    pub(crate) token: Option<Digest>,
    /// What the token may be used for; an application service may do everything.
    scopes: Option<Scopes>,
}

impl Requester {
    /// Whether the caller may do that.
    pub(crate) fn may(&self, access: RuleAccess) -> Result<(), MatrixError> {
        let Some(scopes) = &self.scopes else { return Ok(()) };
        if access.is_granted_by(scopes.iter()) { Ok(()) } else { Err(MatrixError::Scope(access)) }
    }

    /// The user's id.
    pub(crate) fn user_id(&self, state: &AppState) -> String {
        matrix::user_id(&self.name, state.server_name())
    }
}

impl FromRequestParts<Arc<AppState>> for Requester {
    type Rejection = MatrixError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, MatrixError> {
        let query = percent::parse_query(parts.uri.query().unwrap_or_default())?;
        match holder(parts, state).await? {
            Holder::User(requester) => Ok(requester),
            Holder::Service(service) => acting(&service, &query, state).await,
        }
    }
}

/// An application service that asks for itself; a handler that takes one is closed to users.
pub(crate) struct Service(pub(crate) Arc<ApplicationService>);

impl FromRequestParts<Arc<AppState>> for Service {
    type Rejection = MatrixError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<AppState>,
    ) -> Result<Self, MatrixError> {
        match holder(parts, state).await? {
            Holder::Service(service) => Ok(Self(service)),
            Holder::User(..) => Err(MatrixError::NoService),
        }
    }
}

/// Who holds the token of a call.
enum Holder {
    User(Requester),
    Service(Arc<ApplicationService>),
}

async fn holder(parts: &Parts, state: &AppState) -> Result<Holder, MatrixError> {
    Client::look(parts, state, |client| match &client.credential {
        Credential::Token(digest, token) => match token.check(client.now) {
            Ok(()) => user(*digest, token).map(Holder::User),
            Err(TokenError::Revoked | TokenError::Expired) => Err(MatrixError::UnknownToken),
            Err(TokenError::AccountDisabled) => Err(MatrixError::Deactivated),
        },
        Credential::Service(digest) => {
            let service = state.application_services.by_token(*digest);
            service.cloned().map(Holder::Service).ok_or(MatrixError::UnknownToken)
        }
        Credential::Nothing => Err(MatrixError::MissingToken),
        Credential::Several => Err(BearerError::Several.into()),
        Credential::Unknown => Err(MatrixError::UnknownToken),
        Credential::Unanswered(problem) => Err(problem.clone().into()),
    })
    .await
}

/// The user of a good token.
fn user(digest: Digest, token: &Token) -> Result<Requester, MatrixError> {
    let account = token.account.as_ref().ok_or(MatrixError::NoUser)?;
    Ok(Requester {
        account: account.id,
        name: account.name.clone(),
        token: Some(digest),
        scopes: Some(token.scopes.clone()),
    })
}

/// The user for whom an application service acts: the one that it names, or its own.
async fn acting(
    service: &ApplicationService,
    query: &[(String, String)],
    state: &AppState,
) -> Result<Requester, MatrixError> {
    let mut named = values(query, "user_id");
    let name = match (named.next(), named.next()) {
        (None, _) => service.sender.as_str(),
        (Some(id), None) => matrix::localpart(id, state.server_name())
            .filter(|name| service.may_act_for(name, id))
            .ok_or(MatrixError::OutsideNamespace)?,
        (Some(_), Some(_)) => return Err(MatrixError::RepeatedUser),
    };
    let account = state.store.token_account(name).await?.ok_or(MatrixError::NoAccount)?;
    if account.disabled_at.is_some() {
        return Err(MatrixError::Deactivated);
    }
    Ok(Requester { account: account.id, name: account.name, token: None, scopes: None })
}

fn values<'a>(query: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    query.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
}
