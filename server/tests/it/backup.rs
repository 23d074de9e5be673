//! Backups and restores: on both engines and between them, under load, with invalid files, on a
//! read-only disk, and when killed.

mod commands;
mod delivery;
mod invalid;
mod kill;
mod load;
mod read_only_disk;
mod rows;

use std::path::Path;

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::test::options;
use belfry_store::{
    Backup, BackupError, Database, ExistingFile, Manifest, RestoredTokens, create_backup,
    restore_backup,
};
use jiff::Timestamp;

use crate::support::TestDatabase;

/// Returns the fixed time at which all backups and restores take place.
fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

async fn back_up(database: &TestDatabase, file: &Path) -> Manifest {
    let existing_file = ExistingFile::Reject;
    create_backup(&database.database, &options(), file, existing_file, now()).await.unwrap()
}

async fn try_restore(
    file: &Path,
    database: &Database,
    tokens: RestoredTokens,
) -> Result<(), BackupError> {
    let event = NewAuditEvent::for_command(now(), AuditKind::Restore);
    let backup = Backup::open(file)?;
    restore_backup(&backup, database, &options(), tokens, &event).await
}

/// Restores a backup, keeping its tokens. Panics on failure.
async fn restore(file: &Path, database: &TestDatabase) {
    try_restore(file, &database.database, RestoredTokens::Keep).await.unwrap();
}
