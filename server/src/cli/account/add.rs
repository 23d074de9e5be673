//! `belfry account add`

use std::io::{Write, stdout};
use std::iter;

use belfry_core::account::{Role, check_email, parse_name};
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::{AddAccountError, Email, Store};
use clap::Args;
use jiff::Timestamp;

use super::password::{print_password, read_or_generate_password};
use crate::cli::CliError;

#[derive(Args)]
pub(in crate::cli) struct Add {
    /// Account name: a to z, 0 to 9 and . _ = - /; at most 64 characters; capitals are converted
    name: String,
    /// E-mail address
    #[arg(long)]
    email: Option<String>,
    /// Read the password from standard input instead of generating one
    #[arg(long)]
    password_stdin: bool,
    /// Give the account the admin role
    #[arg(long)]
    admin: bool,
}

impl Add {
    /// Checks the name and the e-mail address, and returns the name in lower case.
    pub(super) fn check(&self) -> Result<String, CliError> {
        if let Some(email) = &self.email {
            check_email(email).map_err(|error| format!("the e-mail address {error}"))?;
        }
        Ok(parse_name(&self.name).map_err(|error| format!("the name {error}"))?)
    }

    /// Adds the account.
    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        let name = self.check()?;
        let Self { email, password_stdin, admin, .. } = self;
        let identifiers = iter::once(&*name).chain(email.as_deref());
        let (hash, generated_password) =
            read_or_generate_password(password_stdin, identifiers).await?;
        // Checked first: if the account cannot be added, the name must stay reserved.
        if let Some(email) = &email
            && store.account_by_email(email).await?.is_some()
        {
            return Err(AddAccountError::EmailTaken.into());
        }
        // The operator may reuse the name of a deleted account.
        store.release_name(&name).await?;
        let (role, detail) = if admin {
            (Role::Admin, Some(format!("role {}", Role::Admin)))
        } else {
            (Role::User, None)
        };
        let role_suffix = detail.as_ref().map_or_else(String::new, |role| format!(", {role}"));
        let event =
            NewAuditEvent { detail, ..NewAuditEvent::for_command(now, AuditKind::AccountAdd) };
        let events = event.into();
        let email = email.map(Email::Verified);
        let account = store.create_account(&events, now, name, email, hash, role).await?;
        writeln!(stdout(), "account {} added, id {}{role_suffix}", account.name, account.id)?;
        print_password(generated_password)
    }
}
