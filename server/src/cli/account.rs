//! `belfry account …`

mod add;
mod list;
mod password;
mod show;

use std::io::{Write, stdout};

use belfry_core::audit::{AuditEntry, AuditKind};
use belfry_core::oauth::account::Role;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::password::{new_password, print_password};
use super::output::counted;
use super::{CliError, DatabaseUse, audited};
use crate::config::{ApplicationService, Config, ConfigError};
use crate::store::{Account, AccountDeletion, AccountUpdate, DeletedRows, ExistingAccess, Store};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an account; a generated password is printed once
    Add(add::Add),
    /// List accounts by name: name, id, e-mail address, creation time, state, role
    List(list::List),
    /// Show an account with its sessions, apps and number of push rules
    Show(show::Show),
    /// Change the role of an account
    Role {
        /// Account name
        name: String,
        /// New role; admins may be granted admin scopes
        #[arg(value_parser = role_parser())]
        role: Role,
    },
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
            Self::Add(_) => DatabaseUse::Create,
            Self::List(_) | Self::Show(_) => DatabaseUse::Read,
            Self::Role { .. }
            | Self::Disable(_)
            | Self::Enable(_)
            | Self::Delete(_)
            | Self::Password { .. } => DatabaseUse::Write,
        }
    }

    /// Rejects the account of an application service, which `belfry serve` creates.
    pub(super) fn check(&self, config: &Config) -> Result<(), CliError> {
        let Self::Add(add::Add { name, .. }) = self else { return Ok(()) };
        let Some(ApplicationService { id, .. }) = service_of(config, name)? else { return Ok(()) };
        Err(format!(
            "{name} is the sender_localpart of the application service {id:?}, and belfry serve \
             creates its account"
        )
        .into())
    }

    pub(super) async fn run(
        self,
        store: &Store,
        config: &Config,
        now: Timestamp,
    ) -> Result<(), CliError> {
        match self {
            Self::Add(account) => account.run(store, now).await,
            Self::List(list) => list.run(store).await,
            Self::Show(show) => show.run(store, config, now).await,
            Self::Role { name, role } => {
                let account = find(store, &name).await?;
                let detail = Some(format!("role {role}"));
                let event = AuditEntry::of_command(now, AuditKind::RoleChange);
                let store = store.audited([AuditEntry { detail, ..event }]);
                check_update(store.set_account_role(account.id, role).await?, &name)?;
                Ok(writeln!(stdout(), "account {name} has the role {role}")?)
            }
            Self::Disable(account) => {
                disable(store, &account.name, now, AuditKind::AccountDisable).await
            }
            Self::Enable(account) => {
                disable(store, &account.name, now, AuditKind::AccountEnable).await
            }
            Self::Delete(Selector { name }) => delete(store, config, &name, now).await,
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

async fn delete(
    store: &Store,
    config: &Config,
    name: &str,
    now: Timestamp,
) -> Result<(), CliError> {
    let service = service_of(config, name)?;
    let account = find(store, name).await?;
    let store = audited(store, now, AuditKind::AccountDelete);
    let deleted = match store.delete_account(account.id, now).await? {
        AccountDeletion::Deleted(rows) => rows,
        AccountDeletion::NotFound => return Err(not_found(name)),
        AccountDeletion::LastAdmin => return Err(last_admin(name)),
    };
    let DeletedRows { sessions, codes, tokens, rulesets, requests } = deleted;
    let rows = [
        counted(sessions, "sessions"),
        counted(tokens, "tokens"),
        counted(codes, "codes"),
        counted(rulesets, "rulesets"),
        counted(requests, "authorization requests"),
    ];
    writeln!(stdout(), "account {name} deleted: {}", rows.join(", "))?;
    if let Some(ApplicationService { id, .. }) = service {
        writeln!(
            stdout(),
            "{name} is the sender_localpart of the application service {id:?}: belfry serve \
             creates an empty account for it at its next start"
        )?;
    }
    Ok(())
}

/// The application service whose sender has this name.
fn service_of(config: &Config, name: &str) -> Result<Option<ApplicationService>, ConfigError> {
    for source in &config.application_services {
        let service = source.read()?;
        if service.sender == *name {
            return Ok(Some(service));
        }
    }
    Ok(None)
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

/// Parses a role.
fn role_parser() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.iter().map(|role| role.as_str()))
        .try_map(|name| Role::from_name(&name).ok_or("unknown role"))
}
