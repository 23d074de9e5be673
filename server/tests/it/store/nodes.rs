//! Cache invalidation between two nodes on one PostgreSQL.

use std::time::{Duration, Instant};

use belfry::store::{Options, Store};

use super::cases::rulesets::{save, with_rule};
use super::cases::{account, at, hashed, token, with_alice};
use crate::support::TestDatabase;
use crate::support::databases::options;

/// Waits until a condition holds. The timeout is far above the promised second, because the machine
/// may be busy.
pub(super) async fn wait_until(expected: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < Duration::from_secs(20), "timeout: {expected}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn two_nodes() -> Option<(TestDatabase, Store, Store)> {
    let database = TestDatabase::postgres().await?;
    let (one, other) = tokio::join!(database.open(), database.open());
    wait_until("both caches are enabled", async || {
        one.is_cache_enabled() && other.is_cache_enabled()
    })
    .await;
    Some((database, one, other))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_on_one_node_is_revoked_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let revoked =
        async |store: &Store| store.token(hashed("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!revoked(&other).await, "and it is cached now");

    one.revoke_token(hashed("t").lookup, at(1)).await.unwrap();

    assert!(revoked(&one).await, "at once on the node that revoked it");
    wait_until("the other node invalidated its cache", async || revoked(&other).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_revoked_on_one_node_ends_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_account(&account(8, "bob")).await.unwrap();
    for (secret, account) in [("a", Some(7)), ("b", Some(7)), ("other account", Some(8))] {
        one.add_token(&token(secret, account)).await.unwrap();
    }
    let is_valid = async |secret| {
        let found = other.token(hashed(secret)).await.unwrap().unwrap();
        found.revoked_at.is_none()
    };
    assert!(is_valid("a").await && is_valid("b").await && is_valid("other account").await);

    one.revoke_access(7, 1, at(1)).await.unwrap();

    wait_until("the other node invalidated its cache", async || {
        !is_valid("a").await && !is_valid("b").await
    })
    .await;
    assert!(is_valid("other account").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_written_on_one_node_are_read_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    assert!(other.rulesets(7).await.unwrap().is_empty());
    assert!(save(&one, "global", Some("rule")).await);
    wait_until("the other node invalidated its cache", async || {
        !other.rulesets(7).await.unwrap().is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_disabled_on_one_node_is_disabled_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let is_valid = async || other.token(hashed("t")).await.unwrap().unwrap().check(at(1)).is_ok();
    assert!(is_valid().await);
    one.set_account_disabled_at(7, Some(at(1))).await.unwrap();
    wait_until("the other node invalidated its cache", async || !is_valid().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_of_an_application_service_request_is_cached() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    let is_enabled = async || {
        let alice = other.token_account("alice").await.unwrap().unwrap();
        alice.disabled_at.is_none()
    };
    assert!(is_enabled().await, "and it is cached now");

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table accounts in access exclusive mode").await.unwrap();
    assert!(is_enabled().await, "although the table is locked");
    lock.rollback().await.unwrap();

    one.set_account_disabled_at(7, Some(at(1))).await.unwrap();
    wait_until("the other node invalidated its cache", async || !is_enabled().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_invalidate_its_cache_for_its_own_notification() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let revoked = async || one.token(hashed("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!revoked().await);
    assert!(save(&one, "global", Some("rule")).await);
    // Notifications arrive in the order of commits, so this one arrives after the node's own.
    other.revoke_token(hashed("t").lookup, at(1)).await.unwrap();
    wait_until("the node received the other's notification", revoked).await;

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table rulesets in access exclusive mode").await.unwrap();
    assert!(!one.rulesets(7).await.unwrap().is_empty(), "although the table is locked");
    lock.rollback().await.unwrap();
}

/// The write times out, the node reads the old value into its cache, and then the commit succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_committed_after_its_timeout_invalidates_the_cache() {
    let Some(database) = TestDatabase::postgres().await else { return };
    // Long enough for the other writes on a busy machine.
    let short_timeout = Options { timeout: Duration::from_secs(3), ..options() };
    let one = Store::open(&database.database, &short_timeout, at(0)).await.unwrap();
    wait_until("the cache is enabled", async || one.is_cache_enabled()).await;
    with_alice(&one).await;
    assert!(save(&one, "global", Some("first")).await);

    // Delays the commit of rules until this test releases a lock.
    let client = connect(&database).await;
    let slow_commit = "create function wait() returns trigger language plpgsql as \
         $$ begin perform pg_advisory_xact_lock(1); return null; end $$; \
         create constraint trigger late after update on rulesets \
         deferrable initially deferred for each row execute function wait(); \
         select pg_advisory_lock(1)";
    client.batch_execute(slow_commit).await.unwrap();
    let read = one.rulesets_for_update(7).await.unwrap();
    let outcome = one.save_ruleset(&read, with_rule(&read, "global", "second")).await;
    assert!(outcome.is_err(), "the write timed out");
    let rules = async || one.rulesets(7).await.unwrap().len();
    assert_eq!(rules().await, 1, "and that is cached now");
    client.batch_execute("select pg_advisory_unlock(1)").await.unwrap();

    wait_until("the late write invalidated the cache", async || rules().await == 2).await;
}

async fn connect(database: &TestDatabase) -> tokio_postgres::Client {
    let url = database.url().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Without notifications a node reads from the database, so that it never returns stale data.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_notifications_bypasses_its_cache() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    assert!(other.token(hashed("t")).await.unwrap().is_some());

    // Terminates the listening connections repeatedly, so that no node receives notifications.
    let client = connect(&database).await;
    let terminate = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid() and datname = current_database() \
               and (query like 'listen%' or query = '')";
    wait_until("the cache is disabled", async || {
        client.batch_execute(terminate).await.unwrap();
        !other.is_cache_enabled()
    })
    .await;
    wait_until("the cache is enabled again", async || other.is_cache_enabled()).await;
    assert!(other.token(hashed("t")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrently_started_nodes_migrate_an_empty_database_once() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let (a, b, c, d) =
        tokio::join!(database.open(), database.open(), database.open(), database.open());
    with_alice(&a).await;
    for node in [b, c, d] {
        assert!(node.account(7).await.unwrap().is_some());
    }
}
