//! An engine whose statements are observed by a test.

use std::sync::{Arc, Mutex};

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::supervisor::TaskStatus;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::engine::{Batch, BatchResult, CheckedEngine, Engine, Rows, Statement, Value};
use crate::error::StoreError;
use crate::store::Store;

/// A statement that succeeded and was not rolled back.
#[derive(Debug, Clone)]
pub struct RecordedStatement {
    pub sql: String,
    pub numbered_sql: &'static str,
}

impl RecordedStatement {
    fn new(statement: &Statement) -> Self {
        let mut sql = statement.sql.to_owned();
        for (index, value) in statement.values.iter().enumerate().rev() {
            let literal = match value {
                Value::Null => "null".to_owned(),
                Value::Text(text) => format!("'{text}'"),
                Value::Integer(integer) => integer.to_string(),
            };
            sql = sql.replace(&format!("${}", index + 1), &literal);
        }
        Self { sql, numbered_sql: statement.sql }
    }
}

type Hook = Box<dyn Fn(RecordedStatement) + Send + Sync>;

struct ObservedEngine {
    engine: Box<dyn Engine>,
    hook: Hook,
}

impl Engine for ObservedEngine {
    fn read(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        let read = self.engine.read(statement.clone());
        read.inspect(move |outcome| {
            if outcome.is_ok() {
                (self.hook)(RecordedStatement::new(&statement));
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
                    for statement in &observed_batch.statements {
                        (self.hook)(RecordedStatement::new(statement));
                    }
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

impl Store {
    /// Calls a function with each subsequent statement that succeeds, before its rows are returned,
    /// so that a test can pause it. Panics if the store has been cloned.
    pub fn with_statement_hook(
        self,
        hook: impl Fn(RecordedStatement) + Send + Sync + 'static,
    ) -> Self {
        let CheckedEngine { engine, .. } = Arc::into_inner(self.engine).unwrap();
        let engine = CheckedEngine::new(Box::new(ObservedEngine { engine, hook: Box::new(hook) }));
        Self { engine: Arc::new(engine), ..self }
    }

    pub fn with_statement_recorder(self) -> (Self, Arc<Mutex<Vec<RecordedStatement>>>) {
        let recording = Arc::new(Mutex::new(Vec::new()));
        let statements = Arc::clone(&recording);
        (self.with_statement_hook(move |next| statements.lock().unwrap().push(next)), recording)
    }
}
