//! `belfry restore`: restores a backup into an empty database.

use std::io::{Write, stdout};
use std::path::PathBuf;

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Backup, RestoredTokens, restore_backup};
use clap::Args;

use super::CliError;
use super::backup::{contains_sealed_data, describe_backup};
use super::lock::{check_owner, lock_data};
use crate::config::Config;

#[derive(Args)]
pub(super) struct Command {
    /// A file written by belfry backup
    file: PathBuf,
    /// Revoke all tokens, and delete all sessions and codes
    #[arg(long)]
    revoke_tokens: bool,
}

impl Command {
    pub(super) fn run(self, config: &Config) -> Result<(), CliError> {
        let database = config.database();
        check_owner(&database)?;
        // The backup is checked before anything is created.
        let backup = Backup::open(&self.file)?;
        let _lock = lock_data(&database)?;
        let (tokens, effect) = if self.revoke_tokens {
            (RestoredTokens::Revoke, ", all tokens revoked")
        } else {
            (RestoredTokens::Keep, "")
        };
        let created_at = backup.manifest().created_at;
        let detail = Some(format!("backup of {created_at}{effect}"));
        let event = NewAuditEvent {
            detail,
            ..NewAuditEvent::for_command(SystemClock.now(), AuditKind::Restore)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(restore_backup(&backup, &database, &config.store, tokens, &event))?;
        let mut out = stdout().lock();
        let content = describe_backup(backup.manifest());
        writeln!(out, "backup of {created_at} restored to {database}: {content}")?;
        let message = match tokens {
            RestoredTokens::Revoke => {
                "all tokens are revoked, all sessions and codes are deleted".to_owned()
            }
            RestoredTokens::Keep => format!(
                "tokens and sessions revoked, and codes redeemed, after {created_at} are valid again; \
                 --revoke-tokens invalidates all of them"
            ),
        };
        writeln!(out, "{message}")?;
        let path = config.sealing_key_path();
        if contains_sealed_data(backup.manifest())
            && !path.as_ref().is_some_and(|path| path.exists())
        {
            let destination = match path {
                Some(path) => format!("to {}", path.display()),
                None => "to a file, and set secret_key_file to its path,".to_owned(),
            };
            writeln!(
                out,
                "copy the sealing key of the former server {destination} before you start this \
                 one; without it, clients must subscribe to notifications again"
            )?;
        }
        Ok(())
    }
}
