//! `belfry token …`

use std::io::{Write, stdout};

use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::{MAX_NAME_LENGTH, is_blank};
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::{Secret, SplitToken};
use clap::Subcommand;

use super::account::find;
use super::{CliError, audited, read_secret};
use crate::config::Config;
use crate::tokens::{FirstPartyApp, TokenIssuer};

const UNKNOWN_TOKEN: &str =
    "no such token: it is incomplete, or it was deleted with its app or account";

#[derive(Subcommand)]
pub(super) enum Command {
    /// Issue an access token for an account and print it
    Issue {
        /// Account: its name, id, e-mail address or user id
        #[arg(value_name = "ACCOUNT")]
        account: String,
        /// Scopes, separated by spaces
        #[arg(long, default_value = "read")]
        scopes: String,
        /// Title of the app under which the account's owner sees the token
        #[arg(long, value_name = "TITLE", default_value = "Command line")]
        app: String,
    },
    /// Revoke an access token
    Revoke {
        /// Access token, or - for standard input: other users can see arguments
        #[arg(required_unless_present = "stdin")]
        token: Option<String>,
        /// Read the token from standard input
        #[arg(long, conflicts_with = "token")]
        stdin: bool,
    },
}

impl Command {
    pub(super) async fn run(
        self,
        issuer: &TokenIssuer<'_>,
        config: &Config,
    ) -> Result<(), CliError> {
        match self {
            Self::Issue { account, scopes, app } => {
                let scopes: Scopes = scopes.parse()?;
                let account = find(issuer.store, config, &account).await?;
                if !scopes.are_allowed_for(Some(account.role)) {
                    return Err(format!(
                        "scopes that begin with admin: are for admins, and {} is not one; \
                         see belfry account role",
                        account.name
                    )
                    .into());
                }
                let title = app.trim();
                if is_blank(title)
                    || title.chars().count() > MAX_NAME_LENGTH
                    || title.contains(char::is_control)
                {
                    return Err("the title of an app must have 1 to 60 characters".into());
                }
                let app = FirstPartyApp::CommandLine(title);
                let store = audited(issuer.store, issuer.now, AuditKind::TokenIssue);
                let issuer = TokenIssuer { store: &store, ..*issuer };
                let token = issuer.issue_first_party(app, account.id, None, scopes).await?;
                Ok(writeln!(stdout(), "{}", token.reveal())?)
            }
            Self::Revoke { token, stdin: _ } => {
                let token = match token.filter(|token| token != "-") {
                    Some(token) => Secret::new(token),
                    None => read_secret()?,
                };
                let token = SplitToken::parse(token.reveal());
                let secret = token.ok_or(UNKNOWN_TOKEN)?.hashed();
                if issuer.store.token(secret).await?.is_none() {
                    return Err(UNKNOWN_TOKEN.into());
                }
                let store = audited(issuer.store, issuer.now, AuditKind::TokenRevoke);
                store.revoke_token(secret.lookup, issuer.now).await?;
                Ok(writeln!(stdout(), "token revoked")?)
            }
        }
    }
}
