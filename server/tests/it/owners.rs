//! Requests whose account or app is deleted before their write.

use std::time::{Duration, Instant};

use belfry::config::Config;
use belfry_store::Database;

use crate::support::service::metric_value;
use crate::support::{Service, TestDatabase};

/// Simulates a command in another process: its transaction deletes the owners while the writes
/// of two requests wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_owner_is_deleted_before_its_write_is_rejected_on_sqlite() {
    let database = TestDatabase::sqlite();
    let Database::Sqlite(path) = database.database.clone() else { panic!("not SQLite") };
    let service = Service::start_on(database, Config::default()).await;
    let alice = service.user_client("alice").await;
    let client = service.register_client().await;
    client.obtain_app_token("read").await;
    assert_eq!(alice.get("/_matrix/client/v3/pushrules/").await.status, 200);

    let writes_before = write_count(&service).await;
    let command = rusqlite::Connection::open(path).unwrap();
    command.execute_batch("begin immediate; delete from accounts; delete from apps").unwrap();
    let put_rule = tokio::spawn(async move {
        let request_line = "PUT /_matrix/client/v3/pushrules/global/room/!a:x";
        alice.send(request_line, r#"{"actions":[]}"#).await.status_and_errcode()
    });
    let issue_token = tokio::spawn(async move {
        let response = client.post("/oauth/token", &[("grant_type", "client_credentials")]).await;
        (response.status, response.json()["error"].clone())
    });
    // Both requests have read their owner, which the command's transaction does not block.
    let start = Instant::now();
    while write_count(&service).await < writes_before + 2.0 {
        assert!(start.elapsed() < Duration::from_mins(1), "a write does not wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    command.execute_batch("commit").unwrap();

    assert_eq!(put_rule.await.unwrap(), (403, "M_USER_DEACTIVATED".to_owned()));
    assert_eq!(issue_token.await.unwrap(), (401, "invalid_client".into()));
}

/// Returns the number of writes so far, including waiting ones.
async fn write_count(service: &Service) -> f64 {
    let metrics = service.metrics().await;
    metric_value(&metrics, "belfry_sqlite_commit_writes_sum")
        + metric_value(&metrics, r#"belfry_sqlite_queue_length{operation="write"}"#)
}
