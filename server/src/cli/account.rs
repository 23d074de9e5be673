//! `belfry account …`

use std::io::{Read, Write, stdin, stdout};

use belfry_core::oauth::account::{check_email, check_name, check_password};
use belfry_core::secret::Secret;
use clap::Subcommand;
use jiff::Timestamp;

use super::{DatabaseUse, Failure};
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
    Disable {
        /// Account name
        name: String,
    },
    /// Enable a disabled account
    Enable {
        /// Account name
        name: String,
    },
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

impl Command {
    pub(super) fn database_use(&self) -> DatabaseUse {
        match self {
            Self::Add { .. } => DatabaseUse::Create,
            Self::List => DatabaseUse::Read,
            Self::Disable { .. } | Self::Enable { .. } | Self::Password { .. } => {
                DatabaseUse::Write
            }
        }
    }
}

pub(super) fn run(command: Command) -> impl AsyncFnOnce(&Store, Timestamp) -> Result<(), Failure> {
    async move |store: &Store, now| match command {
        Command::Add { name, email, password_stdin } => {
            add(store, now, name, email, password_stdin).await
        }
        Command::List => list(store).await,
        Command::Disable { name } => disable(store, &name, Some(now)).await,
        Command::Enable { name } => disable(store, &name, None).await,
        Command::Password { name, keep_tokens, password_stdin } => {
            let access =
                if keep_tokens { ExistingAccess::Keep } else { ExistingAccess::RevokeAt(now) };
            password(store, &name, access, password_stdin).await
        }
    }
}

async fn add(
    store: &Store,
    now: Timestamp,
    name: String,
    email: Option<String>,
    password_stdin: bool,
) -> Result<(), Failure> {
    check_name(&name).map_err(|error| format!("the name {error}"))?;
    if let Some(email) = &email {
        check_email(email).map_err(|error| format!("the e-mail address {error}"))?;
    }
    let chosen = choose_password(password_stdin)?;
    let password = Passwords::new(None).hash(chosen.secret.clone()).await?;
    let account = store.create_account(now, name, email, password).await?;
    writeln!(stdout(), "account {} added, id {}", account.name, account.id)?;
    chosen.print()
}

async fn list(store: &Store) -> Result<(), Failure> {
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

async fn disable(store: &Store, name: &str, at: Option<Timestamp>) -> Result<(), Failure> {
    let account = find(store, name).await?;
    store.disable_account(account.id, at).await?;
    let state = if at.is_some() { "disabled" } else { "enabled" };
    Ok(writeln!(stdout(), "account {name} {state}")?)
}

async fn password(
    store: &Store,
    name: &str,
    access: ExistingAccess,
    password_stdin: bool,
) -> Result<(), Failure> {
    let account = find(store, name).await?;
    let chosen = choose_password(password_stdin)?;
    let password = Passwords::new(None).hash(chosen.secret.clone()).await?;
    store.set_password(account.id, &password, access).await?;
    let ended = match access {
        ExistingAccess::Keep => "its sessions ended",
        ExistingAccess::RevokeAt(_) => "its sessions and tokens ended",
    };
    writeln!(stdout(), "password of {name} changed, {ended}")?;
    chosen.print()
}

/// Finds an account by its name.
pub(super) async fn find(store: &Store, name: &str) -> Result<Account, Failure> {
    let found = store.account_by_name(name).await?;
    found.ok_or_else(|| format!("there is no account {name:?}; see belfry account list").into())
}

struct NewPassword {
    secret: Secret,
    generated: bool,
}

fn choose_password(from_stdin: bool) -> Result<NewPassword, Failure> {
    if !from_stdin {
        return Ok(NewPassword { secret: Secret::new(random::password()), generated: true });
    }
    let mut text = String::new();
    stdin().take(4096).read_to_string(&mut text)?;
    // The newline that `echo` and editors add is not part of the password.
    let secret = Secret::new(text.trim_end_matches(['\r', '\n']));
    check_password(&secret).map_err(|error| format!("the password {error}"))?;
    Ok(NewPassword { secret, generated: false })
}

impl NewPassword {
    /// Prints a generated password.
    fn print(&self) -> Result<(), Failure> {
        if self.generated {
            writeln!(stdout(), "password: {}", self.secret.reveal())?;
        }
        Ok(())
    }
}
