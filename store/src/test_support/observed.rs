//! An engine whose statements are observed by a test.

use std::sync::Arc;

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::engine::{Batch, BatchResult, CheckedEngine, Engine, Rows, Statement};
use crate::error::StoreError;
use crate::store::Store;

/// Receives the statements that succeeded and were not rolled back, with their rows.
pub(super) trait Observer: Send + Sync + 'static {
    fn on_read(&self, statement: &Statement, rows: &Rows);
    fn on_write(&self, statements: &[Statement], rows: &[Rows]);
}

struct ObservedEngine<O> {
    engine: Box<dyn Engine>,
    observer: O,
}

impl<O: Observer> Engine for ObservedEngine<O> {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let read = self.engine.read(statement.clone());
        read.inspect(move |outcome| {
            if let Ok(rows) = outcome {
                self.observer.on_read(&statement, rows);
            }
        })
        .boxed()
    }

    fn write(&self, batch: Batch) -> BoxFuture<'_, BatchResult> {
        let statements = batch.statements.clone();
        let on_missing_rows = batch.on_missing_rows;
        let observed_batch = Batch { statements, on_missing_rows, ..Batch::default() };
        let write = self.engine.write(batch);
        write
            .inspect(move |outcome| {
                if let Ok(rows) = outcome
                    && !observed_batch.should_roll_back(rows)
                {
                    self.observer.on_write(&observed_batch.statements, rows);
                }
            })
            .boxed()
    }

    fn connection_error(&self) -> Option<String> {
        self.engine.connection_error()
    }

    fn task_status(&self) -> Option<Arc<TaskStatus>> {
        self.engine.task_status()
    }

    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn write_metrics(&self, out: &mut Exposition) {
        self.engine.write_metrics(out);
    }
}

/// Calls a function with the SQL of each successful read.
struct ReadHook<F>(F);

impl<F: Fn(&str) + Send + Sync + 'static> Observer for ReadHook<F> {
    fn on_read(&self, statement: &Statement, _: &Rows) {
        self.0(statement.sql);
    }

    fn on_write(&self, _: &[Statement], _: &[Rows]) {}
}

impl Store {
    /// Observes subsequent statements. Panics if the store has been cloned.
    pub(super) fn observe(self, observer: impl Observer) -> Self {
        let CheckedEngine { engine, .. } = Arc::into_inner(self.engine).unwrap();
        let engine = CheckedEngine::new(Box::new(ObservedEngine { engine, observer }));
        Self { engine: Arc::new(engine), ..self }
    }

    /// Calls a function with the SQL of each subsequent successful read, before its rows are
    /// returned, so that a test can pause it.
    pub fn with_read_hook(self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.observe(ReadHook(hook))
    }
}
