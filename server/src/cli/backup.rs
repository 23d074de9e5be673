//! `belfry backup`

use std::io::{Write, stdout};
use std::path::PathBuf;

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_store::{
    Manifest, Options, Overwrite, ProgressCallback, SchemaPolicy, Store, StoreError, TableSummary,
    create_backup,
};
use clap::Args;
use jiff::Timestamp;

use super::CliError;
use super::output::{format_count, print_message};
use super::progress::ProgressBar;
use crate::config::Config;

#[derive(Args)]
pub(super) struct Command {
    /// The file to write: a SQLite database that only its owner can read
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

impl Command {
    pub(super) async fn run(self, config: &Config, now: Timestamp) -> Result<(), CliError> {
        let overwrite = if self.force { Overwrite::Replace } else { Overwrite::Reject };
        let mut bar = ProgressBar::new();
        let is_terminal = bar.is_terminal;
        let mut show_progress = |progress| bar.show(progress);
        let report: Option<ProgressCallback<'_>> =
            if is_terminal { Some(&mut show_progress) } else { None };
        let (database, options) = (config.database(), &config.store);
        let result = create_backup(&database, options, &self.file, overwrite, now, report).await;
        drop(bar);
        let manifest = result?;
        let detail = Some(self.file.display().to_string());
        let events =
            NewAuditEvent { detail, ..NewAuditEvent::for_command(now, AuditKind::Backup) }.into();
        if let Err(error) = record_backup(config, &events, now).await {
            // The database may be a read-only standby, or its disk may be full.
            let problem = "the backup is not in the audit trail";
            print_message(format_args!("belfry: warning: {problem}: {error}"));
        }
        let (file, content) = (self.file.display(), describe_backup(&manifest));
        Ok(writeln!(stdout(), "backup written to {file}: {content}")?)
    }
}

/// Records the backup in the audit trail.
async fn record_backup(
    config: &Config,
    events: &NewAuditEvents,
    now: Timestamp,
) -> Result<(), StoreError> {
    let options = Options { schema: SchemaPolicy::Require, ..config.store };
    let store = Store::open(&config.database(), &options, now).await?;
    store.record_events(events).await
}

/// Summarises the contents of a backup in one line.
pub(super) fn describe_backup(manifest: &Manifest) -> String {
    let describe_table = |table: &TableSummary| match &*table.name {
        "deleted_owners" => format_count(table.row_count, "recent deletions"),
        name => format_count(table.row_count, &name.replace('_', " ")),
    };
    let tables: Vec<String> = manifest.tables.iter().map(describe_table).collect();
    format!("{} ({})", format_count(manifest.row_count(), "rows"), tables.join(", "))
}
