//! Issuing access tokens: for the token endpoint, sign-up, Matrix login and the command line.

use std::time::Duration;

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::matrix::Device;
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::grant::{CodeError, RedemptionAttempt};
use belfry_core::oauth::issuer_policy::{IssuerPolicy, MASTODON};
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::expiry_after;
use belfry_core::oauth::token_family::{Refresh, TokenFamily};
use belfry_core::secret::{LookupKey, Secret, SplitToken};
use jiff::Timestamp;

use super::authentication::AuthenticationProof;
use belfry_runtime::random;
use belfry_store::{
    Account, NewToken, PresentedFamily, RedeemError, Store, StoreError, StoredApp, StoredCode,
    TokenPair, WriteOutcome,
};

/// The default name of the app of tokens issued on the command line. Pages show it in the user's
/// language.
pub(crate) const COMMAND_LINE_APP: &str = "Command line";

/// An app that the server creates for tokens issued without OAuth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPartyApp<'a> {
    /// The app of Matrix clients that sign in with a password.
    Matrix,
    /// An app for tokens issued on the command line, with this name.
    CommandLine(&'a str),
}

impl<'a> FirstPartyApp<'a> {
    /// Returns the registrar, client id and name. Registered apps cannot have these client ids,
    /// because theirs are random.
    fn details(self) -> (Registrar, String, &'a str) {
        match self {
            Self::Matrix => (Registrar::Matrix, "matrix".to_owned(), "Matrix clients"),
            Self::CommandLine(name) => (Registrar::CommandLine, format!("cli:{name}"), name),
        }
    }
}

