//! `belfry token …`

use std::io::{Write, stdout};

use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::MAX_NAME_LENGTH;
use belfry_core::oauth::scope::{Scope, ScopeError, Scopes};
use belfry_core::secret::{Secret, SplitToken};
use belfry_core::text::is_blank;
use clap::Subcommand;

use super::{CliError, Context, DatabaseUse, StoreCommand, command_events, read_secret};
use crate::auth::tokens::{COMMAND_LINE_APP, FirstPartyApp, TokenIssuer};
use crate::paths::METADATA;

const UNKNOWN_TOKEN: &str =
    "no such token: it is incomplete, or it was deleted with its app or account";

/// The maximum edit distance between an unknown scope and the one that is suggested.
const MAX_EDIT_DISTANCE: usize = 2;

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
        /// Name of the app under which the account's owner sees the token
        #[arg(long, value_name = "NAME", default_value = COMMAND_LINE_APP)]
        app: String,
    },
    /// Revoke an access token
    Revoke {
        /// Access token, or - to read it from standard input, because other users can see arguments
        #[arg(required_unless_present = "stdin")]
        token: Option<String>,
        /// Read the token from standard input
        #[arg(long, conflicts_with = "token")]
        stdin: bool,
    },
}

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        DatabaseUse::Write
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, config, now } = context;
        match self {
            Self::Issue { account, scopes, app } => {
                let scopes = parse_scopes(&scopes)?;
                let account = context.find_account(&account).await?;
                if !scopes.are_allowed_for(Some(account.role)) {
                    return Err(format!(
                        "scopes that begin with admin: are for admins, and {} is not one; \
                         run `belfry account role`",
                        account.name
                    )
                    .into());
                }
                let name = app.trim();
                if is_blank(name)
                    || name.chars().count() > MAX_NAME_LENGTH
                    || name.contains(char::is_control)
                {
                    return Err(format!(
                        "--app must have 1 to {MAX_NAME_LENGTH} characters, none of them a \
                         control character"
                    )
                    .into());
                }
                let app = FirstPartyApp::CommandLine(name);
                let events = command_events(now, AuditKind::TokenIssue);
                let issuer = TokenIssuer { store, now, lifetime: config.oauth.token_lifetime };
                let token =
                    issuer.issue_first_party_token(&events, app, account.id, scopes).await?;
                Ok(writeln!(stdout(), "{}", token.reveal())?)
            }
            Self::Revoke { token, stdin: _ } => {
                let argument = match token.filter(|token| token != "-") {
                    Some(token) => Secret::new(token),
                    None => read_secret()?,
                };
                let token = SplitToken::parse(argument.reveal());
                let secret = token.ok_or(UNKNOWN_TOKEN)?.hashed_secret();
                if store.token(secret).await?.is_none() {
                    return Err(UNKNOWN_TOKEN.into());
                }
                let events = command_events(now, AuditKind::TokenRevoke);
                store.revoke_token(&events, secret.lookup_key, now).await?;
                Ok(writeln!(stdout(), "token revoked")?)
            }
        }
    }
}

/// Parses scopes. The error for an unknown scope suggests a similar one.
fn parse_scopes(text: &str) -> Result<Scopes, String> {
    text.parse().map_err(|error: ScopeError| {
        let ScopeError::Unknown(name) = &error else { return error.to_string() };
        let distance = |scope: &&str| strsim::damerau_levenshtein(name, scope);
        let closest_scope = Scope::ALL.iter().map(|scope| scope.as_str()).min_by_key(distance);
        match closest_scope.filter(|scope| distance(scope) <= MAX_EDIT_DISTANCE) {
            _ if name.contains(',') => format!("{error}; separate scopes with spaces"),
            Some(scope) => format!("{error}; did you mean {scope}?"),
            None => format!("{error}; the server lists all scopes at {METADATA}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_an_unknown_scope_says_what_to_write() {
        for (scopes, error) in [
            ("reads", "unknown scope \"reads\"; did you mean read?"),
            (
                "read write:notification",
                "unknown scope \"write:notification\"; did you mean write:notifications?",
            ),
            ("read,write", "unknown scope \"read,write\"; separate scopes with spaces"),
            (
                "everything",
                "unknown scope \"everything\"; the server lists all scopes at \
                 /.well-known/oauth-authorization-server",
            ),
        ] {
            assert_eq!(parse_scopes(scopes).unwrap_err(), error);
        }
        assert!(parse_scopes("read  write").unwrap_err().contains("single spaces"));
        assert_eq!(parse_scopes("read push").unwrap().to_string(), "read push");
    }
}
