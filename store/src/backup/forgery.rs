//! Forged backups for tests: changed files that match their checksums.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use rusqlite::Connection;

use super::checksum::TableChecksum;
use super::manifest::Manifest;
use super::sqlite::scan;
use crate::error::StoreError;

/// Updates all table checksums and the manifest's, after rows were changed.
pub fn forge_checksums(backup: &Connection) {
    let (manifest, _) = Manifest::read(backup).unwrap();
    for table in manifest.tables {
        let mut checksum = TableChecksum::default();
        let mut add_row = |row: &[_]| {
            checksum.add_row(row);
            Ok(())
        };
        let select = format!("select * from {}", table.name);
        let to_error = |error: rusqlite::Error| StoreError::Failed(error.to_string()).into();
        scan(backup, &select, &mut add_row, to_error).unwrap();
        let update = "update backup_tables set checksum = ? where name = ?";
        backup.execute(update, [checksum.to_hex(), table.name]).unwrap();
    }
    forge_manifest(backup);
}

/// Updates the manifest's checksum, after the manifest was changed.
pub fn forge_manifest(backup: &Connection) {
    let (manifest, _) = Manifest::read(backup).unwrap();
    backup.execute("update backup set checksum = ?", [manifest.checksum()]).unwrap();
}
