//! `belfry account import`: adds the accounts of a file.

mod report;
mod source;

use std::io::{Write, stdout};

use belfry_core::audit::{AuditEntry, AuditKind, Events};
use belfry_core::import::ImportedAccount;
use belfry_core::oauth::account::Role;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Account, AccountImport, NO_PASSWORD, SerializedDocument, Store, StoreError};
use clap::Args;
use jiff::Timestamp;

use self::report::Report;
use self::source::{Line, Source};
use super::output::counted;
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

/// Number of accounts that are added in one transaction.
const BATCH: usize = 500;
/// Size of the lines that are added in one transaction, which bounds the memory for push rules.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

impl Command {
    /// Validates the whole file before the first account is added.
    pub(super) fn run(self, config: &Config) -> Result<(), CliError> {
        let mut source = Source::open(&self.file, config, SystemClock.now())?;
        let count = source.validate()?;
        if self.dry_run {
            let are = if count == 1 { "is" } else { "are" };
            let accounts = counted(count, "accounts");
            writeln!(stdout(), "{accounts} {are} valid; nothing was imported")?;
            return Ok(());
        }
        let mut report = Report::new(count);
        with_store(config, DatabaseUse::Write, async |store, now| {
            let imported = import(store, now, &mut source, &mut report).await;
            imported.map_err(|error| report.interrupted(&*error))
        })?;
        report.finish()
    }
}

/// Adds the accounts of a valid file.
async fn import(
    store: &Store,
    now: Timestamp,
    source: &mut Source,
    report: &mut Report,
) -> Result<(), CliError> {
    let mut lines = source.lines()?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(line) = lines.next()? {
        // Invalid only if the file was changed since it was validated.
        let line = line?;
        bytes += line.bytes;
        batch.push(line);
        if batch.len() == BATCH || bytes >= BATCH_BYTES {
            add(store, now, std::mem::take(&mut batch), report).await?;
            bytes = 0;
        }
    }
    add(store, now, batch, report).await?;
    Ok(())
}

/// Adds accounts in one transaction, and admins in another, because their events differ.
async fn add(
    store: &Store,
    now: Timestamp,
    lines: Vec<Line>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let (admins, users): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.account.role == Role::Admin);
    for (lines, detail) in [(users, "import"), (admins, "import, role admin")] {
        let event = AuditEntry {
            detail: Some(detail.to_owned()),
            ..AuditEntry::of_command(now, AuditKind::AccountAdd)
        };
        add_with(store, &event.into(), now, lines, report).await?;
    }
    report.show_progress();
    Ok(())
}

async fn add_with(
    store: &Store,
    events: &Events,
    now: Timestamp,
    lines: Vec<Line>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let names: Vec<(u64, String)> =
        lines.iter().map(|line| (line.number, line.account.name.clone())).collect();
    let imports = lines.into_iter().map(|line| to_import(line.account, now)).collect();
    let outcomes = store.import_accounts(events, now, imports).await?;
    for ((line, name), outcome) in names.into_iter().zip(outcomes) {
        report.record(line, &name, outcome)?;
    }
    Ok(())
}

fn to_import(imported: ImportedAccount, now: Timestamp) -> AccountImport {
    let rulesets = imported.rulesets.into_iter().map(SerializedDocument::new).collect();
    let account = Account {
        id: 0,
        name: imported.name,
        email: imported.email,
        unverified_email: None,
        password: imported.password_hash.unwrap_or_else(|| NO_PASSWORD.to_owned()),
        role: imported.role,
        created_at: imported.created_at.unwrap_or(now),
        signed_in_at: None,
        disabled_at: imported.is_disabled.then_some(now),
        delete_at: None,
        credential_version: 0,
    };
    AccountImport { account, rulesets }
}
