//! `belfry push …`

mod advice;
mod key;
mod list;
mod log;
mod send_test;

use std::io::{Write, stdout};

use belfry_core::audit::AuditKind;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Account, Database};
use clap::{Args, Subcommand};

use super::{CliError, Context, DatabaseUse, StoreCommand, command_events};
use crate::config::Config;
use crate::sealing::load_sealing_key;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List subscriptions and pushers: account, id, kind, app, origin, state, last success, last
    /// failure, reason
    List(list::List),
    /// Send a test to the receivers of an account, and wait for the outcome: exit status 1 if one
    /// was not delivered
    Test(send_test::SendTest),
    /// Show the delivery log of an account: time, event, rule, receiver, attempts, outcome, status,
    /// error
    Log(log::Log),
    /// Remove a subscription or pusher
    Remove(Remove),
    /// Manage the VAPID keys
    #[command(subcommand)]
    Key(key::Command),
}

#[derive(Args)]
pub(super) struct Remove {
    /// Id of the receiver, from belfry push list
    id: i64,
    /// Account of the receiver, if several accounts have a receiver with this id
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        match self {
            Self::List(_) | Self::Log(_) => DatabaseUse::Read,
            Self::Test(_) | Self::Remove(_) | Self::Key(_) => DatabaseUse::Write,
        }
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(context).await,
            Self::Test(test) => test.run(context).await,
            Self::Log(log) => log.run(context).await,
            Self::Remove(remove) => remove.run(context).await,
            Self::Key(key) => key.run(context).await,
        }
    }
}

impl Remove {
    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, now, .. } = context;
        let id = self.id;
        let mut owners = store.receiver_owners(id).await?;
        if let Some(account) = &self.account {
            let account = context.find_account(account).await?;
            owners.retain(|(account_id, _)| *account_id == account.id);
            if owners.is_empty() {
                return Err(not_found_error(&account, id));
            }
        }
        let (account_id, account) = match &owners[..] {
            [] => return Err(format!("there is no receiver {id}; run `belfry push list`").into()),
            [(account_id, name)] => (*account_id, name),
            _ => {
                let names: Vec<&str> = owners.iter().map(|(_, name)| &**name).collect();
                let names = names.join(", ");
                return Err(format!(
                    "several accounts have a receiver {id}: {names}; add --account NAME"
                )
                .into());
            }
        };
        let events = command_events(now, AuditKind::ReceiverRemove);
        // If its client removes it in the meantime, it is gone, too.
        store.delete_receiver(&events, account_id, id).await?;
        Ok(writeln!(stdout(), "receiver {id} of {account} removed")?)
    }
}

fn not_found_error(account: &Account, id: i64) -> CliError {
    let name = &account.name;
    format!("{name} has no receiver {id}; run `belfry push list {name}`").into()
}

/// Reads the sealing key. Returns an error if delivery is off.
fn read_sealing_key(config: &Config) -> Result<SealingKey, CliError> {
    let (Some(_), Some(path)) = (&config.push.contact, config.sealing_key_path()) else {
        let advice =
            "set push.contact, such as \"mailto:ops@ring.example\", and restart the server";
        return Err(format!("delivery is off: {advice}").into());
    };
    let advice = match config.database() {
        Database::Sqlite(_) => "in a new installation, `belfry serve` creates it",
        Database::Postgres(_) => "in a new installation, create it with `belfry key new`",
    };
    load_sealing_key(&path, false).map_err(|error| match path.try_exists() {
        Ok(false) => format!("{error}; {advice}").into(),
        _ => error.into(),
    })
}
