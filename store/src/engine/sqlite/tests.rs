use rusqlite::StatementStatus;

use super::*;
use crate::engine::{CheckedEngine, sql};
use crate::oauth::tokens::SELECT_TOKEN;

#[tokio::test]
async fn a_database_without_its_writer_thread_is_unavailable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("belfry.db");
    let cache = Arc::new(Cache::new(1 << 20, true));
    let mut sqlite =
        Sqlite::open(&path, &Options::default(), cache, Timestamp::UNIX_EPOCH).unwrap();
    // The thread ends when its queue is closed. The new queue has no receiver.
    sqlite.queues.as_mut().unwrap().writes = Some(mpsc::channel().0);
    sqlite.writer.take().unwrap().join().unwrap();
    let engine = CheckedEngine::new(Box::new(sqlite));

    let thread_stopped = StoreError::Unavailable("the database thread has stopped".to_owned());
    let write = sql!("insert into locks (name) values ('test')");
    assert_eq!(engine.write(write.into()).await.unwrap_err(), thread_stopped);
    assert_eq!(engine.ping().await, Err(thread_stopped));
    assert_eq!(engine.metrics.writes.temporary_failures.get(), 2);
    assert_eq!(engine.read(sql!("select 1")).await.unwrap().len(), 1, "reads continue");
}

#[test]
fn a_statement_is_prepared_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("belfry.db");
    let cache = Arc::new(Cache::new(1 << 20, true));
    let _sqlite = Sqlite::open(&path, &Options::default(), cache, Timestamp::UNIX_EPOCH).unwrap();
    for connection in [open_reader(&path).unwrap(), open_writer(&path).unwrap()] {
        for lookup in ["one", "two", "three"] {
            assert!(run_statement(&connection, &sql!(SELECT_TOKEN, [lookup])).unwrap().is_empty());
        }
        let statement = connection.prepare_cached(sql!(SELECT_TOKEN, [lookup = ""]).sql).unwrap();
        assert_eq!(statement.get_status(StatementStatus::Run), 3);
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
