//! Numbered schema migrations, embedded in the binary and applied at start.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and a line into
//! [`MIGRATIONS`]. Released migrations are never edited.

/// One migration, in the dialect of each engine.
pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

macro_rules! migrations {
    ($($number:literal $file:literal),* $(,)?) => {
        /// All migrations, in order.
        pub(crate) const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../../migrations/postgres/", $file)),
        }),*];
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

migrations![
    1 "0001_initial.sql",
];

/// The table of applied migrations.
pub(crate) const TABLE: &str = "create table if not exists migrations (number bigint not null primary key, applied_at bigint not null)";

/// The migrations that a database at version `found` needs. If the database is newer than this
/// binary: `Err` with the newest known version.
pub(crate) fn pending(found: i64) -> Result<&'static [Migration], i64> {
    let newest = MIGRATIONS.last().map_or(0, |newest| newest.number);
    if found > newest {
        return Err(newest);
    }
    let done = MIGRATIONS.partition_point(|migration| migration.number <= found);
    Ok(&MIGRATIONS[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_file_is_listed_in_order() {
        for engine in ["sqlite", "postgres"] {
            let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            assert_eq!(files, FILES, "{engine}");
        }
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.number).unwrap(), index + 1);
            assert!(FILES[index].starts_with(&format!("{:04}_", migration.number)));
        }
    }

    #[test]
    fn missing_migrations_are_pending_and_a_newer_database_is_rejected() {
        let newest = MIGRATIONS.last().unwrap().number;
        assert_eq!(pending(0).ok().map(<[_]>::len), Some(MIGRATIONS.len()));
        assert_eq!(pending(newest).ok().map(<[_]>::len), Some(0));
        assert_eq!(pending(newest + 1).err(), Some(newest));
    }
}
