//! `belfry account …`

use std::io::{Read, Write, stdin, stdout};

use belfry_core::oauth::account::{check_email, check_name, check_password};
use belfry_core::secret::Secret;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::{DatabaseUse, CliError};
use crate::passwords::Passwords;
use crate::random;
use crate::store::{Account, ExistingAccess, Store};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an account; a generated password is printed once
    Add {
        /// Account name: a to z, 0 to 9 and _, at most 30 characters
        name: String,
        /// E-mail address
        #[arg(long)]
        email: Option<String>,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
    /// List accounts: name, id, e-mail address, creation time, state
    List,
    /// Disable an account: reject its sign-ins and tokens
    Disable(Selector),
    /// Enable a disabled account
    Enable(Selector),
    /// Change a password and revoke sessions and tokens; a generated password is printed once
    Password {
        /// Account name
        name: String,
        /// Revoke only the sessions, not the tokens
        #[arg(long)]
        keep_tokens: bool,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
}

#[derive(Args)]
pub(super) struct Selector {
    /// Account name
    name: String,
}

impl Command {
    pub(super) fn database_use(&self) -> DatabaseUse {
        match self {
            Self::Add { .. } => DatabaseUse::Create,
            Self::List => DatabaseUse::Read,
            Self::Disable(_) | Self::Enable(_) | Self::Password { .. } => DatabaseUse::Write,
        }
    }

    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        match self {
            Self::Add { name, email, password_stdin } => {
                add(store, now, name, email, password_stdin).await
            }
            Self::List => list(store).await,
            Self::Disable(account) => disable(store, &account.name, Some(now)).await,
            Self::Enable(account) => disable(store, &account.name, None).await,
            Self::Password { name, keep_tokens, password_stdin } => {
                let access =
                    if keep_tokens { ExistingAccess::Keep } else { ExistingAccess::RevokeAt(now) };
                set_password(store, &name, access, password_stdin).await
            }
        }
    }
}

async fn add(
    store: &Store,
    now: Timestamp,
    name: String,
    email: Option<String>,
    password_stdin: bool,
) -> Result<(), CliError> {
    check_name(&name).map_err(|error| format!("the name {error}"))?;
    if let Some(email) = &email {
        check_email(email).map_err(|error| format!("the e-mail address {error}"))?;
    }
    let (hash, generated) = new_password(password_stdin).await?;
    let account = store.create_account(now, name, email, hash).await?;
    writeln!(stdout(), "account {} added, id {}", account.name, account.id)?;
    print_password(generated)
}

async fn list(store: &Store) -> Result<(), CliError> {
    const PAGE: i64 = 500;
    let mut after = String::new();
    loop {
        let page = store.accounts(&after, PAGE).await?;
        for account in &page {
            let email = account.email.as_deref().unwrap_or("-");
            let state = if account.disabled_at.is_some() { "disabled" } else { "active" };
            let Account { name, id, created_at, .. } = account;
            writeln!(stdout(), "{name}\t{id}\t{email}\t{created_at}\t{state}")?;
        }
        match page.last() {
            Some(last) => after.clone_from(&last.name),
            None => return Ok(()),
        }
    }
}

async fn disable(store: &Store, name: &str, at: Option<Timestamp>) -> Result<(), CliError> {
    let account = find(store, name).await?;
    store.set_account_disabled_at(account.id, at).await?;
    let state = if at.is_some() { "disabled" } else { "enabled" };
    Ok(writeln!(stdout(), "account {name} {state}")?)
}

async fn set_password(
    store: &Store,
    name: &str,
    access: ExistingAccess,
    password_stdin: bool,
) -> Result<(), CliError> {
    let account = find(store, name).await?;
    let (hash, generated) = new_password(password_stdin).await?;
    store.set_password(account.id, &hash, access).await?;
    let ended = match access {
        ExistingAccess::Keep => "its sessions ended",
        ExistingAccess::RevokeAt(_) => "its sessions and tokens ended",
    };
    writeln!(stdout(), "password of {name} changed, {ended}")?;
    print_password(generated)
}

/// Finds an account by its name.
pub(super) async fn find(store: &Store, name: &str) -> Result<Account, CliError> {
    let found = store.account_by_name(name).await?;
    found.ok_or_else(|| format!("there is no account {name:?}; see belfry account list").into())
}

/// Reads or generates a password. Returns its hash, and the password itself if it was generated.
async fn new_password(from_stdin: bool) -> Result<(String, Option<Secret>), CliError> {
    let password = if from_stdin { read_password()? } else { Secret::new(random::password()) };
    let hash = Passwords::new(None).hash(password.clone()).await?;
    Ok((hash, (!from_stdin).then_some(password)))
}

fn read_password() -> Result<Secret, CliError> {
    let mut text = String::new();
    stdin().take(4096).read_to_string(&mut text)?;
    // The newline that `echo` and editors add is not part of the password.
    let password = Secret::new(text.trim_end_matches(['\r', '\n']));
    check_password(&password).map_err(|error| format!("the password {error}"))?;
    Ok(password)
}

fn print_password(generated: Option<Secret>) -> Result<(), CliError> {
    if let Some(password) = generated {
        writeln!(stdout(), "password: {}", password.reveal())?;
    }
    Ok(())
}
