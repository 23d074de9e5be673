//! Loads a backup into an empty database in one transaction.

use belfry_core::account::DELETION_DELAY;
use belfry_core::audit::NewAuditEvent;
use belfry_core::oauth::token::expiry_after;

use super::BackupError;
use super::file::Backup;
use super::schema::Schema;
use super::transaction::{SELECT_SCHEMA_VERSION, TableTransaction};
use crate::engine::migrations::{MIGRATIONS, Migration, SchemaPolicy, SchemaVersion};
use crate::engine::{Statement, migrations, sql};
use crate::error::StoreError;
use crate::store::event_source::EventSource;

/// Policy for a backup's tokens, sessions and codes when it is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredTokens {
    /// All are as valid as at the time of the backup, including those that were revoked later.
    Keep,
    /// Tokens are revoked; sessions and codes are deleted.
    Revoke,
}

pub(super) struct Restore<'a> {
    pub(super) backup: &'a Backup,
    /// The database's path or URL, for messages.
    pub(super) database: String,
    pub(super) tokens: RestoredTokens,
    pub(super) event: &'a NewAuditEvent,
}

impl Restore<'_> {
    /// Restores the backup and commits. If it fails, the transaction is rolled back.
    pub(super) async fn run<T: TableTransaction>(&self, target: T) -> Result<(), BackupError> {
        let schema = &self.backup.schema;
        self.clear(&target).await?;
        let (migrations, later_migrations) = MIGRATIONS.split(schema.version);
        self.migrate(&target, migrations).await?;
        self.load(&target).await?;
        self.migrate(&target, later_migrations).await?;
        for statement in self.final_statements() {
            target.execute_statement(&statement).await?;
        }
        Ok(target.commit(schema).await?)
    }

    /// Drops the tables of an existing schema, because its version may differ from the backup's.
    /// Fails if they have rows.
    async fn clear<T: TableTransaction>(&self, target: &T) -> Result<(), BackupError> {
        target.execute_batch(migrations::CREATE_TABLE).await?;
        let version = target.read_integer(SELECT_SCHEMA_VERSION).await?;
        let exact_version = SchemaVersion::exact(version);
        MIGRATIONS.pending(SchemaPolicy::Migrate, &self.database, exact_version)?;
        if version == 0 {
            return Ok(());
        }
        let old_schema = Schema::from_migrations(version)?;
        target.lock(&old_schema).await?;
        for table in &old_schema.all_tables {
            // These have no content to lose: a server writes to `sweeps` when it starts, and
            // to `locks` to serialize transactions.
            if matches!(&*table.name, "sweeps" | "locks") {
                continue;
            }
            let count = format!("select count(*) from (select 1 from {} limit 1) t", table.name);
            if target.read_integer(&count).await? > 0 {
                let database = self.database.clone();
                let table = table.name.clone();
                return Err(BackupError::NotEmpty { database, table });
            }
        }
        for table in &old_schema.all_tables {
            target.execute_batch(&format!("drop table {}", table.name)).await?;
        }
        Ok(target.execute_batch("delete from migrations").await?)
    }

    /// Applies migrations and records them in the `migrations` table.
    async fn migrate<T: TableTransaction>(
        &self,
        target: &T,
        migrations: &[Migration],
    ) -> Result<(), StoreError> {
        for migration in migrations {
            target.execute_batch(T::migration_sql(migration)).await?;
            let number = migration.number;
            let compatible_from = migration.compatible_from;
            let values = vec![number.into(), self.event.at.into(), compatible_from.into()];
            target.execute_statement(&Statement::new(migrations::INSERT_MIGRATION, values)).await?;
        }
        Ok(())
    }

    /// Inserts all rows of the backup, and counts them in the database.
    async fn load<T: TableTransaction>(&self, target: &T) -> Result<(), BackupError> {
        for table in self.backup.schema.backup_tables() {
            let mut position = i64::MIN;
            loop {
                let rows = self.backup.read_page(table, &mut position)?;
                if rows.is_empty() {
                    break;
                }
                target.insert(table, &rows).await?;
            }
            let count =
                target.read_integer(&format!("select count(*) from {}", table.name)).await?;
            if self.backup.manifest().row_count_of(&table.name) != u64::try_from(count).ok() {
                let database = self.database.clone();
                let table = table.name.clone();
                return Err(BackupError::MissingRows { database, table });
            }
        }
        Ok(())
    }

    /// Returns the statements at the end of the transaction, on the newest schema.
    fn final_statements(&self) -> Vec<Statement> {
        let mut statements = match self.tokens {
            RestoredTokens::Keep => Vec::new(),
            RestoredTokens::Revoke => vec![
                sql!(
                    "update tokens set revoked_at = $at where revoked_at is null",
                    [at = self.event.at]
                ),
                sql!("delete from sessions"),
                sql!("delete from codes"),
            ],
        };
        // A deletion may have been cancelled after the backup, so the full delay begins again.
        statements.push(sql!(
            "update accounts set delete_at = $expiry where delete_at < $expiry",
            [expiry = expiry_after(self.event.at, DELETION_DELAY)]
        ));
        // A backup contains no deliveries.
        statements.push(sql!(
            r"
                update receivers
                set waiting = 0, due_at = null, claim = null, lease_until = null
                where due_at is not null
            "
        ));
        statements.push(EventSource::without_subject().insert_statement(self.event));
        statements
    }
}
