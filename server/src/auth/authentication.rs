//! Authentication of people: sign-in, Matrix login, password confirmation and sign-up.

use std::time::Duration;

use belfry_core::account::Role;
use belfry_core::account::authentication::{AuthenticationMethod, AuthenticationMethods};
use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::limits::{CountMode, Network};
use belfry_core::secret::Secret;
use belfry_runtime::clock::Clock;
use belfry_runtime::log_throttle::LogThrottle;
use belfry_store::{Account, AddAccountError, Email, NO_PASSWORD, Store, StoreError, WriteOutcome};
use jiff::Timestamp;

use super::passwords::{HashQueueFull, Passwords, needs_rehash};
use crate::log::request_context::RequestContext;
use crate::metrics::SignInCounters;

static REHASH_ERROR_LOG: LogThrottle = LogThrottle::new("failed to rehash a password");

/// Proof that someone has just authenticated. Only `Authenticator` creates it. The sessions and
/// Matrix tokens created from it are stored only if the account still has the credential version of
/// `account`, because the password may have been changed since.
#[derive(Debug, Clone)]
#[expect(clippy::manual_non_exhaustive, reason = "the rest of this crate must not create it")]
pub struct AuthenticationProof {
    /// The account, as it was when the password was verified.
    pub account: Account,
    pub methods: AuthenticationMethods,
    /// Time when the person authenticated.
    pub authenticated_at: Timestamp,
    /// Private, so that only this module can create the proof.
    _proof: (),
}

/// The reason why authentication failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthenticationError {
    /// Unknown account or wrong password; which of them is not revealed.
    WrongPassword,
    /// The password is correct, but the account is disabled.
    Disabled,
    /// Too many passwords are being hashed.
    Busy,
    /// Too many attempts; the next one is allowed after this time.
    TooManyAttempts(Duration),
}

impl AuthenticationError {
    /// Returns the time to wait before the next attempt; `None` if waiting does not help.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Self::WrongPassword | Self::Disabled => None,
            Self::Busy => Some(Duration::from_secs(5)),
            Self::TooManyAttempts(retry_after) => Some(retry_after),
        }
    }
}

/// The reason why a password was not verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// The attempt was rejected, for a reason that the response shows.
    #[error("rejected: {0:?}")]
    Rejected(AuthenticationError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a sign-up created no account.
pub(crate) enum SignUpError {
    NameTaken,
    /// Too many passwords are being hashed.
    Busy(HashQueueFull),
    Store(StoreError),
}

/// Name or address of an account, as a person enters it. Case is ignored: phone keyboards
/// capitalise the first letter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Login<'a> {
    /// The name or the verified e-mail address.
    NameOrEmail(&'a str),
    Name(&'a str),
}

/// An attempt that may be a guess, and the key under which it is counted.
#[derive(Debug, Clone)]
pub enum Guess {
    /// A sign-in with this name or e-mail address.
    SignIn(String),
    /// The password that a signed-in user enters again. It is counted per name, like a sign-in, and
    /// also per account.
    Confirmation(Account),
}

/// Rate limits and audit events for authentication attempts.
pub trait GuessGuard: Clone + Send + Sync + 'static {
    /// Returns the network of the client. Known networks have reserved places in the queue for
    /// password hashes.
    fn network(&self) -> Network;

    /// Counts or refunds a guess. If there are too many, the error is the time to wait.
    fn count_guess(
        &self,
        mode: CountMode,
        guess: &Guess,
    ) -> impl Future<Output = Result<(), Duration>> + Send;

    /// Counts a rejected attempt as an audit event. The name that was entered is not recorded,
    /// because users sometimes enter their password in the wrong field.
    fn record_failure(&self, kind: AuditKind, account_id: Option<i64>);
}

#[derive(Clone, Copy)]
pub(crate) struct Authenticator<'a> {
    pub(crate) store: &'a Store,
    pub(crate) passwords: &'a Passwords,
    pub(crate) clock: &'a dyn Clock,
}

