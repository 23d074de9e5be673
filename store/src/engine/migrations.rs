//! Numbered schema migrations, embedded in the binary and applied at startup.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and a line into
//! `migrations!`. Released migrations are never edited. The numbers below the first one belong to
//! pre-releases, whose databases and backups are rejected because they have different tables.
//!
//! A release must run alongside its predecessor on one database, and it must be possible to roll
//! back to the predecessor. So a migration only adds tables, indexes and columns, and names the
//! oldest schema version whose statements still work after it (`compatible_from`). The database
//! stores that number, because an older binary cannot know the migrations of a newer one.

use crate::error::StoreError;

/// One migration, in the dialect of each engine.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The schema version after this migration.
    pub number: i64,
    /// The oldest schema version whose statements work after this migration.
    pub compatible_from: i64,
    /// The statements for SQLite.
    pub sqlite: &'static str,
    /// The statements for PostgreSQL.
    pub postgres: &'static str,
}

macro_rules! migrations {
    ($($number:literal $file:literal compatible from $compatible_from:literal),* $(,)?) => {
        impl Default for Migrations {
            fn default() -> Self {
                Self(&[$(Migration {
                    number: $number,
                    compatible_from: $compatible_from,
                    sqlite: include_str!(concat!("../../migrations/sqlite/", $file)),
                    postgres: include_str!(concat!("../../migrations/postgres/", $file)),
                }),*])
            }
        }
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

migrations![
    12 "0012_initial.sql" compatible from 12,
    13 "0013_session_address.sql" compatible from 12,
    14 "0014_push.sql" compatible from 12,
];

/// The migrations that a binary knows, in order. The default is those of this binary; tests add
/// simulated ones.
#[derive(Debug, Clone, Copy)]
pub struct Migrations(pub &'static [Migration]);

impl Migrations {
    /// Returns the oldest schema version that can be upgraded.
    pub(crate) fn oldest(self) -> i64 {
        self.0.first().map_or(0, |oldest| oldest.number)
    }

    /// Returns the newest schema version.
    pub(crate) fn newest(self) -> i64 {
        self.0.last().map_or(0, |newest| newest.number)
    }

    /// Returns the migrations up to a version, and those after it.
    pub(crate) fn split(self, version: i64) -> (&'static [Migration], &'static [Migration]) {
        self.0.split_at(self.0.partition_point(|migration| migration.number <= version))
    }

    /// Returns the migrations to apply to a database at this version. Fails if the database was
    /// written by a pre-release or by an incompatible newer version, or if the policy rejects it.
    pub(crate) fn pending(
        self,
        policy: SchemaPolicy,
        database: &str,
        version: SchemaVersion,
    ) -> Result<&'static [Migration], StoreError> {
        let supported_version = self.newest();
        let SchemaVersion { number, compatible_from } = version;
        if number > supported_version {
            if compatible_from > supported_version {
                let database = database.to_owned();
                return Err(StoreError::Newer {
                    database,
                    version: number,
                    compatible_from,
                    supported_version,
                });
            }
            tracing::warn!(
                found = number,
                known = supported_version,
                "database was migrated by a compatible newer belfry"
            );
        }
        if number != 0 && number < self.oldest() {
            return Err(StoreError::PreRelease { database: database.to_owned(), version: number });
        }
        policy
            .check_version(number, supported_version)
            .map_err(|reason| StoreError::Open { database: database.to_owned(), reason })?;
        Ok(self.split(number).1)
    }
}

/// The statement that creates the table of applied migrations.
pub(crate) const CREATE_TABLE: &str = "
    create table if not exists migrations (
        number bigint not null primary key,
        applied_at bigint not null,
        compatible_from bigint not null
    )";

/// The statement that records the number of a migration, when it was applied, and the oldest
/// version that is compatible with it.
pub(crate) const INSERT_MIGRATION: &str =
    "insert into migrations (number, applied_at, compatible_from) values ($1, $2, $3)";

/// The statement that tests whether the database accepts writes. Its row is then deleted or rolled
/// back.
pub(crate) const TEST_INSERT: &str =
    "insert into migrations (number, applied_at, compatible_from) values (0, 0, 0)";

/// The statement that selects the newest migration. A pre-release database does not have the third
/// column.
pub(crate) const SELECT_NEWEST: &str = "select * from migrations order by number desc limit 1";

/// Splits a migration into its statements, without comments and line breaks.
pub(crate) fn split_statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let collapse = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sql = lines.collect::<Vec<_>>().join(" ");
    sql.split(';').map(collapse).filter(|statement| !statement.is_empty()).collect()
}

/// Returns the name of the index that a statement creates, if it creates one.
pub(crate) fn index_name(statement: &str) -> Option<&str> {
    statement.strip_prefix("create index ")?.split(' ').next()
}

/// The schema version of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaVersion {
    /// Number of the newest migration; 0 without a schema.
    pub(crate) number: i64,
    /// The oldest schema version whose statements work with it.
    pub(crate) compatible_from: i64,
}

