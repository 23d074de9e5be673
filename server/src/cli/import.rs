//! `belfry account import`: adds the accounts in a file.

mod report;
mod source;

use std::io::{Write, stdout};

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::import::ImportedAccount;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Store, StoreError};
use clap::Args;

use self::report::Report;
use self::source::AccountSource;
use super::output::format_count;
use super::{CliError, DatabaseUse, with_store};
use crate::config::Config;

#[derive(Args)]
pub(super) struct Command {
    /// A file with one JSON object per line, or - for standard input
    file: String,
    /// Validate the file and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Maximum number of accounts that are added in one transaction.
const MAX_BATCH_ACCOUNTS: usize = 500;
/// Maximum total size of the lines that are added in one transaction, to bound the memory for push
/// rules.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

impl Command {
    /// Validates the whole file, then adds its accounts unless this is a dry run.
    pub(super) fn run(self, config: &Config) -> Result<(), CliError> {
        let mut source = AccountSource::open(&self.file, config, SystemClock.now())?;
        let count = source.validate()?;
        if self.dry_run {
            let verb = if count == 1 { "is" } else { "are" };
            let accounts = format_count(count, "accounts");
            writeln!(stdout(), "{accounts} {verb} valid; nothing was imported")?;
            return Ok(());
        }
        let mut report = Report::default();
        with_store(config, DatabaseUse::Write, async |context| {
            let result = import_accounts(context.store, &mut source, &mut report).await;
            result.map_err(|error| report.interruption_error(&*error))
        })?;
        report.finish()
    }
}

/// Adds the accounts in a valid file.
async fn import_accounts(
    store: &Store,
    source: &mut AccountSource,
    report: &mut Report,
) -> Result<(), CliError> {
    let mut lines = source.lines()?;
    let mut batch = Vec::new();
    let mut batch_bytes = 0;
    while let Some(account) = lines.next()? {
        // Invalid only if the file was changed since it was validated.
        let account = account?;
        // The accounts in a transaction share one audit event template, which names the role.
        let has_same_role = |(_, first): &(u64, ImportedAccount)| first.role == account.role;
        if batch.len() == MAX_BATCH_ACCOUNTS
            || batch_bytes >= MAX_BATCH_BYTES
            || !batch.first().is_none_or(has_same_role)
        {
            add_batch(store, std::mem::take(&mut batch), report).await?;
            batch_bytes = 0;
        }
        batch_bytes += lines.line_bytes();
        batch.push((lines.number(), account));
    }
    add_batch(store, batch, report).await?;
    Ok(())
}

/// Adds accounts with the same role, given with their line numbers, in one transaction. Each
/// transaction has a new time, because the number of ids per millisecond is limited.
async fn add_batch(
    store: &Store,
    batch: Vec<(u64, ImportedAccount)>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let now = SystemClock.now();
    let is_admin = batch.first().is_some_and(|(_, account)| account.role == Role::Admin);
    let detail = if is_admin { "import, role admin" } else { "import" };
    let event = NewAuditEvent::for_command(now, AuditKind::AccountAdd);
    let events = NewAuditEvent { detail: Some(detail.to_owned()), ..event }.into();
    let names: Vec<_> = batch.iter().map(|(line, account)| (*line, account.name.clone())).collect();
    let accounts = batch.into_iter().map(|(_, account)| account).collect();
    let outcomes = store.import_accounts(&events, now, accounts).await?;
    for ((line, name), outcome) in names.into_iter().zip(outcomes) {
        report.record(line, &name, outcome)?;
    }
    Ok(())
}
