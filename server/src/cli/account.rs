//! `belfry account …`

mod add;
mod find;
mod list;
mod password;
mod show;

use std::io::{Write, stdout};

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::{
    Account, AccountDeletionOutcome, AccountUpdateOutcome, DeletedRows, ExistingAccess, Store,
    WriteOutcome,
};
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::password::{print_password, read_or_generate_password};
use super::output::{format_count, one_of};
use super::{CliError, Context, DatabaseUse, StoreCommand, command_events};
use crate::config::{ApplicationService, Config};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an account; a generated password is printed once
    Add(add::Add),
    /// List accounts by name: name, id, e-mail address, creation time, state, role, deletion
    ///
    /// With an account: show it with its sessions, apps and number of push rules.
    #[command(visible_alias = "show")]
    List(list::List),
    /// Change the role of an account
    Role {
        /// Account: its name, id, e-mail address or user id
        #[arg(value_name = "ACCOUNT")]
        account: String,
        /// New role; admins may be granted admin scopes
        #[arg(value_parser = one_of(Role::ALL, Role::as_str))]
        role: Role,
    },
    /// Disable an account: reject its sign-ins and tokens
    Disable(AccountArgument),
    /// Enable a disabled account
    Enable(AccountArgument),
    /// Delete an account with its sessions, tokens and push rules; its name stays reserved
    Delete(AccountArgument),
    /// Change a password and revoke sessions and tokens; a generated password is printed once
    Password {
        /// Account: its name, id, e-mail address or user id
        #[arg(value_name = "ACCOUNT")]
        account: String,
        /// Revoke only the sessions, not the tokens
        #[arg(long)]
        keep_tokens: bool,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
}

#[derive(Args)]
pub(super) struct AccountArgument {
    /// Account: its name, id, e-mail address or user id
    #[arg(value_name = "ACCOUNT")]
    account: String,
}

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        match self {
            Self::Add(_) => DatabaseUse::Create,
            Self::List(_) => DatabaseUse::Read,
            _ => DatabaseUse::Write,
        }
    }

    /// Checks the arguments of `add`. The account of an application service is rejected, because
    /// `belfry serve` creates it.
    fn check(&self, config: &Config) -> Result<(), CliError> {
        let Self::Add(account) = self else { return Ok(()) };
        let name = account.check()?;
        for source in &config.application_services {
            let ApplicationService { id, sender, .. } = source.read()?;
            if sender == name {
                return Err(format!(
                    "{name} is the sender_localpart of the application service {id:?}, and belfry \
                     serve creates its account"
                )
                .into());
            }
        }
        Ok(())
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, now, .. } = context;
        match self {
            Self::Add(account) => account.run(store, now).await,
            Self::List(list) => list.run(context).await,
            Self::Role { account, role } => {
                let account = context.find_account(&account).await?;
                let detail = Some(format!("role {role}"));
                let event = NewAuditEvent::for_command(now, AuditKind::RoleChange);
                let events = NewAuditEvent { detail, ..event }.into();
                require_updated(
                    store.set_account_role(&events, account.id, role).await?,
                    &account,
                )?;
                Ok(writeln!(stdout(), "account {} has the role {role}", account.name)?)
            }
            Self::Disable(AccountArgument { account }) => {
                let account = context.find_account(&account).await?;
                disable_or_enable(store, &account, now, AuditKind::AccountDisable).await
            }
            Self::Enable(AccountArgument { account }) => {
                let account = context.find_account(&account).await?;
                disable_or_enable(store, &account, now, AuditKind::AccountEnable).await
            }
            Self::Delete(AccountArgument { account }) => {
                let account = context.find_account(&account).await?;
                delete_account(store, &account, now).await
            }
            Self::Password { account, keep_tokens, password_stdin } => {
                let account = context.find_account(&account).await?;
                let (hash, generated_password) =
                    read_or_generate_password(password_stdin, account.identifiers()).await?;
                let (access, effect) = if keep_tokens {
                    (ExistingAccess::Keep, "its sessions ended")
                } else {
                    (ExistingAccess::RevokeAt(now), "its sessions and tokens ended")
                };
                let events = command_events(now, AuditKind::PasswordChange);
                let outcome = store.set_password(&events, account.id, &hash, access).await?;
                if outcome == WriteOutcome::NotFound {
                    return Err(deleted_error(&account));
                }
                writeln!(stdout(), "password of {} changed, {effect}", account.name)?;
                print_password(generated_password)
            }
        }
    }
}

/// Disables or enables an account, depending on the kind of the audit event.
async fn disable_or_enable(
    store: &Store,
    account: &Account,
    now: Timestamp,
    kind: AuditKind,
) -> Result<(), CliError> {
    let disabled_at = (kind == AuditKind::AccountDisable).then_some(now);
    let outcome =
        store.set_account_disabled_at(&command_events(now, kind), account.id, disabled_at).await?;
    require_updated(outcome, account)?;
    let state = if disabled_at.is_some() { "disabled" } else { "enabled" };
    Ok(writeln!(stdout(), "account {} {state}", account.name)?)
}

async fn delete_account(store: &Store, account: &Account, now: Timestamp) -> Result<(), CliError> {
    let events = command_events(now, AuditKind::AccountDelete);
    let deleted_rows = match store.delete_account(&events, account.id, now).await? {
        AccountDeletionOutcome::Deleted(rows) => rows,
        AccountDeletionOutcome::NotFound => return Err(deleted_error(account)),
        AccountDeletionOutcome::LastAdmin => return Err(last_admin_error(account)),
    };
    let DeletedRows { sessions, codes, tokens, rulesets, requests, receivers, deliveries } =
        deleted_rows;
    let counts = [
        format_count(sessions, "sessions"),
        format_count(tokens, "tokens"),
        format_count(codes, "codes"),
        format_count(rulesets, "rulesets"),
        format_count(requests, "authorization requests"),
        format_count(receivers, "receivers"),
        format_count(deliveries, "delivery log lines"),
    ];
    Ok(writeln!(stdout(), "account {} deleted: {}", account.name, counts.join(", "))?)
}

/// Returns an error if an account was not changed.
fn require_updated(outcome: AccountUpdateOutcome, account: &Account) -> Result<(), CliError> {
    match outcome {
        AccountUpdateOutcome::Updated => Ok(()),
        AccountUpdateOutcome::NotFound => Err(deleted_error(account)),
        AccountUpdateOutcome::LastAdmin => Err(last_admin_error(account)),
    }
}

fn deleted_error(account: &Account) -> CliError {
    format!("the account {} was deleted in the meantime", account.name).into()
}

fn last_admin_error(account: &Account) -> CliError {
    format!(
        "{} is the last enabled admin; make another account an admin first: belfry account role \
         OTHER admin",
        account.name
    )
    .into()
}
