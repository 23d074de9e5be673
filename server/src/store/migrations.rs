//! Numbered schema migrations, embedded in the binary and applied at start.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and a line into
//! [`MIGRATIONS`]. Released migrations are never edited.

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
    1 "0001_initial.sql",
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
        let known = MIGRATIONS.last().map_or(0, |newest| newest.number);
        self.check(found, known).map_err(|reason| match reason {
            Some(reason) => StoreError::Open { database: database.to_owned(), reason },
            None => StoreError::Newer { database: database.to_owned(), found, known },
        })?;
        let done = MIGRATIONS.partition_point(|migration| migration.number <= found);
        Ok(&MIGRATIONS[done..])
    }

    /// Rejects a version with a reason, or without one if it is newer than this binary.
    fn check(self, found: i64, known: i64) -> Result<(), Option<String>> {
        match self {
            _ if found > known => Err(None),
            Self::Require if found == 0 => Err(Some(
                "it does not exist or is empty; create it with belfry serve or belfry account add"
                    .to_owned(),
            )),
            Self::Require | Self::Create if found != 0 && found < known => Err(Some(format!(
                "it has schema version {found}, this belfry needs {known}; upgrade it by starting \
                 belfry serve"
            ))),
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
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.number).unwrap(), index + 1);
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
            (Migrate, 2, true),
            (Create, 0, true),
            (Create, 2, false),
            (Create, 3, true),
            (Require, 0, false),
            (Require, 2, false),
            (Require, 3, true),
        ] {
            assert_eq!(policy.check(found, 3).is_ok(), accepted, "{policy:?} {found}");
        }
    }
}
