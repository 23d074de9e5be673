//! Changes to the database: statements that are written in one transaction with their audit events.

use std::ops::Range;

use belfry_core::audit::{NewAuditEvent, NewAuditEvents};

use crate::cache::Invalidation;
use crate::engine::{Batch, Grouping, Rows, Statement};
use crate::error::StoreError;
use crate::store::event_source::{EventSource, log_events};
use crate::store::{Store, WriteOutcome};

/// A change, which only [`Store::write`] executes.
pub(crate) struct Change<'a> {
    batch: Batch,
    /// The events, in the order of the statements that insert them.
    events: Vec<&'a NewAuditEvent>,
    /// The indexes of the statements in the batch that insert the events.
    event_statements: Range<usize>,
}

impl<'a> Change<'a> {
    /// Creates a change that begins with a batch and then inserts the events for each row of the
    /// source. A change without effect has no source rows, and so no events. Statements that insert
    /// the source's rows must be in the batch; those that delete them must be added with
    /// [`Change::and`].
    pub(crate) fn new(
        events: &'a NewAuditEvents,
        batch: impl Into<Batch>,
        source: EventSource,
    ) -> Self {
        let batch = batch.into();
        let start = batch.statements.len();
        Self { batch, events: Vec::new(), event_statements: start..start }
            .and_events(events, source)
    }

    /// Creates a change without events, for maintenance and for changes that concern neither
    /// accounts nor access.
    pub(crate) fn unaudited(batch: impl Into<Batch>) -> Change<'static> {
        Change { batch: batch.into(), events: Vec::new(), event_statements: 0..0 }
    }

    /// Inserts events for each row of one more source. Must be called before [`Change::and`].
    pub(crate) fn and_events(mut self, events: &'a NewAuditEvents, source: EventSource) -> Self {
        self.events.extend(events.as_slice());
        self.batch
            .statements
            .extend(events.as_slice().iter().map(move |event| source.insert_statement(event)));
        self.event_statements.end = self.batch.statements.len();
        self
    }

    pub(crate) fn and(mut self, statement: Statement) -> Self {
        self.batch.statements.push(statement);
        self
    }

    /// Adds cache entries that the change makes stale.
    pub(crate) fn invalidating(mut self, invalidation: Invalidation) -> Self {
        self.batch.invalidations.push(invalidation);
        self
    }

    /// Allows PostgreSQL to write the change in one transaction with others. A change with
    /// `OnMissingRows::RollBack` must have one statement.
    pub(crate) fn with_grouping(mut self, grouping: Grouping) -> Self {
        self.batch.grouping = grouping;
        self
    }
}

impl Store {
    /// Writes a change, logs its audit events, and returns the rows of its other statements.
    pub(crate) async fn write(&self, change: Change<'_>) -> Result<Vec<Rows>, StoreError> {
        let Change { batch, events, event_statements } = change;
        let mut rows = self.engine.write(batch).await?;
        if !event_statements.is_empty() {
            log_events(&events, rows.drain(event_statements))?;
        }
        Ok(rows)
    }

    /// Writes a change and returns the rows of each of its `N` other statements.
    pub(crate) async fn write_rows<const N: usize>(
        &self,
        change: Change<'_>,
    ) -> Result<[Rows; N], StoreError> {
        let rows = self.write(change).await?;
        rows.try_into().map_err(|_| StoreError::Unreadable("batch"))
    }

    /// Writes a change whose first statement, apart from those that insert events, writes one row
    /// and returns its key. Returns `NotFound` if it returns none.
    pub(crate) async fn update(&self, change: Change<'_>) -> Result<WriteOutcome, StoreError> {
        let first_rows = self.write(change).await?.into_iter().next();
        Ok(WriteOutcome::from_rows(&first_rows.unwrap_or_default()))
    }
}
