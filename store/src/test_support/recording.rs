//! Records a store's statements, and runs recorded ones. A test runs the previous release's
//! statements on the schema of this one.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::observed::Observer;
use crate::engine::{Batch, Rows, Statement, Value};
use crate::error::StoreError;
use crate::store::Store;

/// One statement, its parameters and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStatement {
    /// The SQL with numbered parameters.
    pub sql: String,
    /// The parameters: strings, integers and nulls.
    pub values: Vec<Json>,
    /// The rows that it returned.
    pub rows: Vec<Vec<Json>>,
}

/// A read or a transaction that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedBatch {
    /// A read-only statement.
    Read(RecordedStatement),
    /// Statements in one transaction.
    Write(Vec<RecordedStatement>),
}

/// Writes statements to a file.
struct Recorder(Mutex<File>);

impl Observer for Recorder {
    fn on_read(&self, statement: &Statement, rows: &Rows) {
        self.record(&RecordedBatch::Read(to_recorded_statement(statement, rows)));
    }

    fn on_write(&self, statements: &[Statement], rows: &[Rows]) {
        let statements = statements
            .iter()
            .zip(rows)
            .map(|(statement, rows)| to_recorded_statement(statement, rows));
        self.record(&RecordedBatch::Write(statements.collect()));
    }
}

impl Recorder {
    fn record(&self, batch: &RecordedBatch) {
        let line = serde_json::to_string(batch).expect("a batch is serializable") + "\n";
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).expect("the file is writable");
    }
}

fn to_recorded_statement(statement: &Statement, rows: &Rows) -> RecordedStatement {
    RecordedStatement {
        sql: statement.sql.to_owned(),
        values: statement.values.iter().map(to_json).collect(),
        rows: rows_to_json(rows),
    }
}

fn rows_to_json(rows: &Rows) -> Vec<Vec<Json>> {
    rows.iter().map(|row| row.values().iter().map(to_json).collect()).collect()
}

impl Store {
    /// Returns a store that appends every successful batch to `file`, one JSON document per line.
    pub fn with_statement_recorder(self, file: File) -> Self {
        self.observe(Recorder(Mutex::new(file)))
    }

    /// Runs a recorded batch and returns it with the rows of this run.
    pub async fn run_recorded(&self, batch: &RecordedBatch) -> Result<RecordedBatch, StoreError> {
        let to_statement = |recorded: &RecordedStatement| Statement {
            // Leaked, because the SQL of statements is static.
            sql: Box::leak(recorded.sql.clone().into_boxed_str()),
            values: recorded.values.iter().map(from_json).collect(),
            // Each changed row of such a statement was recorded as a row without values.
            counts_changes: recorded.rows.iter().any(Vec::is_empty),
        };
        Ok(match batch {
            RecordedBatch::Read(recorded) => {
                let rows = self.engine.read(to_statement(recorded)).await?;
                RecordedBatch::Read(with_rows(recorded, &rows))
            }
            RecordedBatch::Write(recorded) => {
                let statements = recorded.iter().map(to_statement).collect();
                let rows = self.engine.write(Batch { statements, ..Batch::default() }).await?;
                let statements = recorded.iter().zip(&rows);
                let with_new_rows = statements.map(|(statement, rows)| with_rows(statement, rows));
                RecordedBatch::Write(with_new_rows.collect())
            }
        })
    }
}

fn with_rows(statement: &RecordedStatement, rows: &Rows) -> RecordedStatement {
    RecordedStatement { rows: rows_to_json(rows), ..statement.clone() }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Text(text) => Json::from(text.as_str()),
        Value::Integer(integer) => Json::from(*integer),
    }
}

fn from_json(value: &Json) -> Value {
    match (value.as_i64(), value.as_str()) {
        (Some(integer), _) => Value::Integer(integer),
        (_, Some(text)) => Value::from(text),
        _ => Value::Null,
    }
}
