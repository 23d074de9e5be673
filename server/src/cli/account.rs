//! `belfry account …`

use std::io::{Write, stdout};

use belfry_core::audit::AuditKind;
use belfry_core::oauth::account::{check_email, check_name, check_password};
use belfry_core::secret::Secret;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::{CliError, DatabaseUse, LIST_PAGE, audited, read_secret, state};
use crate::config::Config;
use crate::passwords::Passwords;
use crate::random;
use crate::store::{
    Account, AccountDeletion, AccountUpdate, DeletedRows, Email, ExistingAccess, Store,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an account; a generated password is printed once
    Add {
        /// Account name: a to z, 0 to 9 and _, and . or - inside; at most 30 characters
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
    /// Delete an account with its sessions, tokens and push rules; its name stays reserved
    Delete(Selector),
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
            Self::Disable(_) | Self::Enable(_) | Self::Delete(_) | Self::Password { .. } => {
                DatabaseUse::Write
            }
        }
    }

    /// Rejects the account of an application service, which `belfry serve` creates.
    pub(super) fn check(&self, config: &Config) -> Result<(), CliError> {
        let Self::Add { name, .. } = self else { return Ok(()) };
        for source in &config.application_services {
            let service = source.read()?;
            if service.sender == *name {
                return Err(format!(
                    "{name} is the sender_localpart of the application service {:?}, and belfry \
                     serve creates its account",
                    service.id
                )
                .into());
            }
        }
        Ok(())
    }

    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        match self {
            Self::Add { name, email, password_stdin } => {
                check_name(&name).map_err(|error| format!("the name {error}"))?;
                if let Some(email) = &email {
                    check_email(email).map_err(|error| format!("the e-mail address {error}"))?;
                }
                let (hash, generated) = new_password(password_stdin).await?;
                // The operator may reuse the name of a deleted account.
                store.release_name(&name).await?;
                let store = audited(store, now, AuditKind::AccountAdd);
                let email = email.map(Email::Verified);
                let account = store.create_account(now, name, email, hash).await?;
                writeln!(stdout(), "account {} added, id {}", account.name, account.id)?;
                print_password(generated)
            }
            Self::List => list(store).await,
            Self::Disable(account) => {
                disable(store, &account.name, now, AuditKind::AccountDisable).await
            }
            Self::Enable(account) => {
                disable(store, &account.name, now, AuditKind::AccountEnable).await
            }
            Self::Delete(Selector { name }) => {
                let account = find(store, &name).await?;
                let store = audited(store, now, AuditKind::AccountDelete);
                let deleted = match store.delete_account(account.id, now).await? {
                    AccountDeletion::Deleted(rows) => rows,
                    AccountDeletion::NotFound => return Err(not_found(&name)),
                    AccountDeletion::LastAdmin => return Err(last_admin(&name)),
                };
                let DeletedRows { sessions, codes, tokens, rulesets, requests } = deleted;
                writeln!(
                    stdout(),
                    "account {name} deleted: {sessions} sessions, {tokens} tokens, {codes} codes, \
                     {rulesets} rulesets, {requests} authorization requests"
                )
                .map_err(Into::into)
            }
            Self::Password { name, keep_tokens, password_stdin } => {
                let account = find(store, &name).await?;
                let (hash, generated) = new_password(password_stdin).await?;
                let (access, ended) = if keep_tokens {
                    (ExistingAccess::Keep, "its sessions ended")
                } else {
                    (ExistingAccess::RevokeAt(now), "its sessions and tokens ended")
                };
                let store = audited(store, now, AuditKind::PasswordChange);
                store.set_password(account.id, &hash, access).await?;
                writeln!(stdout(), "password of {name} changed, {ended}")?;
                print_password(generated)
            }
        }
    }
}

async fn list(store: &Store) -> Result<(), CliError> {
    let mut page = store.accounts("", LIST_PAGE).await?;
    while let Some(last) = page.last().map(|last| last.name.clone()) {
        for Account { name, id, email, unverified_email, created_at, disabled_at, .. } in page {
            let email = email.or(unverified_email.map(|email| format!("{email} (unverified)")));
            let (email, state) = (email.as_deref().unwrap_or("-"), state(disabled_at));
            writeln!(stdout(), "{name}\t{id}\t{email}\t{created_at}\t{state}")?;
        }
        page = store.accounts(&last, LIST_PAGE).await?;
    }
    Ok(())
}

/// Disables or enables an account.
async fn disable(
    store: &Store,
    name: &str,
    now: Timestamp,
    kind: AuditKind,
) -> Result<(), CliError> {
    let at = (kind == AuditKind::AccountDisable).then_some(now);
    let account = find(store, name).await?;
    let outcome = audited(store, now, kind).set_account_disabled_at(account.id, at).await?;
    check_update(outcome, name)?;
    Ok(writeln!(stdout(), "account {name} {}", if at.is_some() { "disabled" } else { "enabled" })?)
}

/// Finds an account by its name.
pub(super) async fn find(store: &Store, name: &str) -> Result<Account, CliError> {
    let found = store.account_by_name(name).await?;
    found.ok_or_else(|| not_found(name))
}

/// Reports why an account was not changed.
fn check_update(outcome: AccountUpdate, name: &str) -> Result<(), CliError> {
    match outcome {
        AccountUpdate::Updated => Ok(()),
        AccountUpdate::NotFound => Err(not_found(name)),
        AccountUpdate::LastAdmin => Err(last_admin(name)),
    }
}

fn not_found(name: &str) -> CliError {
    format!("there is no account {name:?}; see belfry account list").into()
}

fn last_admin(name: &str) -> CliError {
    format!(
        "{name} is the last enabled admin; make another account an admin first: \
         belfry account role OTHER admin"
    )
    .into()
}

/// Reads or generates a password. Returns its hash, and the password itself if it was generated.
async fn new_password(from_stdin: bool) -> Result<(String, Option<Secret>), CliError> {
    let password = if from_stdin { read_secret()? } else { Secret::new(random::password()) };
    check_password(&password).map_err(|error| format!("the password {error}"))?;
    let hash = Passwords::new(None).hash(password.clone()).await?;
    Ok((hash, (!from_stdin).then_some(password)))
}

fn print_password(generated: Option<Secret>) -> Result<(), CliError> {
    if let Some(password) = generated {
        writeln!(stdout(), "password: {}", password.reveal())?;
    }
    Ok(())
}
