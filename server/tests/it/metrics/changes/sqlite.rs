//! A server with SQLite: requests, limits, sign-ins, evaluations, the cache and the database.

use belfry::app::StateParts;
use belfry::config::Config;
use belfry_core::secret::Secret;
use belfry_limits::Engine;
use belfry_limits::memory::MemoryCounters;
use belfry_store::Database;
use futures_util::future::join;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Observer, Scrape, Watch};
use crate::connections::Server;
use crate::evaluation::work_budget::{expensive_event, expensive_rule};
use crate::evaluation::{APPLICATION_SERVICE_SETTINGS, EVALUATE, EXPLAIN, members};
use crate::support::service::unlimited_config;
use crate::support::{Service, TestClient, TestDatabase};

const SETTINGS: &str = "[limits]\nrows.media = { requests = 1 }\n";

/// Uses each part of a server while the observer records metrics.
pub(super) async fn observe_events(observer: &mut Observer) {
    let mut settings: Config =
        toml::from_str(&format!("{APPLICATION_SERVICE_SETTINGS}{SETTINGS}")).unwrap();
    settings.http.max_connections_per_address = 2;
    let limit_to_one_key = |state: &mut StateParts| {
        state.limits.engine = Engine::new(MemoryCounters::new(1), None);
    };
    let server = Server::start(Service::start_with_state(settings, limit_to_one_key).await).await;
    let service = &server.service;
    let mut watch = observer.watch();
    watch.observe(&service.metrics().await);

    let mut connections = [server.connect().await, server.connect().await];
    for connection in &mut connections {
        get_health(connection).await;
    }
    assert_eq!(server.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await, "");
    watch.observe(&service.metrics().await);

    let alice = service.user_client("alice").await;
    for _ in 0..3 {
        alice.get_rules("").await;
        alice.send("POST /api/v1/media", "").await;
    }
    alice.put_rule_ok("global/override/slow", &expensive_rule()).await;
    read_unknown_scopes(service).await;
    sign_in(service).await;
    evaluate_and_explain(service).await;
    watch.observe(&service.metrics().await);

    let slot = service.state.evaluator.pool.enter().unwrap();
    watch.observe(&service.metrics().await);
    drop(slot);
    // The hash is in the queue from its first poll on, until a thread has computed it.
    let hash = service.state.passwords.hash(Secret::new("correct horse"));
    let (_, metrics) = join(hash, service.metrics()).await;
    watch.observe(&metrics);
    delete_expired_rows(service, &mut watch).await;
}

async fn get_health(connection: &mut TcpStream) {
    connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    assert!(connection.read(&mut [0; 1024]).await.unwrap() > 0);
}

/// Reads a token with a scope of a newer release.
async fn read_unknown_scopes(service: &Service) {
    let bob = service.user_client("bob").await;
    service.execute_sql("update tokens set scopes = scopes || ' bells:ring'");
    bob.get_rules("").await;
}

async fn sign_in(service: &Service) {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let wrong_fields = [("username", "alice"), ("password", "wrong")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &wrong_fields).await.status, 401);
    browser.sign_in(&page, "alice").await;
    let app = service.register_client().await;
    app.obtain_app_token("read").await;
}

async fn evaluate_and_explain(service: &Service) {
    let alice = service.user_client("alice").await;
    let explain_body = json!({ "event": expensive_event() });
    assert_eq!(alice.send(EXPLAIN, explain_body.to_string()).await.status, 200);
    let application_service = service.anonymous_client().with_token("token of product");
    let evaluate_body = json!({ "event": expensive_event(), "members": members(&["alice"]) });
    assert_eq!(application_service.send(EVALUATE, evaluate_body.to_string()).await.status, 200);
}

/// Sweeps until an app's authorization request has been deleted.
async fn delete_expired_rows(service: &Service, watch: &mut Watch<'_>) {
    let app = service.register_client().await;
    service.browser().get(&app.authorize_path(&[])).await;
    watch.observe(&service.metrics().await);
    for _ in 0..100 {
        service.clock.advance(5 * 60);
        service.state.sweep().await;
    }
    let labels = [("table", "requests")];
    let deleted_requests =
        watch.observe(&service.metrics().await).value("belfry_deleted_rows_total", &labels);
    assert_eq!(deleted_requests, Some(1.0));
}

/// Blocks the writer thread and then makes reads fail, while the observer records metrics.
pub(super) async fn observe_failures(observer: &mut Observer) {
    let database = TestDatabase::sqlite();
    let Database::Sqlite(path) = database.database.clone() else { panic!("not SQLite") };
    let service = Service::start_on(database, unlimited_config()).await;
    let users = [service.user_client("alice").await, service.user_client("bob").await];
    let mut watch = observer.watch();
    watch.observe(&service.metrics().await);

    let other_connection = rusqlite::Connection::open(path).unwrap();
    other_connection.execute_batch("begin immediate").unwrap();
    let rule = json!({ "actions": [] });
    let spawn_write = |user: &TestClient| {
        let user = user.clone();
        let rule = rule.clone();
        tokio::spawn(async move { user.put_rule_ok("global/room/!a:b", &rule).await })
    };
    let scrape = async || service.metrics().await;
    let commit_count = |scrape: &Scrape| scrape.value("belfry_sqlite_commit_writes_count", &[]);
    let count_before = commit_count(&Scrape::parse(&scrape().await));
    // One write waits for the other process, the next one for the writer thread.
    let first_write = spawn_write(&users[0]);
    watch.observe_until("a commit", scrape, |scrape| commit_count(scrape) > count_before).await;
    let second_write = spawn_write(&users[1]);
    let queue_labels = [("operation", "write")];
    let is_queued =
        |scrape: &Scrape| scrape.value("belfry_sqlite_queue_length", &queue_labels) == Some(1.0);
    watch.observe_until("a queued write", scrape, is_queued).await;
    other_connection.execute_batch("rollback").unwrap();
    first_write.await.unwrap();
    second_write.await.unwrap();
    let scrape = watch.observe(&service.metrics().await);
    assert_eq!(scrape.value("belfry_sqlite_queue_length", &queue_labels), Some(0.0));

    other_connection.execute_batch("drop table rulesets").unwrap();
    assert_eq!(
        service.user_client("carol").await.get(&crate::rules::pushrules_path("")).await.status,
        500
    );
    let failure_labels = [("engine", "sqlite"), ("operation", "read"), ("reason", "failed")];
    let scrape = watch.observe(&service.metrics().await);
    assert!(scrape.value("belfry_store_failures_total", &failure_labels) > Some(0.0));
}
