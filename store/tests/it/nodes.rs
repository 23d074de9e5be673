//! Nodes that share a PostgreSQL database: cache invalidation, timeouts and migration.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use belfry_core::account::Role;
use belfry_store::test::{self, PostgresProxy, TestDatabase, any_events, options};
use belfry_store::{Account, NewToken, Options, Store, StoreError};

use super::cases::rulesets::{save_rule, with_rule};
use super::cases::{account, add_alice_and_app, hashed_secret, timestamp, token};

/// Waits until a condition holds. The timeout is far longer than an invalidation takes, because the
/// machine may be busy.
pub(super) async fn wait_until(expected: &str, mut condition: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < Duration::from_mins(1), "timeout: {expected}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Opens two nodes and waits until their caches are enabled; `None` if PostgreSQL is missing.
pub(super) async fn open_two_nodes() -> Option<(TestDatabase, Store, Store)> {
    let database = TestDatabase::postgres().await?;
    let (node, other_node) = tokio::join!(database.open(), database.open());
    wait_until("both caches are enabled", async || {
        node.is_cache_enabled() && other_node.is_cache_enabled()
    })
    .await;
    Some((database, node, other_node))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_on_one_node_is_revoked_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let is_revoked = async |store: &Store| {
        store.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at.is_some()
    };
    // Fills the cache.
    assert!(!is_revoked(&other_node).await);

    node.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1)).await.unwrap();

    assert!(is_revoked(&node).await, "the node that revoked it rejects it immediately");
    wait_until("the other node invalidated its cache", async || is_revoked(&other_node).await)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_deleted_beyond_the_maximum_is_unknown_on_all_nodes() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_app_token(&token("a", None)).await.unwrap();
    let is_known = async |store: &Store| store.token(hashed_secret("a")).await.unwrap().is_some();
    // Fills both caches.
    assert!(is_known(&node).await && is_known(&other_node).await);

    other_node
        .add_app_token(&NewToken { created_at: timestamp(1_800_000_000), ..token("b", None) })
        .await
        .unwrap();
    node.delete_excess(1, timestamp(1_800_000_000)).await.unwrap();

    assert!(!is_known(&node).await, "the node that deleted it rejects it immediately");
    wait_until("the other node invalidated its cache", async || !is_known(&other_node).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_revoked_on_one_node_is_rejected_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    for (secret, account) in [("a", Some(7)), ("b", Some(7)), ("other account", Some(8))] {
        node.add_token(&any_events(), &token(secret, account)).await.unwrap();
    }
    let is_valid = async |secret| {
        let token = other_node.token(hashed_secret(secret)).await.unwrap().unwrap();
        token.revoked_at.is_none()
    };
    assert!(is_valid("a").await && is_valid("b").await && is_valid("other account").await);

    node.revoke_access(&any_events(), 7, 1, timestamp(1)).await.unwrap();

    wait_until("the other node invalidated its cache", async || {
        !is_valid("a").await && !is_valid("b").await
    })
    .await;
    assert!(is_valid("other account").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_secret_rotated_on_one_node_is_rotated_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    let accepts = async |secret| {
        let app = other_node.app_by_client_id("client").await.unwrap().unwrap();
        app.secrets.accepts(hashed_secret(secret), timestamp(1))
    };
    // Fills the cache.
    assert!(accepts("client secret").await);
    node.rotate_app_secret(&any_events(), 1, hashed_secret("new"), Some(timestamp(2)))
        .await
        .unwrap();
    wait_until("the other node invalidated its cache", async || accepts("new").await).await;
    assert!(accepts("client secret").await, "the previous secret is accepted until it expires");
    node.rotate_app_secret(&any_events(), 1, hashed_secret("newer"), None).await.unwrap();
    wait_until("the other node invalidated its cache", async || accepts("newer").await).await;
    assert!(!accepts("client secret").await && !accepts("new").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_written_on_one_node_are_read_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    assert!(other_node.rulesets(7, timestamp(5)).await.unwrap().is_empty());
    assert!(save_rule(&node, "global", Some("rule")).await);
    wait_until("the other node invalidated its cache", async || {
        !other_node.rulesets(7, timestamp(5)).await.unwrap().is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_disabled_on_one_node_is_disabled_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let is_valid = async || {
        other_node
            .token(hashed_secret("t"))
            .await
            .unwrap()
            .unwrap()
            .check_validity(timestamp(1))
            .is_ok()
    };
    assert!(is_valid().await);
    node.set_account_disabled_at(&any_events(), 7, Some(timestamp(1))).await.unwrap();
    wait_until("the other node invalidated its cache", async || !is_valid().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_demoted_on_one_node_is_a_user_on_the_other() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    for (id, name) in [(8, "root"), (9, "spare")] {
        let admin = Account { role: Role::Admin, ..account(id, name) };
        node.add_account(&any_events(), &admin).await.unwrap();
    }
    node.add_token(&any_events(), &token("t", Some(8))).await.unwrap();
    let role = async || {
        let token = other_node.token(hashed_secret("t")).await.unwrap().unwrap();
        token.account.as_ref().unwrap().role
    };
    assert_eq!(role().await, Role::Admin);
    node.set_account_role(&any_events(), 8, Role::User).await.unwrap();
    wait_until("the other node invalidated its cache", async || role().await == Role::User).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_that_an_application_service_acts_for_is_cached() {
    let Some((database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    let is_enabled = async || {
        let alice = other_node.token_account("alice").await.unwrap().unwrap();
        alice.disabled_at.is_none()
    };
    // Fills the cache.
    assert!(is_enabled().await);

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table accounts in access exclusive mode").await.unwrap();
    assert!(is_enabled().await, "served from the cache while the table is locked");
    lock.rollback().await.unwrap();

    node.set_account_disabled_at(&any_events(), 7, Some(timestamp(1))).await.unwrap();
    wait_until("the other node invalidated its cache", async || !is_enabled().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_invalidate_its_cache_for_its_own_notification() {
    let Some((database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let is_revoked =
        async || node.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!is_revoked().await);
    assert!(save_rule(&node, "global", Some("rule")).await);
    // Notifications arrive in the order of commits, so this one arrives after the node's own.
    other_node
        .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1))
        .await
        .unwrap();
    wait_until("the node received the other node's notification", is_revoked).await;

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table rulesets in access exclusive mode").await.unwrap();
    assert!(
        !node.rulesets(7, timestamp(5)).await.unwrap().is_empty(),
        "served from the cache while the table is locked"
    );
    lock.rollback().await.unwrap();
}

/// The write times out, the node reads the old value into its cache, and then the request arrives
/// at the server and is committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_committed_after_its_timeout_invalidates_the_cache() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let proxy = PostgresProxy::start(&database, false).await;
    // Long enough for the other writes on a busy machine.
    let short_timeout = Options { timeout: Duration::from_secs(3), ..options() };
    let node = Store::open(&proxy.database, &short_timeout, timestamp(0)).await.unwrap();
    wait_until("the cache is enabled", async || node.is_cache_enabled()).await;
    add_alice_and_app(&node).await;
    assert!(save_rule(&node, "global", Some("first")).await);

    let base = node.rulesets_for_update(7, timestamp(5)).await.unwrap();
    // The whole transaction is delayed, because PostgreSQL would end one that waits for its next
    // statement.
    proxy.faults.delayed_text.send_replace("begin");
    let outcome = node.save_document(&base, with_rule(&base, "global", "second")).await;
    assert!(outcome.is_err(), "the write timed out");
    let rule_count = async || node.rulesets(7, timestamp(5)).await.unwrap().rule_count();
    wait_until("the cache is enabled", async || node.is_cache_enabled()).await;
    // Fills the cache.
    assert_eq!(rule_count().await, 1);
    proxy.faults.delayed_text.send_replace("");

    wait_until("the late write invalidated the cache", async || rule_count().await == 2).await;
}

/// A pooler may respond to queries and drop notifications.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_notifications_are_dropped_bypasses_its_cache() {
    let Some((database, node, _other)) = open_two_nodes().await else { return };
    let proxy = PostgresProxy::start(&database, false).await;
    let proxied_node = Store::open(&proxy.database, &options(), timestamp(0)).await.unwrap();
    wait_until("the cache is enabled", async || proxied_node.is_cache_enabled()).await;
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let is_revoked = async || {
        proxied_node.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at.is_some()
    };
    // Fills the cache.
    assert!(!is_revoked().await);

    proxy.faults.drops_notifications.store(true, Ordering::SeqCst);
    node.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1)).await.unwrap();
    wait_until("the cache is disabled", async || !proxied_node.is_cache_enabled()).await;
    assert!(is_revoked().await, "the revocation is seen as soon as the cache is disabled");

    proxy.faults.drops_notifications.store(false, Ordering::SeqCst);
    wait_until("the cache is enabled again", async || proxied_node.is_cache_enabled()).await;
    assert!(is_revoked().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_use_its_cache_before_its_first_notification_returns() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let proxy = PostgresProxy::start(&database, true).await;
    let node = Store::open(&proxy.database, &options(), timestamp(0)).await.unwrap();
    wait_until("several probes were dropped", async || {
        assert!(!node.is_cache_enabled());
        proxy.faults.dropped_notifications.load(Ordering::SeqCst) >= 3
    })
    .await;
    proxy.faults.drops_notifications.store(false, Ordering::SeqCst);
    wait_until("the cache is enabled", async || node.is_cache_enabled()).await;
}

/// A statement that timed out must not continue on the server while the node opens one more
/// connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_table_occupies_no_more_server_processes_than_the_pool_has_connections() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let short_timeout = Options { timeout: Duration::from_millis(300), ..options() };
    let store = Store::open(&database.database, &short_timeout, timestamp(0)).await.unwrap();
    let mut client = connect(&database).await;
    let monitor = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table tokens in access exclusive mode").await.unwrap();

    let requests = futures_util::future::join_all((0..100).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { store.token(hashed_secret(&number.to_string())).await })
    }));
    let mut requests = std::pin::pin!(requests);
    // One connection listens, and one is reserved for probes.
    let max_processes = i64::try_from(short_timeout.connections.get()).unwrap() + 2;
    let process_count_query = "select count(*) from pg_stat_activity \
                 where application_name = 'belfry' and datname = current_database()";
    let outcomes = loop {
        let processes: i64 = monitor.query_one(process_count_query, &[]).await.unwrap().get(0);
        assert!(processes <= max_processes, "{processes} processes");
        if let Some(outcomes) = futures_util::FutureExt::now_or_never(&mut requests) {
            break outcomes;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    for outcome in outcomes {
        assert!(matches!(outcome.unwrap(), Err(StoreError::Unavailable(_))));
    }
    lock.rollback().await.unwrap();
    assert_eq!(store.token(hashed_secret("1")).await, Ok(None), "the pool recovers");
}

/// The server may have become a standby, or an operator may have stopped all writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_postgres_is_not_ready() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let client = connect(&database).await;
    let store = database.open().await;
    store.ping().await.unwrap();
    drop(store);
    let name: String = client.query_one("select current_database()", &[]).await.unwrap().get(0);
    let set_read_only = async |value: &str| {
        let alter = format!("alter database {name} set default_transaction_read_only = {value}");
        client.batch_execute(&format!("set default_transaction_read_only = off; {alter}")).await
    };
    let store = database.open().await;
    set_read_only("on").await.unwrap();
    let terminate_query = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid() and datname = current_database()";
    client.batch_execute(terminate_query).await.unwrap();
    wait_until("the database is read-only", async || {
        let outcome = store.ping().await;
        matches!(outcome, Err(StoreError::Unavailable(reason)) if reason.contains("read-only"))
    })
    .await;
    assert!(store.failures() > 0);
    set_read_only("off").await.unwrap();
    client.batch_execute(terminate_query).await.unwrap();
    wait_until("the database is writable again", async || store.ping().await.is_ok()).await;
}

pub(super) async fn connect(database: &TestDatabase) -> tokio_postgres::Client {
    test::connect_postgres(database.url().unwrap()).await
}

/// Without notifications a node must read from the database, because its cache may be stale.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_disables_its_cache_while_its_listening_connection_is_terminated() {
    let Some((database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert!(other_node.token(hashed_secret("t")).await.unwrap().is_some());

    // Terminates the listening connections repeatedly, so that no node receives notifications.
    let client = connect(&database).await;
    let terminate_query = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid() and datname = current_database() \
               and query like 'listen%'";
    wait_until("the cache is disabled", async || {
        client.batch_execute(terminate_query).await.unwrap();
        !other_node.is_cache_enabled()
    })
    .await;
    wait_until("the cache is enabled again", async || other_node.is_cache_enabled()).await;
    assert!(other_node.token(hashed_secret("t")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrently_started_nodes_migrate_an_empty_database_once() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let (a, b, c, d) =
        tokio::join!(database.open(), database.open(), database.open(), database.open());
    add_alice_and_app(&a).await;
    for node in [b, c, d] {
        assert!(node.account(7).await.unwrap().is_some());
    }
}
