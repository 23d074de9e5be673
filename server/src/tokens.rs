//! Tokens that are issued without OAuth: by the command line, and to Matrix clients that sign in
//! with a password.

use std::time::Duration;

use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::Secret;
use jiff::Timestamp;

use crate::random;
use crate::store::{App, NewToken, Store, StoreError};

/// The app that tokens of Matrix clients belong to, by its client id and its title.
pub const MATRIX: (&str, &str) = ("matrix", "Matrix clients");

/// What the client id of an app of the command line begins with; its title follows.
pub const COMMAND_LINE: &str = "cli:";

/// An app that never registered: we made it for tokens that are issued without OAuth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPartyApp {
    /// For clients whose user typed their password there.
    Matrix,
    /// For tokens that whoever runs the server issued.
    CommandLine,
}

impl FirstPartyApp {
    /// Which of them has this client id. Those of other apps are random, and as long as a secret.
    #[must_use]
    pub fn from_client_id(client_id: &str) -> Option<Self> {
        if client_id == MATRIX.0 {
            Some(Self::Matrix)
        } else {
            client_id.starts_with(COMMAND_LINE).then_some(Self::CommandLine)
        }
    }
}

/// Why no token was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The app of our own that it would belong to is disabled: the token would be good for nothing.
    #[error("the app {title:?} is disabled; see belfry app enable {id}")]
    Disabled {
        /// The app's id.
        id: i64,
        /// The app's title.
        title: String,
    },
    /// The account has another password than the one that was to open it.
    #[error("the account has another password by now")]
    AnotherPassword,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Issues a token of an account, under an app of our own that is made when it is new. Nobody
/// knows such an app's secret, so nobody can get tokens through it elsewhere. Where a password
/// (its Argon2id string) opened the account, it must still be the account's.
///
/// # Errors
/// When the app is disabled, the password is another by now, or the store fails.
pub async fn issue(
    store: &Store,
    now: Timestamp,
    lifetime: Option<Duration>,
    account: i64,
    password: Option<&str>,
    scopes: Scopes,
    app: (&str, &str),
) -> Result<Secret, IssueError> {
    let app = first_party_app(store, now, app).await?;
    let token = random::secret(now);
    let new = NewToken {
        digest: token.digest(),
        app,
        account: Some(account),
        scopes: scopes.or_read().to_string(),
        created_at: now,
        expires_at: lifetime.map(|time| now.checked_add(time).unwrap_or(Timestamp::MAX)),
    };
    match password {
        None => store.add_token(&new).await?,
        Some(password) if store.add_token_for_password(&new, password).await? => {}
        Some(_) => return Err(IssueError::AnotherPassword),
    }
    Ok(token)
}

/// The id of an app of our own, by its client id and its title.
///
/// # Errors
/// When it is disabled.
pub async fn first_party_app(
    store: &Store,
    now: Timestamp,
    (client_id, title): (&str, &str),
) -> Result<i64, IssueError> {
    loop {
        if let Some(app) = store.app_by_client_id(client_id).await? {
            return match app.disabled_at {
                None => Ok(app.id),
                Some(_) => Err(IssueError::Disabled { id: app.id, title: app.name.clone() }),
            };
        }
        let app = App {
            id: random::id(now),
            client_id: client_id.to_owned(),
            secret: random::secret(now).digest(),
            name: title.to_owned(),
            website: None,
            redirect_uris: Vec::new(),
            scopes: String::new(),
            created_at: now,
            disabled_at: None,
        };
        // Not added when another was first, or when the id is taken: look again.
        store.add_app(&app).await?;
    }
}