impl SchemaVersion {
    /// A database without a schema.
    pub(crate) const NONE: Self = Self::exact(0);

    /// Creates a version that only binaries of this or a later version can use, for operations that
    /// must know all tables, such as a backup.
    pub(crate) const fn exact(number: i64) -> Self {
        Self { number, compatible_from: number }
    }
}

/// Policy for a database without a schema, or with an older one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaPolicy {
    /// Create or upgrade the schema.
    #[default]
    Migrate,
    /// Create a missing schema, reject an older one.
    Create,
    /// Reject a missing or older schema.
    Require,
}

impl SchemaPolicy {
    /// Rejects a missing version, or one older than `required_version`, if the policy does not
    /// allow it. Returns the reason.
    fn check_version(self, version: i64, required_version: i64) -> Result<(), String> {
        match self {
            Self::Require if version == 0 => Err("it does not exist or is empty; check --data, \
                 --database and --config, or create it with belfry serve or belfry account add"
                .to_owned()),
            Self::Require | Self::Create if version != 0 && version < required_version => {
                Err(format!(
                    "it has schema version {version}, but this belfry needs {required_version}; \
                     upgrade it by starting belfry serve"
                ))
            }
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
            let dir = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut files: Vec<String> = std::fs::read_dir(dir)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            assert_eq!(files, FILES, "{engine}");
        }
        let Migrations(migrations) = Migrations::default();
        assert!(migrations.iter().map(|migration| migration.number).is_sorted());
        for (index, migration) in migrations.iter().enumerate() {
            assert!(FILES[index].starts_with(&format!("{:04}_", migration.number)));
        }
    }

    /// Migrations to the versions 12, 13 and 14. The last two are compatible with 13.
    const TEST_MIGRATIONS: Migrations = Migrations(&[
        Migration { number: 12, compatible_from: 12, sqlite: "", postgres: "" },
        Migration { number: 13, compatible_from: 13, sqlite: "", postgres: "" },
        Migration { number: 14, compatible_from: 13, sqlite: "", postgres: "" },
    ]);