impl Authenticator<'_> {
    /// Authenticates someone who signs in, and counts a rejection in the metrics. An unknown name
    /// takes the same time as a wrong password, unless the account's hash was imported.
    pub(crate) async fn sign_in(
        &self,
        guard: &impl GuessGuard,
        counters: &SignInCounters,
        login: Login<'_>,
        password: Secret,
    ) -> Result<AuthenticationProof, VerifyError> {
        let (Login::NameOrEmail(name) | Login::Name(name)) = login;
        let account_lookup = async {
            match login {
                Login::NameOrEmail(email) if email.contains('@') => {
                    self.store.account_by_email(email).await
                }
                Login::NameOrEmail(name) | Login::Name(name) => {
                    self.store.account_by_name(&name.to_ascii_lowercase()).await
                }
            }
        };
        let guess = Guess::SignIn(name.to_owned());
        let kind = AuditKind::SignIn;
        let result = self.verify(guard, guess, kind, account_lookup, password).await;
        if let Err(VerifyError::Rejected(error)) = result {
            let counter = match error {
                AuthenticationError::WrongPassword | AuthenticationError::Disabled => {
                    &counters.rejected
                }
                AuthenticationError::TooManyAttempts(_) => &counters.rate_limited,
                AuthenticationError::Busy => &counters.busy,
            };
            counter.inc();
        }
        result
    }

    /// Verifies the password of an account. The attempt is counted before the account is loaded and
    /// the password verified, so that concurrent guesses cannot exceed the limit. It is refunded if
    /// the password is correct and the account is enabled, or if no password could be verified. For
    /// a wrong password or a disabled account, an audit event of this kind is recorded. A missing
    /// account takes the same time as a wrong password (except for imported hashes), so that timing
    /// does not reveal which accounts exist.
    pub(crate) async fn verify(
        &self,
        guard: &impl GuessGuard,
        guess: Guess,
        kind: AuditKind,
        account_lookup: impl Future<Output = Result<Option<Account>, StoreError>>,
        password: Secret,
    ) -> Result<AuthenticationProof, VerifyError> {
        let too_many_attempts =
            |retry_after| VerifyError::Rejected(AuthenticationError::TooManyAttempts(retry_after));
        guard.count_guess(CountMode::Check, &guess).await.map_err(too_many_attempts)?;
        let account = match account_lookup.await {
            Ok(account) => account,
            Err(error) => {
                let _ = guard.count_guess(CountMode::Refund, &guess).await;
                return Err(error.into());
            }
        };
        let account_id = account.as_ref().map(|account| account.id);
        let is_enabled = account.as_ref().is_some_and(|account| account.disabled_at.is_none());
        let hash = account.as_ref().map(|account| account.password_hash.clone());
        let hash = hash.filter(|hash| hash != NO_PASSWORD);
        let verification = {
            let (passwords, password) = (self.passwords.clone(), password.clone());
            let guard = guard.clone();
            async move {
                let error = match passwords.verify(password, hash, guard.network()).await {
                    Ok(true) if is_enabled => None,
                    Ok(true) => Some(AuthenticationError::Disabled),
                    Ok(false) => Some(AuthenticationError::WrongPassword),
                    Err(HashQueueFull) => Some(AuthenticationError::Busy),
                };
                match error {
                    None | Some(AuthenticationError::Busy) => {
                        let _ = guard.count_guess(CountMode::Refund, &guess).await;
                    }
                    Some(_) => guard.record_failure(kind, account_id),
                }
                error
            }
        };
        // In a task, because the outcome counts even if the client disconnects before it is known.
        let result = RequestContext::spawn(verification).await;
        match (account, result.unwrap_or(Some(AuthenticationError::Busy))) {
            (Some(account), None) => {
                if needs_rehash(&account.password_hash, password.reveal()) {
                    self.rehash_password(&account, password).await;
                }
                Ok(self.create_proof(account, AuthenticationMethod::Password))
            }
            (_, error) => {
                Err(VerifyError::Rejected(error.unwrap_or(AuthenticationError::WrongPassword)))
            }
        }
    }

    /// Creates an account, with a password unless an application service creates it. A taken name
    /// takes the same time as a free one.
    pub(crate) async fn sign_up(
        &self,
        events: &NewAuditEvents,
        name: String,
        email: Option<Email>,
        password: Option<Secret>,
    ) -> Result<AuthenticationProof, SignUpError> {
        let (hash, method) = match password {
            Some(password) => {
                let hash = self.passwords.hash(password).await.map_err(SignUpError::Busy)?;
                (hash, AuthenticationMethod::Password)
            }
            None => (NO_PASSWORD.to_owned(), AuthenticationMethod::ApplicationService),
        };
        let now = self.clock.now();
        match self.store.create_account(events, now, name, email, hash, Role::User).await {
            Ok(account) => Ok(self.create_proof(account, method)),
            Err(AddAccountError::Store(error)) => Err(SignUpError::Store(error)),
            Err(_) => Err(SignUpError::NameTaken),
        }
    }

    fn create_proof(&self, account: Account, method: AuthenticationMethod) -> AuthenticationProof {
        let methods = AuthenticationMethods(vec![method]);
        AuthenticationProof { account, methods, authenticated_at: self.clock.now(), _proof: () }
    }

    /// Replaces a password hash with one that has the current parameters. After a failure, the next
    /// sign-in retries.
    async fn rehash_password(&self, account: &Account, password: Secret) {
        let Ok(hash) = self.passwords.hash(password).await else { return };
        match self.store.rehash_password(account.id, &account.password_hash, &hash).await {
            Ok(WriteOutcome::Written) => {
                tracing::info!(account = %account.id, "password rehashed");
            }
            Err(error) if REHASH_ERROR_LOG.admits() => {
                tracing::warn!(%error, "failed to rehash a password");
            }
            // Not found if another request has rehashed it, or the password was changed.
            Ok(WriteOutcome::NotFound) | Err(_) => {}
        }
    }
}