/// The reason why no token was issued to a first-party app.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("the app {name:?} is disabled; run `belfry app enable {id}`")]
    AppDisabled { id: i64, name: String },
    /// The app or the account was disabled or deleted before the token was stored.
    #[error("the app or the account is disabled or deleted")]
    AppOrAccountDisabled,
    /// The password was changed, or the account or the app was disabled or deleted, after the
    /// password was verified.
    #[error("the password was changed, or the account or the app was disabled or deleted")]
    SignInRejected,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a code or a refresh token was not exchanged.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError<R> {
    /// It cannot be exchanged. The account is that of its grant, if it exists.
    #[error("rejected")]
    Rejected { reason: R, account_id: Option<i64> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<R> ExchangeError<R> {
    /// Converts the error, with the response to a rejection.
    pub fn map<E: From<StoreError>>(self, reject: impl FnOnce(R, Option<i64>) -> E) -> E {
        match self {
            Self::Rejected { reason, account_id } => reject(reason, account_id),
            Self::Store(error) => error.into(),
        }
    }
}

/// The reason why a refresh token was rejected. It is recorded; the response does not contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
pub enum RefreshRejection {
    #[strum(serialize = "the refresh token is unknown")]
    Unknown,
    #[strum(serialize = "the refresh token was issued to another app")]
    OtherApp,
    #[strum(serialize = "a scope was requested that the refresh token does not have")]
    OtherScope,
    #[strum(serialize = "the sign-in has ended")]
    Ended,
    /// Somebody else may have a copy of the token, so the family was ended.
    #[strum(serialize = "the refresh token was used before")]
    Reused,
}

/// The number of times that a refresh is decided again, because a concurrent one was faster. The
/// second decision normally repeats the response of the first.
const MAX_REFRESH_ATTEMPTS: usize = 8;

#[derive(Clone, Copy)]
pub struct TokenIssuer<'a> {
    pub store: &'a Store,
    pub now: Timestamp,
    /// The setting `oauth.token_lifetime`; `None` for tokens that do not expire.
    pub lifetime: Option<Duration>,
}

#[derive(Debug)]
pub struct IssuedToken {
    pub secret: SplitToken,
    /// The refresh token, if the issuer has them.
    pub refresh: Option<SplitToken>,
    pub token: NewToken,
}

impl TokenIssuer<'_> {
    pub async fn issue(
        &self,
        events: &NewAuditEvents,
        app_id: i64,
        account_id: i64,
        scopes: Scopes,
    ) -> Result<IssuedToken, IssueError> {
        let issued_token = self.new_token(app_id, Some(account_id), scopes);
        match self.store.add_token(events, &issued_token.token).await? {
            WriteOutcome::Written => Ok(issued_token),
            WriteOutcome::NotFound => Err(IssueError::AppOrAccountDisabled),
        }
    }

    pub async fn issue_app_token(
        &self,
        app_id: i64,
        scopes: Scopes,
    ) -> Result<IssuedToken, IssueError> {
        let issued_token = self.new_token(app_id, None, scopes);
        match self.store.add_app_token(&issued_token.token).await? {
            WriteOutcome::Written => Ok(issued_token),
            WriteOutcome::NotFound => Err(IssueError::AppOrAccountDisabled),
        }
    }

    /// Issues a token to a first-party app, creating the app if missing. The app's secret is
    /// discarded, so it cannot be used to get other tokens.
    pub async fn issue_first_party_token(
        &self,
        events: &NewAuditEvents,
        app: FirstPartyApp<'_>,
        account_id: i64,
        scopes: Scopes,
    ) -> Result<SplitToken, IssueError> {
        let app_id = find_or_create_first_party_app(self.store, self.now, app).await?;
        Ok(self.issue(events, app_id, account_id, scopes.or_read()).await?.secret)
    }

    /// Issues a token to a Matrix device, replacing earlier tokens of the device, and records the
    /// sign-in.
    ///
    /// # Errors
    /// If the password was changed or the account disabled since the password was verified
    /// ([`IssueError::SignInRejected`]), if the app for Matrix clients is disabled, or if the store
    /// fails.
    pub async fn issue_to_device(
        &self,
        events: &NewAuditEvents,
        device: Device,
        proof: &AuthenticationProof,
        scopes: Scopes,
    ) -> Result<SplitToken, IssueError> {
        let app_id =
            find_or_create_first_party_app(self.store, self.now, FirstPartyApp::Matrix).await?;
        let Account { id, credential_version, .. } = proof.account;
        let IssuedToken { secret, token, .. } = self.new_token(app_id, Some(id), scopes);
        let token = NewToken { device: Some(device), ..token };
        match self.store.add_token_for_password(events, &token, credential_version).await? {
            WriteOutcome::Written => Ok(secret),
            WriteOutcome::NotFound => Err(IssueError::SignInRejected),
        }
    }

    /// Redeems a code for a token with the app, account and scopes of its grant. If the code is
    /// redeemed a second time (replayed), it may have been stolen and redeemed by the thief, so the
    /// token that was issued for it is revoked (RFC 6749, section 4.1.2).
    pub async fn redeem_code(
        &self,
        policy: &IssuerPolicy,
        new_event: impl Fn(AuditKind) -> NewAuditEvent,
        code: &Secret,
        attempt: &RedemptionAttempt<'_>,
    ) -> Result<IssuedToken, ExchangeError<CodeError>> {
        let unknown = ExchangeError::Rejected { reason: CodeError::Unknown, account_id: None };
        let Some(code) = SplitToken::parse_code(code.reveal()) else { return Err(unknown) };
        let code = code.hashed_secret();
        let Some(StoredCode { grant, token, .. }) = self.store.code(code).await? else {
            return Err(unknown);
        };
        let account_id = Some(grant.account_id);
        let reject = |reason| ExchangeError::Rejected { reason, account_id };
        let revoke_replayed = async |token| {
            let detail = Some("authorization code replayed".to_owned());
            let events = NewAuditEvent { detail, ..new_event(AuditKind::TokenRevoke) }.into();
            self.store.revoke_token(&events, token, self.now).await.map(drop)
        };
        if let Err(reason) = grant.check_redemption(attempt, token.is_some(), self.now) {
            if let (CodeError::Replayed, Some(token)) = (reason, token) {
                revoke_replayed(token).await?;
            }
            return Err(reject(reason));
        }
        // The account may have been disabled, or have lost the role that the scopes require.
        let account = self.store.account(grant.account_id).await?;
        let is_allowed = |account: &Account| {
            account.disabled_at.is_none() && grant.scopes.are_allowed_for(Some(account.role))
        };
        if !account.as_ref().is_some_and(is_allowed) {
            return Err(reject(CodeError::Revoked));
        }
        let new_token = self.new_token(grant.app_id, account_id, grant.scopes.clone());
        let NewToken { secret, expires_at, .. } = new_token.token;
        let events = new_event(AuditKind::TokenIssue).into();
        let (issued_token, outcome) = if policy.issues_families() {
            let family = TokenFamily::new(self.now);
            let issued_token = self.pair(secret.lookup_key, family, new_token.token)?;
            let key = code.lookup_key;
            let outcome = self.store.redeem_code_for_family(&events, key, secret, family, &grant);
            (issued_token, outcome.await)
        } else {
            let key = code.lookup_key;
            let outcome = self.store.redeem_code(&events, key, secret, self.now, expires_at);
            (new_token, outcome.await)
        };
        match outcome {
            Ok(()) => Ok(issued_token),
            // Another request has redeemed the code since it was read.
            Err(RedeemError::AlreadyRedeemed(token)) => {
                revoke_replayed(token).await?;
                Err(reject(CodeError::Replayed))
            }
            Err(RedeemError::NotRedeemable) => Err(reject(CodeError::Revoked)),
            Err(RedeemError::Store(error)) => Err(error.into()),
        }
    }

    /// Exchanges a refresh token for the next tokens of its family. A token that was used before
    /// ends the family, because somebody else may have a copy of it.
    pub async fn refresh(
        &self,
        new_event: impl Fn(AuditKind) -> NewAuditEvent,
        app_id: i64,
        token: &Secret,
        requested_scopes: &Scopes,
    ) -> Result<IssuedToken, ExchangeError<RefreshRejection>> {
        let reject = |reason, account_id| Err(ExchangeError::Rejected { reason, account_id });
        let presented = SplitToken::parse(token.reveal()).map(|token| token.presented());
        let Some(presented) = presented else { return reject(RefreshRejection::Unknown, None) };
        for _ in 0..MAX_REFRESH_ATTEMPTS {
            let family = self.store.family(presented).await?;
            let Some(PresentedFamily { token, row, state }) =
                family.filter(|family| family.token.expires_at.is_none())
            else {
                return reject(RefreshRejection::Unknown, None);
            };
            let account_id = row.account.as_ref().map(|account| account.id);
            if row.app_id != app_id {
                return reject(RefreshRejection::OtherApp, account_id);
            }
            if row.check_validity(self.now).is_err() {
                return reject(RefreshRejection::Ended, account_id);
            }
            if row.scopes.first_not_covered(requested_scopes).is_some() {
                return reject(RefreshRejection::OtherScope, account_id);
            }
            let next = match state.refresh(token.generation, self.now) {
                Refresh::Repeat => state,
                Refresh::Advance(next) => {
                    let advance = self.store.advance_family(token.lookup_key, state, next);
                    match advance.await? {
                        WriteOutcome::Written => next,
                        WriteOutcome::NotFound => continue,
                    }
                }
                Refresh::Reuse => {
                    let detail = Some("refresh token reused".to_owned());
                    let event = NewAuditEvent { detail, ..new_event(AuditKind::TokenRevoke) };
                    self.store.revoke_token(&event.into(), token.lookup_key, self.now).await?;
                    return reject(RefreshRejection::Reused, account_id);
                }
            };
            let new_token = self.new_token(app_id, account_id, row.scopes.clone()).token;
            return Ok(self.pair(token.lookup_key, next, new_token)?);
        }
        Err(StoreError::Unavailable("too many refreshes of one family".to_owned()).into())
    }

    /// Returns the newest tokens of a family.
    fn pair(
        &self,
        lookup_key: LookupKey,
        family: TokenFamily,
        token: NewToken,
    ) -> Result<IssuedToken, StoreError> {
        let pair = self.store.token_pair(lookup_key, family);
        let TokenPair { access, refresh } =
            pair.ok_or_else(|| StoreError::Failed("there is no key of token families".to_owned()))?;
        let token = NewToken { expires_at: Some(family.access_expires_at()), ..token };
        Ok(IssuedToken { secret: access, refresh: Some(refresh), token })
    }

    fn new_token(&self, app_id: i64, account_id: Option<i64>, scopes: Scopes) -> IssuedToken {
        let secret = random::split_token(self.now);
        let token = NewToken {
            secret: secret.hashed_secret(),
            app_id,
            account_id,
            scopes,
            created_at: self.now,
            expires_at: self.lifetime.map(|lifetime| expiry_after(self.now, lifetime)),
            device: None,
        };
        IssuedToken { secret, refresh: None, token }
    }
}

/// Returns the id of a first-party app, creating the app if missing.
///
/// # Errors
/// If the app is disabled or the store fails.
pub async fn find_or_create_first_party_app(
    store: &Store,
    now: Timestamp,
    app: FirstPartyApp<'_>,
) -> Result<i64, IssueError> {
    let (registrar, client_id, name) = app.details();
    for new_id in random::id_candidates(now) {
        if let Some(stored_app) = store.app_by_client_id(&client_id).await? {
            let App { id, details, .. } = &stored_app.app;
            return match stored_app.disabled_at {
                None => Ok(*id),
                Some(_) => Err(IssueError::AppDisabled { id: *id, name: details.name.clone() }),
            };
        }
        let details = AppDetails {
            name: name.to_owned(),
            website: None,
            redirect_uris: Vec::new(),
            scopes: Scopes::default(),
        };
        let properties = ClientProperties::new(&MASTODON, registrar);
        let app = App { id: new_id, client_id: client_id.clone(), details, properties };
        let stored_app = StoredApp::new(app, random::split_token(now).hashed_secret(), now);
        // The loop reads the app again: another request may have created it, or the id may be
        // taken.
        store.add_first_party_app(&stored_app).await?;
    }
    Err(StoreError::NoFreeId.into())
}