    #[test]
    fn missing_migrations_are_pending_and_an_incompatible_newer_database_is_rejected() {
        use SchemaPolicy::{Create, Migrate, Require};
        let pending = |policy: SchemaPolicy, number, compatible_from| {
            let version = SchemaVersion { number, compatible_from };
            let migrations = TEST_MIGRATIONS.pending(policy, "x", version)?;
            let numbers: Vec<_> = migrations.iter().map(|migration| migration.number).collect();
            Ok::<_, StoreError>(numbers)
        };
        assert_eq!(pending(Migrate, 0, 0), Ok(vec![12, 13, 14]));
        assert_eq!(pending(Create, 0, 0), Ok(vec![12, 13, 14]));
        assert_eq!(pending(Migrate, 12, 12), Ok(vec![13, 14]));
        assert_eq!(pending(Migrate, 13, 13), Ok(vec![14]));
        for policy in [Migrate, Create, Require] {
            assert_eq!(pending(policy, 14, 14), Ok(vec![]));
            assert_eq!(pending(policy, 16, 14), Ok(vec![]), "{policy:?}");
            assert_eq!(pending(policy, 16, 4), Ok(vec![]), "{policy:?}");
            let version = 16;
            let compatible_from = 15;
            let supported_version = 14;
            let error = pending(policy, version, compatible_from).unwrap_err();
            let expected = StoreError::Newer {
                database: "x".to_owned(),
                version,
                compatible_from,
                supported_version,
            };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_pre_release_database_is_rejected_by_every_policy() {
        use SchemaPolicy::{Create, Migrate, Require};
        for policy in [Migrate, Create, Require] {
            for version in [1, 11] {
                let error = TEST_MIGRATIONS
                    .pending(policy, "x", SchemaVersion::exact(version))
                    .unwrap_err();
                let database = "x".to_owned();
                assert_eq!(error, StoreError::PreRelease { database, version }, "{policy:?}");
            }
        }
    }

    /// A release runs alongside its predecessor only if no migration removes or changes anything.
    #[test]
    fn migrations_only_add() {
        let Migrations(migrations) = Migrations::default();
        for migration in migrations {
            assert!(migration.compatible_from <= migration.number, "{}", migration.number);
            for sql in [migration.sqlite, migration.postgres] {
                for statement in split_statements(sql) {
                    let statement = statement.to_lowercase();
                    assert_eq!(
                        incompatibility(&statement),
                        None,
                        "{}: {statement}",
                        migration.number
                    );
                }
            }
        }
        let compatible_versions = migrations.iter().map(|migration| migration.compatible_from);
        assert!(compatible_versions.is_sorted(), "a version cannot become compatible again");
    }

    #[test]
    fn a_migration_that_removes_or_changes_something_is_detected() {
        for incompatible in [
            "drop table tokens",
            "drop index tokens_by_lookup",
            "alter table tokens drop column binding",
            "alter table tokens rename column scopes to scope",
            "alter table tokens alter column scopes type bigint",
            "alter table tokens add constraint c unique (lookup)",
            "alter table tokens add column b text not null",
            "alter table tokens add column b text unique",
            "create unique index a on tokens (lookup)",
            "update tokens set scopes = ''",
            "delete from tokens",
            "create trigger a before insert on tokens execute function b()",
        ] {
            assert!(incompatibility(incompatible).is_some(), "{incompatible}");
        }
        for compatible in [
            "create table a (b text not null unique)",
            "create index a on b (c) where d is null",
            "create or replace function a() returns bigint language sql as 'select 1'",
            "alter table tokens add column b text",
            "alter table tokens add column a bigint not null default 0",
        ] {
            assert_eq!(incompatibility(compatible), None, "{compatible}");
        }
    }

    /// Returns why statements of older versions may fail after this one.
    fn incompatibility(statement: &str) -> Option<&'static str> {
        let column = statement.strip_prefix("alter table ").and_then(|rest| {
            let (_table, rest) = rest.split_once(' ')?;
            rest.strip_prefix("add column ")
        });
        match column {
            Some(column) if column.contains(" not null") && !column.contains(" default ") => {
                Some("older versions insert no value for the column; give it a default")
            }
            Some(column) if column.contains(" unique") || column.contains(" check") => {
                Some("older versions do not know the constraint")
            }
            Some(_) => None,
            None if statement.starts_with("create table ") => None,
            None if statement.starts_with("create index ") => None,
            None if statement.starts_with("create or replace function ") => None,
            None => Some("only tables, plain indexes, columns and functions can be added"),
        }
    }

    #[test]
    fn each_policy_accepts_or_rejects_missing_and_older_schemas() {
        use SchemaPolicy::{Create, Migrate, Require};
        for (policy, version, is_accepted) in [
            (Migrate, 0, true),
            (Migrate, 12, true),
            (Create, 0, true),
            (Create, 12, false),
            (Create, 13, true),
            (Require, 0, false),
            (Require, 12, false),
            (Require, 13, true),
        ] {
            assert_eq!(
                policy.check_version(version, 13).is_ok(),
                is_accepted,
                "{policy:?} {version}"
            );
        }
    }
}
