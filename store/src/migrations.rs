//! Numbered schema migrations, embedded in the binary and applied at start.
//!
//! To add one, put `NNNN_name.sql` into both directories under `migrations/` and a line into
//! [`MIGRATIONS`]. Released migrations are never edited. The numbers 1 to 3 belong to development
//! snapshots, whose databases are rejected because they have other tables.
//!
//! A release must run beside its predecessor on one database, and give way to it again. So a
//! migration only adds tables, indexes and columns, and names the oldest schema version whose
//! statements still work after it (`compatible_from`). The database stores that number, because an
//! older binary cannot know the migrations of a newer one.

use super::StoreError;

/// One migration, in the dialect of each engine.
pub(crate) struct Migration {
    pub(crate) number: i64,
    /// The oldest schema version whose statements work after this migration.
    pub(crate) compatible_from: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

macro_rules! migrations {
    ($($number:literal $file:literal compatible from $compatible_from:literal),* $(,)?) => {
        /// All migrations, in order.
        pub(crate) const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            compatible_from: $compatible_from,
            sqlite: include_str!(concat!("../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../migrations/postgres/", $file)),
        }),*];
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

migrations![
    4 "0004_initial.sql" compatible from 4,
    5 "0005_audit.sql" compatible from 4,
    6 "0006_retention.sql" compatible from 4,
    7 "0007_edges.sql" compatible from 4,
    8 "0008_administration.sql" compatible from 7,
    9 "0009_last_use.sql" compatible from 7,
    10 "0010_timed_rules.sql" compatible from 7,
    11 "0011_account_security.sql" compatible from 7,
];

/// The tables of applied migrations. The second one is separate, because older versions insert rows
/// of two columns into the first.
pub(crate) const TABLES: &str = "
    create table if not exists migrations (
        number bigint not null primary key, applied_at bigint not null
    );
    create table if not exists migration_compatibility (
        number bigint not null primary key, compatible_from bigint not null
    )";

/// Records the number of a migration and when it was applied.
pub(crate) const INSERT_APPLIED: &str = "insert into migrations values ($1, $2)";
/// Records the number of a migration and the oldest version that is compatible with it.
pub(crate) const INSERT_COMPATIBLE: &str = "insert into migration_compatibility values ($1, $2)";

/// Statements that select the schema version of a database, and the oldest version that is
/// compatible with it: the version itself if none is recorded. The one of the first table that
/// exists is to be used; a database that this version only reads may have been created by an older
/// one.
pub(crate) const VERSIONS: [(&str, &str); 2] = [
    (
        "migration_compatibility",
        "select m.number, coalesce(c.compatible_from, m.number)
         from (select coalesce(max(number), 0) as number from migrations) m
         left join migration_compatibility c on c.number = m.number",
    ),
    ("migrations", "select coalesce(max(number), 0), coalesce(max(number), 0) from migrations"),
];

/// The newest schema version of this binary.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |newest| newest.number)
}

/// The statements of a migration, without comments and line breaks.
pub(crate) fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sql = lines.collect::<Vec<_>>().join(" ");
    sql.split(';').map(words).filter(|statement| !statement.is_empty()).collect()
}

/// The name of the index that a statement creates.
pub(crate) fn index_name(statement: &str) -> Option<&str> {
    statement.strip_prefix("create index ")?.split(' ').next()
}

/// The schema version of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaVersion {
    /// The newest migration; 0 without a schema.
    pub(crate) number: i64,
    /// The oldest schema version whose statements work with it.
    pub(crate) compatible_from: i64,
}

impl SchemaVersion {
    /// A database without a schema.
    pub(crate) const NONE: Self = Self::exact(0);

