//! Who calls the push rules: a user, or an application service that acts for one.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use belfry_core::matrix;
use belfry_core::oauth::bearer::BearerError;
use belfry_core::oauth::scope::Scopes;
use belfry_core::percent;
use belfry_core::rules::Access;
use belfry_core::secret::Digest;

use super::Belfry;
use super::entrant::{Entrant, Presented};
use super::error::RuleError;
use crate::application_services::ApplicationService;
use crate::store::{Name, Refused, Token};

/// The user whose rules are meant; a handler that takes one is closed to everyone else.
pub(super) struct Caller {
    /// The account.
    pub(super) account: i64,
    /// Its name.
    pub(super) name: Name,
    /// The token, if it is the user's own and not that of an application service.
    pub(super) token: Option<Digest>,
    /// What the token may be used for; an application service may do everything.
    scopes: Option<Scopes>,
}

impl Caller {
    /// Whether the caller may do that.
    pub(super) fn may(&self, access: Access) -> Result<(), RuleError> {
        let Some(scopes) = &self.scopes else { return Ok(()) };
        if access.is_granted_by(scopes.iter()) { Ok(()) } else { Err(RuleError::Scope(access)) }
    }

    /// The user's id.
    pub(super) fn user_id(&self, belfry: &Belfry) -> String {
        matrix::user_id(&self.name, belfry.server_name())
    }
}

impl FromRequestParts<Arc<Belfry>> for Caller {
    type Rejection = RuleError;

    async fn from_request_parts(
        parts: &mut Parts,
        belfry: &Arc<Belfry>,
    ) -> Result<Self, RuleError> {
        let query = percent::query(parts.uri.query().unwrap_or_default())?;
        match holder(parts, belfry).await? {
            Holder::User(caller) => Ok(caller),
            Holder::Service(service) => acting(&service, &query, belfry).await,
        }
    }
}

/// An application service that asks for itself; a handler that takes one is closed to users.
pub(super) struct Service(pub(super) Arc<ApplicationService>);

impl FromRequestParts<Arc<Belfry>> for Service {
    type Rejection = RuleError;

    async fn from_request_parts(
        parts: &mut Parts,
        belfry: &Arc<Belfry>,
    ) -> Result<Self, RuleError> {
        match holder(parts, belfry).await? {
            Holder::Service(service) => Ok(Self(service)),
            Holder::User(..) => Err(RuleError::NoService),
        }
    }
}

/// Who holds the token of a call.
enum Holder {
    User(Caller),
    Service(Arc<ApplicationService>),
}

async fn holder(parts: &Parts, belfry: &Belfry) -> Result<Holder, RuleError> {
    Entrant::look(parts, belfry, |entrant| match &entrant.presented {
        Presented::Token(digest, token) => match token.check(entrant.now) {
            Ok(()) => user(*digest, token).map(Holder::User),
            Err(Refused::Revoked | Refused::Expired) => Err(RuleError::UnknownToken),
            Err(Refused::Disabled) => Err(RuleError::Deactivated),
        },
        Presented::Service(digest) => {
            let service = belfry.application_services.of_token(*digest);
            service.cloned().map(Holder::Service).ok_or(RuleError::UnknownToken)
        }
        Presented::Nothing => Err(RuleError::MissingToken),
        Presented::Several => Err(BearerError::Several.into()),
        Presented::Unknown => Err(RuleError::UnknownToken),
        Presented::Unanswered(problem) => Err(problem.clone().into()),
    })
    .await
}

/// The user of a good token.
fn user(digest: Digest, token: &Token) -> Result<Caller, RuleError> {
    let account = token.account.as_ref().ok_or(RuleError::NoUser)?;
    Ok(Caller {
        account: account.id,
        name: account.name,
        token: Some(digest),
        scopes: Some(token.scopes.clone()),
    })
}

/// The user for whom an application service acts: the one that it names, or its own.
async fn acting(
    service: &ApplicationService,
    query: &[(String, String)],
    belfry: &Belfry,
) -> Result<Caller, RuleError> {
    let mut named = values(query, "user_id");
    let name = match (named.next(), named.next()) {
        (None, _) => service.sender.as_str(),
        (Some(id), None) => matrix::localpart(id, belfry.server_name())
            .filter(|name| service.may_act_for(name, id))
            .ok_or(RuleError::OutsideNamespace)?,
        (Some(_), Some(_)) => return Err(RuleError::RepeatedUser),
    };
    let account = belfry.store.acting_account(name).await?.ok_or(RuleError::NoAccount)?;
    if account.disabled_at.is_some() {
        return Err(RuleError::Deactivated);
    }
    Ok(Caller { account: account.id, name: account.name, token: None, scopes: None })
}

fn values<'a>(query: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    query.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
}
