//! Numbered schema migrations, embedded in the binary and applied at start.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and a line into
//! [`MIGRATIONS`]. Released migrations are never edited. The numbers 1 to 3 belong to development
//! snapshots, whose databases are rejected because they have other tables.

use super::StoreError;

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
    4 "0004_initial.sql",
    5 "0005_audit.sql",
    6 "0006_retention.sql",
    7 "0007_edges.sql",
    8 "0008_administration.sql",
];

/// The table of applied migrations.
pub(crate) const TABLE: &str = "create table if not exists migrations (number bigint not null primary key, applied_at bigint not null)";

/// What to do with a database that has no schema, or that of an older version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaPolicy {
    /// Create or upgrade it.
    #[default]
    Migrate,
    /// Create a missing schema, reject an older one.
    Create,
    /// Reject both.
    Require,
}

impl SchemaPolicy {
    /// The migrations to apply to a database at version `found`, which is 0 without a schema.
    pub(crate) fn pending(
        self,
        database: &str,
        found: i64,
    ) -> Result<&'static [Migration], StoreError> {
        let oldest = MIGRATIONS.first().map_or(0, |oldest| oldest.number);
        let known = MIGRATIONS.last().map_or(0, |newest| newest.number);
        if found > known {
            return Err(StoreError::Newer { database: database.to_owned(), found, known });
        }
        self.check(found, oldest, known)
            .map_err(|reason| StoreError::Open { database: database.to_owned(), reason })?;
        let done = MIGRATIONS.partition_point(|migration| migration.number <= found);
        Ok(&MIGRATIONS[done..])
    }

    /// Rejects a version, with the reason, that is missing, too old, or older than `known`.
    fn check(self, found: i64, oldest: i64, known: i64) -> Result<(), String> {
        match self {
            Self::Require if found == 0 => Err("it does not exist or is empty; create it with \
                 belfry serve or belfry account add"
                .to_owned()),
            _ if found != 0 && found < oldest => Err(format!(
                "it was created by a development snapshot (schema version {found}) and cannot be \
                 upgraded; move it away and start with a new database"
            )),
            Self::Require | Self::Create if found != 0 && found < known => Err(format!(
                "it has schema version {found}, this belfry needs {known}; upgrade it by starting \
                 belfry serve"
            )),
            _ => Ok(()),
        }
    }
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
        assert!(MIGRATIONS.iter().map(|migration| migration.number).is_sorted());
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert!(FILES[index].starts_with(&format!("{:04}_", migration.number)));
        }
    }

    #[test]
    fn missing_migrations_are_pending_and_a_newer_database_is_rejected() {
        let newest = MIGRATIONS.last().unwrap().number;
        let pending = |found| SchemaPolicy::Migrate.pending("x", found);
        assert_eq!(pending(0).ok().map(<[_]>::len), Some(MIGRATIONS.len()));
        assert_eq!(pending(newest).ok().map(<[_]>::len), Some(0));
        let Err(StoreError::Newer { found, known, .. }) = pending(newest + 1) else {
            panic!("a newer database is accepted");
        };
        assert_eq!((found, known), (newest + 1, newest));
    }

    #[test]
    fn a_policy_decides_what_happens_to_missing_and_older_schemas() {
        use SchemaPolicy::{Create, Migrate, Require};
        for (policy, found, accepted) in [
            (Migrate, 0, true),
            (Migrate, 3, false),
            (Migrate, 4, true),
            (Create, 0, true),
            (Create, 4, false),
            (Create, 5, true),
            (Require, 0, false),
            (Require, 4, false),
            (Require, 5, true),
        ] {
            assert_eq!(policy.check(found, 4, 5).is_ok(), accepted, "{policy:?} {found}");
        }
    }
}
