//! Statements with the values of their parameters, and batches of them.

use belfry_core::secret::LookupKey;

use super::{Rows, Value};
use crate::cache::Invalidation;

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) statements: Vec<Statement>,
    pub(crate) invalidations: Vec<Invalidation>,
    pub(crate) on_missing_rows: OnMissingRows,
    pub(crate) grouping: Grouping,
}

/// Policy for a batch in which a statement returns no rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnMissingRows {
    #[default]
    Commit,
    /// The batch is rolled back, and the rows of its statements are still returned.
    RollBack,
}

/// Permission for PostgreSQL to write a batch in one transaction with batches of other callers. The
/// rows that it changes stay locked until that transaction ends. Within a transaction the batches
/// are sorted by this value, so that all transactions lock rows in the same order. (SQLite has one
/// writer, which always writes batches together.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grouping {
    #[default]
    Alone,
    /// The batch only inserts rows with new keys.
    NewRows,
    /// The batch changes this code, and otherwise only inserts rows with new keys.
    Code(LookupKey),
    /// The batch changes one ruleset of this account.
    Ruleset(i64),
}

impl Batch {
    /// Returns whether the batch is rolled back, given the rows that its statements returned.
    pub(crate) fn should_roll_back(&self, rows: &[Rows]) -> bool {
        self.on_missing_rows == OnMissingRows::RollBack && rows.iter().any(Rows::is_empty)
    }
}

impl From<Statement> for Batch {
    fn from(statement: Statement) -> Self {
        vec![statement].into()
    }
}

impl<const N: usize> From<[Statement; N]> for Batch {
    fn from(statements: [Statement; N]) -> Self {
        Vec::from(statements).into()
    }
}

impl From<Vec<Statement>> for Batch {
    fn from(statements: Vec<Statement>) -> Self {
        Self { statements, ..Self::default() }
    }
}

/// One SQL statement and the values of its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value>,
    /// True if it returns an empty row for each row that it changes.
    pub(crate) counts_changes: bool,
}

impl Statement {
    /// Creates a statement with the values of `$1`, `$2` and so on.
    pub(crate) fn new(sql: &'static str, values: Vec<Value>) -> Self {
        Self { sql, values, counts_changes: false }
    }

    /// Makes the statement return an empty row for each row that it changes. This replaces
    /// `returning`, for which SQLite creates two temporary tables: a sixth of the cost of issuing a
    /// token.
    pub(crate) fn counting_changes(mut self) -> Self {
        self.counts_changes = true;
        self
    }

    pub(super) fn has_nul(&self) -> bool {
        let contains_nul =
            |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
        self.values.iter().any(contains_nul)
    }
}
