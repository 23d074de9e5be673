//! Requests whose account or app is deleted before their write.

use std::time::Duration;

use belfry::config::Config;
use belfry_store::Database;

use crate::support::{Service, TestDatabase};

/// A command of another process deletes the owner, while the write of a request waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_owner_is_deleted_before_its_write_is_rejected_on_sqlite() {
    let database = TestDatabase::sqlite();
    let Database::Sqlite(path) = database.database.clone() else { panic!("not SQLite") };
    let service = Service::on(database, Config::default()).await;
    let (alice, client) = (service.user("alice").await, service.client().await);
    client.app_token("read").await;
    assert_eq!(alice.get("/_matrix/client/v3/pushrules/").await.status, 200);

    let command = rusqlite::Connection::open(path).unwrap();
    command.execute_batch("begin immediate; delete from accounts; delete from apps").unwrap();
    let put = tokio::spawn(async move {
        let path = "PUT /_matrix/client/v3/pushrules/global/room/!a:x";
        alice.send(path, r#"{"actions":[]}"#).await.errcode()
    });
    let issue = tokio::spawn(async move {
        let response = client.post("/oauth/token", &[("grant_type", "client_credentials")]).await;
        (response.status, response.json()["error"].clone())
    });
    // Until both have read their owner, which the transaction of the command does not prevent.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!put.is_finished() && !issue.is_finished());
    command.execute_batch("commit").unwrap();

    assert_eq!(put.await.unwrap(), (403, "M_USER_DEACTIVATED".to_owned()));
    assert_eq!(issue.await.unwrap(), (401, "invalid_client".into()));
}
