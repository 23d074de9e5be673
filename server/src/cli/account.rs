//! `belfry account …`

use std::io::Read;

use belfry_core::oauth::account::{check_email, check_name, check_password};
use belfry_core::secret::Secret;
use clap::Subcommand;
use jiff::Timestamp;

use super::Failure;
use crate::passwords::Passwords;
use crate::random;
use crate::store::{Account, ExistingAccess, Store};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an account; a generated password is printed once
    Add {
        /// Its name: a to z, 0 to 9 and _, at most 30 characters
        name: String,
        /// Its e-mail address
        #[arg(long)]
        email: Option<String>,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the accounts: name, id, e-mail address, when it was made, whether it is disabled
    List,
    /// Refuse an account's sign-ins and tokens from now on
    Disable {
        /// Its name
        name: String,
    },
    /// Let a disabled account in again
    Enable {
        /// Its name
        name: String,
    },
    /// Give an account another password and end its sessions and tokens; a generated one is printed
    /// once
    Password {
        /// Its name
        name: String,
        /// Let apps keep their tokens; only the sessions end
        #[arg(long)]
        keep_tokens: bool,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
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
    check_name(&name).map_err(|problem| format!("the name {problem}"))?;
    if let Some(email) = &email {
        check_email(email).map_err(|problem| format!("the e-mail address {problem}"))?;
    }
    let chosen = choose_password(password_stdin)?;
    let password = Passwords::new(None).hash(chosen.secret.clone()).await?;
    let account = store.new_account(now, name, email, password).await??;
    println!("account {} added, id {}", account.name, account.id);
    chosen.show();
    Ok(())
}

async fn list(store: &Store) -> Result<(), Failure> {
    const PAGE: i64 = 500;
    let mut after = String::new();
    loop {
        let page = store.accounts(&after, PAGE).await?;
        for account in &page {
            let email = account.email.as_deref().unwrap_or("-");
            let state = if account.disabled_at.is_some() { "disabled" } else { "active" };
            let made = account.created_at;
            println!("{}\t{}\t{email}\t{made}\t{state}", account.name, account.id);
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
    println!("account {name} {}", if at.is_some() { "disabled" } else { "enabled" });
    Ok(())
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
    println!("password of {name} changed, {ended}");
    chosen.show();
    Ok(())
}

/// The account of this name.
pub(super) async fn find(store: &Store, name: &str) -> Result<Account, Failure> {
    let found = store.account_by_name(name).await?;
    found.ok_or_else(|| format!("there is no account {name:?}; see belfry account list").into())
}

struct Chosen {
    secret: Secret,
    generated: bool,
}

fn choose_password(from_stdin: bool) -> Result<Chosen, Failure> {
    if !from_stdin {
        return Ok(Chosen { secret: Secret::new(random::password()), generated: true });
    }
    let mut text = String::new();
    std::io::stdin().take(4096).read_to_string(&mut text)?;
    // What `echo` and editors put behind it is not part of it; spaces are.
    let secret = Secret::new(text.trim_end_matches(['\r', '\n']));
    check_password(&secret).map_err(|problem| format!("the password {problem}"))?;
    Ok(Chosen { secret, generated: false })
}

impl Chosen {
    /// A generated password is shown here and never again.
    fn show(&self) {
        if self.generated {
            println!("password: {}", self.secret.reveal());
        }
    }
}