    /// A version for a use that needs to know all tables, such as a backup: only a binary of this
    /// version or a later one will do.
    pub(crate) const fn exact(number: i64) -> Self {
        Self { number, compatible_from: number }
    }
}

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
    /// The migrations to apply to a database at this version.
    pub(crate) fn pending(
        self,
        database: &str,
        found: SchemaVersion,
    ) -> Result<&'static [Migration], StoreError> {
        let oldest = MIGRATIONS.first().map_or(0, |oldest| oldest.number);
        let known = newest();
        let SchemaVersion { number, compatible_from } = found;
        if number > known {
            if compatible_from > known {
                let database = database.to_owned();
                return Err(StoreError::Newer { database, found: number, compatible_from, known });
            }
            tracing::warn!(
                found = number,
                known,
                "the database was migrated by a newer belfry that this one can run beside"
            );
        }
        self.check(number, oldest, known)
            .map_err(|reason| StoreError::Open { database: database.to_owned(), reason })?;
        let done = MIGRATIONS.partition_point(|migration| migration.number <= number);
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
    fn missing_migrations_are_pending_and_an_incompatible_newer_database_is_rejected() {
        use SchemaPolicy::{Create, Migrate, Require};
        let known = MIGRATIONS.last().unwrap().number;
        let pending = |policy: SchemaPolicy, number, compatible_from| {
            let pending = policy.pending("x", SchemaVersion { number, compatible_from });
            pending.map(<[_]>::len)
        };
        assert_eq!(pending(Migrate, 0, 0), Ok(MIGRATIONS.len()));
        assert_eq!(pending(Migrate, known - 1, 4), Ok(1));
        for policy in [Migrate, Create, Require] {
            assert_eq!(pending(policy, known, known), Ok(0));
            assert_eq!(pending(policy, known + 2, known), Ok(0), "{policy:?}");
            assert_eq!(pending(policy, known + 2, 4), Ok(0), "{policy:?}");
            let (found, compatible_from) = (known + 2, known + 1);
            let error = pending(policy, found, compatible_from).unwrap_err();
            let database = "x".to_owned();
            assert_eq!(error, StoreError::Newer { database, found, compatible_from, known });
        }
    }

    /// A release runs beside its predecessor only if no migration removes or changes anything.
    #[test]
    fn migrations_only_add() {
        for migration in MIGRATIONS {
            assert!(migration.compatible_from <= migration.number, "{}", migration.number);
            for sql in [migration.sqlite, migration.postgres] {
                for statement in statements(sql) {
                    let statement = statement.to_lowercase();
                    assert_eq!(objection(&statement), None, "{}: {statement}", migration.number);
                }
            }
        }
        let compatible = MIGRATIONS.iter().map(|migration| migration.compatible_from);
        assert!(compatible.is_sorted(), "a version cannot become compatible again");
    }

    #[test]
    fn a_migration_that_removes_or_changes_something_is_detected() {
        for wrong in [
            "drop table tokens",
            "drop index tokens_by_lookup",
            "alter table tokens drop column binding",
            "alter table tokens rename column scopes to scope",
            "alter table tokens alter column scopes type bigint",
            "alter table tokens add constraint c unique (lookup)",
            "alter table tokens add column a text not null",
            "alter table tokens add column a text unique",
            "create unique index a on tokens (lookup)",
            "update tokens set scopes = ''",
            "delete from tokens",
            "create trigger a before insert on tokens execute function b()",
        ] {
            assert!(objection(wrong).is_some(), "{wrong}");
        }
        for right in [
            "create table a (b text not null unique)",
            "create index a on b (c) where d is null",
            "alter table tokens add column a text",
            "alter table tokens add column a bigint not null default 0",
            "alter table tokens alter column a type text collate \"c\", alter column b type text \
             collate \"c\"",
        ] {
            assert_eq!(objection(right), None, "{right}");
        }
    }

    /// Whether a statement changes only the order of text columns.
    fn changes_only_collations(statement: &str) -> bool {
        let table = statement.strip_prefix("alter table ").and_then(|rest| rest.split_once(' '));
        table.is_some_and(|(_, changes)| {
            changes.split(", ").all(|change| {
                change.starts_with("alter column ") && change.ends_with(" type text collate \"c\"")
            })
        })
    }

    /// Why statements of an older version may fail after this one.
    fn objection(statement: &str) -> Option<&'static str> {
        let column = statement.strip_prefix("alter table ").and_then(|rest| {
            let (_table, rest) = rest.split_once(' ')?;
            rest.strip_prefix("add column ")
        });
        if changes_only_collations(statement) {
            return None;
        }
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
            None => Some("only tables, plain indexes and columns can be added"),
        }
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
