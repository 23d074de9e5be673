//! A simulated next release: the migrations of this release and one more, which adds a column to
//! each table, a new table and indexes.

use std::sync::LazyLock;

use jiff::Timestamp;

use super::{TestDatabase, options};
use crate::engine::migrations::{Migration, Migrations};
use crate::engine::options::Options;
use crate::store::Store;

static NEXT_MIGRATIONS: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let Migrations(migrations) = Migrations::default();
    let newest = migrations.last().unwrap();
    let tables = migrations.iter().flat_map(|migration| created_tables(migration.sqlite));
    let add_column =
        |table| format!("alter table {table} add column added text not null default 'next';");
    let mut sql = tables.map(add_column).collect::<Vec<_>>().concat();
    sql += "create table notes (id bigint not null primary key, text text not null);";
    sql += "create index notes_by_text on notes (text);";
    sql += "create index accounts_by_added on accounts (added) where disabled_at is null;";
    let sql: &'static str = sql.leak();
    let number = newest.number + 1;
    let compatible_from = newest.number;
    let next_migration = Migration { number, compatible_from, sqlite: sql, postgres: sql };
    [migrations, &[next_migration]].concat()
});

/// Returns the tables that a migration creates.
fn created_tables(sql: &str) -> impl Iterator<Item = &str> {
    let names = sql.lines().filter_map(|line| line.strip_prefix("create table "));
    names.filter_map(|line| line.split(' ').next())
}

/// Returns the options of the next release.
pub fn next_release_options() -> Options {
    Options { migrations: Migrations(&NEXT_MIGRATIONS), ..options() }
}

/// Opens a database as the next release, which migrates it.
pub async fn open_as_next_release(database: &TestDatabase) -> Store {
    Store::open(&database.database, &next_release_options(), Timestamp::UNIX_EPOCH).await.unwrap()
}
