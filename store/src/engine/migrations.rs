//! Numbered schema migrations, embedded in the binary and applied at startup.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and an entry into
//! [`MIGRATIONS`]. Released migrations are never edited. The numbers below the first one belong to
//! pre-releases, whose databases and backups are rejected because they have different tables.
//!
//! A release must run alongside its predecessor on one database, and it must be possible to roll
//! back to the predecessor. So a migration only adds tables, indexes and columns, and names the
//! oldest schema version whose statements still work after it (`compatible_from`). The database
//! stores that number, because an older binary cannot know the migrations of a newer one.

use crate::error::StoreError;

/// One migration, in the dialect of each engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The schema version after this migration.
    pub(crate) number: i64,
    /// The oldest schema version whose statements work after this migration.
    pub(crate) compatible_from: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

pub(crate) const MIGRATIONS: Migrations = Migrations(&[Migration {
    number: 15,
    compatible_from: 15,
    sqlite: include_str!("../../migrations/sqlite/0015_initial.sql"),
    postgres: include_str!("../../migrations/postgres/0015_initial.sql"),
}]);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Migrations(pub(crate) &'static [Migration]);

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

/// Splits a migration into its statements, without comments and line breaks. A semicolon between
/// two `$$` belongs to the body of a function.
pub(crate) fn split_statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let sql = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let mut statements = vec![String::new()];
    for part in sql.split_inclusive(';') {
        let Some(statement) = statements.last_mut() else { continue };
        statement.push_str(part);
        if statement.matches("$$").count() % 2 == 0 {
            *statement = statement.trim_end_matches(';').trim().to_owned();
            statements.push(String::new());
        }
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

/// Returns the name of the index that a statement creates, if it creates one.
pub(crate) fn index_name(statement: &str) -> Option<&str> {
    statement.strip_prefix("create index ")?.split(' ').next()
}

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
