//! `belfry backup`

use std::io::{Write, stdout};
use std::path::PathBuf;

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_store::{
    ExistingFile, Manifest, Options, SchemaPolicy, Store, StoreError, TableSummary, create_backup,
};
use clap::Args;
use jiff::Timestamp;

use super::output::{format_count, print_message};
use super::{CliError, Context, DatabaseUse, StoreCommand};
use crate::config::Config;

#[derive(Args)]
pub(super) struct Command {
    /// The file to write: a SQLite database that only its owner can read. FILE.sha256 gets its
    /// digest
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        DatabaseUse::Read
    }

    async fn run(self, Context { config, now, .. }: Context<'_>) -> Result<(), CliError> {
        if self.file.as_os_str() == "-" {
            return Err("a backup cannot be written to standard output; name a file".into());
        }
        let existing_file = if self.force { ExistingFile::Replace } else { ExistingFile::Reject };
        let database = config.database();
        let options = &config.store;
        let manifest = create_backup(&database, options, &self.file, existing_file, now).await?;
        let detail = Some(self.file.display().to_string());
        let events =
            NewAuditEvent { detail, ..NewAuditEvent::for_command(now, AuditKind::Backup) }.into();
        if let Err(error) = record_backup(config, &events, now).await {
            // The database may be a read-only standby, or its disk may be full.
            let problem = "the backup is not in the audit trail";
            print_message(format_args!("belfry: warning: {problem}: {error}"));
        }
        let file = self.file.display();
        let content = describe_backup(&manifest);
        let mut out = stdout().lock();
        writeln!(out, "backup written to {file}: {content}")?;
        if contains_sealed_data(&manifest) {
            let path = config
                .sealing_key_path()
                .map_or_else(String::new, |path| format!(" {}", path.display()));
            writeln!(
                out,
                "it does not contain the sealing key{path}, without which the receivers in it \
                 cannot be used: keep a copy of that file elsewhere"
            )?;
        }
        Ok(())
    }
}

/// Returns whether a backup contains data that only the sealing key can decrypt.
pub(super) fn contains_sealed_data(manifest: &Manifest) -> bool {
    let is_sealed = |name: &str| matches!(name, "receivers" | "signing_keys");
    manifest.tables.iter().any(|table| is_sealed(&table.name) && table.row_count > 0)
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
