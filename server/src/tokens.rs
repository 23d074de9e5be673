//! Issuing access tokens: for the token endpoint, sign-up, Matrix login and the command line.

use std::time::Duration;

use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::expiry;
use belfry_core::secret::{LookupKey, SplitToken};
use jiff::Timestamp;

use crate::random;
use crate::store::{NewToken, RedeemError, SignInOutcome, Store, StoreError, StoredApp};

/// Client id and title of the app that tokens of Matrix clients belong to.
pub const MATRIX: (&str, &str) = ("matrix", "Matrix clients");

/// Prefix of the client ids of command-line apps; the title follows.
pub const COMMAND_LINE: &str = "cli:";

/// An app that is created by the server for tokens issued without OAuth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPartyApp {
    /// For Matrix clients that sign in with a password.
    Matrix,
    /// For tokens issued on the command line.
    CommandLine,
}

impl FirstPartyApp {
    /// Recognises a first-party app by its client id. The client ids of registered apps are random.
    #[must_use]
    pub fn from_client_id(client_id: &str) -> Option<Self> {
        if client_id == MATRIX.0 {
            Some(Self::Matrix)
        } else {
            client_id.starts_with(COMMAND_LINE).then_some(Self::CommandLine)
        }
    }
}

/// Why no token was issued to a first-party app.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The app is disabled.
    #[error("the app {title:?} is disabled; see belfry app enable {id}")]
    AppDisabled {
        /// The id of the app.
        id: i64,
        /// The title of the app.
        title: String,
    },
    /// The password was changed after it was verified.
    #[error("the password was changed")]
    PasswordChanged,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Issues tokens with one lifetime.
#[derive(Clone, Copy)]
pub struct TokenIssuer<'a> {
    /// Where tokens are stored.
    pub store: &'a Store,
    /// The current time.
    pub now: Timestamp,
    /// The setting `oauth.token_lifetime`; `None` for tokens that do not expire.
    pub lifetime: Option<Duration>,
}

/// A token that was just issued.
#[derive(Debug)]
pub struct IssuedToken {
    /// The token.
    pub secret: SplitToken,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it was issued.
    pub created_at: Timestamp,
    /// How long it is valid.
    pub lifetime: Option<Duration>,
}

impl TokenIssuer<'_> {
    /// Issues a token to an app, for an account or for the app itself.
    pub async fn issue(
        &self,
        app_id: i64,
        account_id: Option<i64>,
        scopes: Scopes,
    ) -> Result<IssuedToken, StoreError> {
        let (new, issued) = self.new_token(app_id, account_id, scopes);
        self.store.add_token(&new).await?;
        Ok(issued)
    }

    /// Issues a token to a first-party app, which is created if missing. Nobody knows the secret of
    /// such an app, so it cannot be used to get other tokens. `password` is the hash that was
    /// verified, if any; it must still be the account's.
    pub async fn issue_first_party(
        &self,
        app: (&str, &str),
        account_id: i64,
        password: Option<&str>,
        scopes: Scopes,
    ) -> Result<SplitToken, IssueError> {
        let app_id = first_party_app(self.store, self.now, app).await?;
        let (new, issued) = self.new_token(app_id, Some(account_id), scopes.or_read());
        let outcome = match password {
            None => self.store.add_token(&new).await.map(|()| SignInOutcome::SignedIn)?,
            Some(password) => self.store.add_token_for_password(&new, password).await?,
        };
        match outcome {
            SignInOutcome::SignedIn => Ok(issued.secret),
            SignInOutcome::PasswordChanged => Err(IssueError::PasswordChanged),
        }
    }

    /// Redeems a code for a token with the code's app, account and scopes.
    ///
    /// # Errors
    /// [`RedeemError::AlreadyRedeemed`] if another request redeemed it in the meantime.
    pub async fn redeem_code(
        &self,
        code: LookupKey,
        scopes: Scopes,
    ) -> Result<IssuedToken, RedeemError> {
        let secret = random::secret(self.now);
        let expires_at = expiry(self.now, self.lifetime);
        self.store.redeem_code(code, secret.hashed(), self.now, expires_at).await?;
        Ok(self.issued(secret, scopes))
    }

    fn new_token(
        &self,
        app_id: i64,
        account_id: Option<i64>,
        scopes: Scopes,
    ) -> (NewToken, IssuedToken) {
        let secret = random::secret(self.now);
        let new = NewToken {
            secret: secret.hashed(),
            app_id,
            account_id,
            scopes: scopes.clone(),
            created_at: self.now,
            expires_at: expiry(self.now, self.lifetime),
        };
        (new, self.issued(secret, scopes))
    }

    fn issued(&self, secret: SplitToken, scopes: Scopes) -> IssuedToken {
        IssuedToken { secret, scopes, created_at: self.now, lifetime: self.lifetime }
    }
}

/// The id of a first-party app, which is created if missing.
///
/// # Errors
/// If the app is disabled or the store fails.
pub async fn first_party_app(
    store: &Store,
    now: Timestamp,
    (client_id, title): (&str, &str),
) -> Result<i64, IssueError> {
    loop {
        if let Some(app) = store.app_by_client_id(client_id).await? {
            return match app.disabled_at {
                None => Ok(app.app.id),
                Some(_) => Err(IssueError::AppDisabled {
                    id: app.app.id,
                    title: app.app.details.name.clone(),
                }),
            };
        }
        let details = AppDetails {
            name: title.to_owned(),
            website: None,
            redirect_uris: Vec::new(),
            scopes: Scopes::default(),
        };
        let stored = StoredApp {
            app: App { id: random::id(now), client_id: client_id.to_owned(), details },
            secret: random::secret(now).hashed(),
            created_at: now,
            disabled_at: None,
        };
        // Read again: another request may have created the app, or the id may be taken.
        store.add_app(&stored).await?;
    }
}
