//! Group commit on PostgreSQL: several callers' writes in one transaction.

use std::time::Duration;

use belfry_store::test::{self, PostgresProxy, TestDatabase, any_events, options};
use belfry_store::{
    Database, Options, RedeemError, RulesetsForUpdate, SaveOutcome, Store, StoreError,
};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use test_engines::Postgres;
use test_engines::shared::engine_url;
use tokio_postgres::Client;

use super::cases::rulesets::with_rule;
use super::cases::{
    account, add_alice_and_app, grant, hashed_secret, issue_code, timestamp, token,
};
use super::nodes::{connect, wait_until};

/// Maximum number of groups that a node writes concurrently.
const CONCURRENT_GROUPS: i64 = 4;

/// Counts the sessions in this database that wait for a lock.
const COUNT_WAITING: &str = "select count(*) from pg_stat_activity \
                       where datname = current_database() and wait_event_type = 'Lock'";

/// Returns a store whose writes wait for locks longer than any test takes.
async fn open(database: &TestDatabase) -> Store {
    let long_timeout = Options { timeout: Duration::from_mins(5), ..options() };
    Store::open(&database.database, &long_timeout, timestamp(0)).await.unwrap()
}

type BoxedWrite<'a, T> = BoxFuture<'a, T>;

fn boxed_write<'a, T: std::fmt::Debug, E: std::fmt::Display>(
    write: impl Future<Output = Result<T, E>> + Send + 'a,
) -> BoxedWrite<'a, Result<String, String>> {
    write
        .map(|outcome| outcome.map(|ok| format!("{ok:?}")).map_err(|error| error.to_string()))
        .boxed()
}

/// Queues these writes in this order while the node is writing as many groups as it can, so that
/// they form the next group. Returns when they are queued; they continue when the transaction of
/// `blocker` ends. (`monitor` is a separate client, because a transaction sees the activity as of
/// its first query.)
async fn queue_writes<T>(
    store: &Store,
    [blocker, monitor]: [&Client; 2],
    writes: &mut [BoxedWrite<'_, T>],
) {
    blocker.batch_execute("begin; lock table codes in access exclusive mode").await.unwrap();
    for number in 1..=CONCURRENT_GROUPS {
        let store = store.clone();
        let code = hashed_secret("unknown").lookup_key;
        let token = hashed_secret(&format!("unknown {number}"));
        tokio::spawn(async move {
            store.redeem_code(&any_events(), code, token, timestamp(1), None).await
        });
        // One after the other, because two of them could form a group.
        wait_until("a group waits", async || count_waiting(monitor).await == number).await;
    }
    for write in writes {
        assert!(write.now_or_never().is_none(), "the write is queued");
    }
}

async fn count_waiting(client: &Client) -> i64 {
    client.query_one(COUNT_WAITING, &[]).await.unwrap().get(0)
}

/// Returns the number of transactions that wrote the rows of a table.
async fn count_transactions(client: &Client, table: &str) -> i64 {
    let count_sql = format!("select count(distinct xmin::text) from {table}");
    client.query_one(&count_sql, &[]).await.unwrap().get(0)
}

async fn read_for_update(store: &Store, account: i64) -> RulesetsForUpdate {
    store.rulesets_for_update(account, timestamp(5)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_writes_are_committed_together() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    add_alice_and_app(&store).await;
    let tokens: Vec<_> = (0..40).map(|number| token(&number.to_string(), None)).collect();
    let base = read_for_update(&store, 7).await;
    let mut writes: Vec<_> =
        tokens.iter().map(|token| boxed_write(store.add_app_token(token))).collect();
    writes.push(boxed_write(store.save_document(&base, with_rule(&base, "global", "one"))));
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;

    blocker.batch_execute("rollback").await.unwrap();

    assert!(join_all(writes).await.iter().all(Result::is_ok));
    assert_eq!(count_transactions(&blocker, "tokens").await, 1);
    let both_tables =
        "(select xmin from tokens union all select xmin from rulesets) as both_tables";
    assert_eq!(
        count_transactions(&blocker, both_tables).await,
        1,
        "different kinds of writes share a transaction"
    );
    assert_eq!(store.rulesets(7, timestamp(5)).await.unwrap().rule_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_does_not_affect_others_in_its_group() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    add_alice_and_app(&store).await;
    store.add_app_token(&token("taken", None)).await.unwrap();
    let tokens = ["a", "taken", "b"].map(|secret| token(secret, None));
    let base = read_for_update(&store, 7).await;
    let mut writes: Vec<_> =
        tokens.iter().map(|token| boxed_write(store.add_app_token(token))).collect();
    writes.push(boxed_write(store.save_document(&base, with_rule(&base, "global", "one"))));
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;

    blocker.batch_execute("rollback").await.unwrap();

    let outcomes = join_all(writes).await;
    let successes: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(successes, [true, false, true, true], "{outcomes:?}");
    for secret in ["a", "b"] {
        assert!(store.token(hashed_secret(secret)).await.unwrap().is_some());
    }
    assert_eq!(
        store.rulesets(7, timestamp(5)).await.unwrap().rule_count(),
        1,
        "the cache is current"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_conflicting_writes_in_a_group_succeeds() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    issue_code(&store, "c", &grant()).await;
    let alice = read_for_update(&store, 7).await;
    let bob = read_for_update(&store, 8).await;
    let save = |base, rule| boxed_write(store.save_document(base, with_rule(base, "global", rule)));
    let events = any_events();
    let redeem = |token| {
        boxed_write(store.redeem_code(
            &events,
            hashed_secret("c").lookup_key,
            hashed_secret(token),
            timestamp(1),
            None,
        ))
    };
    let mut writes = vec![
        save(&bob, "first"),
        redeem("first"),
        save(&alice, "first"),
        save(&bob, "second"),
        redeem("second"),
        save(&alice, "second"),
    ];
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;

    blocker.batch_execute("rollback").await.unwrap();

    let already_redeemed =
        RedeemError::AlreadyRedeemed(hashed_secret("first").lookup_key).to_string();
    let save_outcome = |outcome: SaveOutcome| Ok(format!("{outcome:?}"));
    let saved = save_outcome(SaveOutcome::Saved);
    let conflict = save_outcome(SaveOutcome::Conflict);
    let expected =
        [saved.clone(), Ok("()".into()), saved, conflict.clone(), Err(already_redeemed), conflict];
    assert_eq!(join_all(writes).await, expected);
    for account in [7, 8] {
        let rulesets = store.rulesets(account, timestamp(5)).await.unwrap();
        let text = format!("{rulesets:?}");
        assert!(text.contains("first") && !text.contains("second"), "{text}");
    }
    assert_eq!(count_transactions(&blocker, "rulesets").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_caller_is_gone_is_committed_with_its_group() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    add_alice_and_app(&store).await;
    let tokens = ["dropped", "other"].map(|secret| token(secret, None));
    let mut writes: Vec<_> =
        tokens.iter().map(|token| boxed_write(store.add_app_token(token))).collect();
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;

    drop(writes.remove(0));
    blocker.batch_execute("rollback").await.unwrap();

    assert!(join_all(writes).await[0].is_ok());
    assert!(store.token(hashed_secret("dropped")).await.unwrap().is_some());
    assert_eq!(count_transactions(&blocker, "tokens").await, 1);
}

/// For example, a person may have locked the row in `psql`.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_for_a_locked_row_does_not_delay_others_in_its_group() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    let locker = connect(&database).await;
    add_alice_and_app(&store).await;
    let base = read_for_update(&store, 7).await;
    store.save_document(&base, with_rule(&base, "global", "one")).await.unwrap();
    let base = read_for_update(&store, 7).await;
    let token = token("t", None);
    let mut writes = vec![
        boxed_write(store.add_app_token(&token)),
        boxed_write(store.save_document(&base, with_rule(&base, "global", "two"))),
    ];
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;
    locker.batch_execute("begin; select from rulesets for update").await.unwrap();
    blocker.batch_execute("rollback").await.unwrap();

    let mut save = writes.pop().unwrap();
    assert!(writes.pop().unwrap().await.is_ok());
    assert!((&mut save).now_or_never().is_none(), "the row is locked");
    locker.batch_execute("rollback").await.unwrap();
    assert_eq!(save.await, Ok("Saved".to_owned()));
}

/// PostgreSQL commits transactions with notifications one after the other, so a commit that takes
/// long delays all others.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_waits_for_a_slow_commit_with_notifications() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    // A separate server, because the notification lock is shared by all databases.
    let postgres = Postgres::start().unwrap();
    let local_url = format!("{}?options=-c%20synchronous_commit%3Dlocal", postgres.url());
    let long_timeout = Options { timeout: Duration::from_mins(5), ..options() };
    let database = Database::Postgres(local_url.parse().unwrap());
    let store = Store::open(&database, &long_timeout, timestamp(0)).await.unwrap();
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    let slow_client = test::connect_postgres(&postgres.url()).await;
    let (blocker, monitor) =
        (test::connect_postgres(&local_url).await, test::connect_postgres(&local_url).await);
    let alice = read_for_update(&store, 7).await;
    let bob = read_for_update(&store, 8).await;
    let mut writes = [&alice, &bob]
        .map(|base| boxed_write(store.save_document(base, with_rule(base, "global", "one"))));
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;
    // This commit waits for a standby that does not exist, once the checkpointer has read the
    // setting.
    let set_standby = |name: &str| {
        postgres.set_parameter("synchronous_standby_names", name).unwrap();
        postgres.execute("checkpoint").unwrap();
    };
    set_standby("nobody");
    let slow_commit = "create table slow (); notify slow";
    let slow_task = tokio::spawn(async move { slow_client.batch_execute(slow_commit).await });
    let query_count =
        async |query: &str| -> i64 { monitor.query_one(query, &[]).await.unwrap().get(0) };
    let slow_commits_sql = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    wait_until("a commit is slow", async || query_count(slow_commits_sql).await == 1).await;

    blocker.batch_execute("rollback").await.unwrap();
    wait_until("the group waits", async || query_count(COUNT_WAITING).await > 0).await;
    // Longer than a group waits for a row lock.
    tokio::time::sleep(Duration::from_secs(1)).await;
    set_standby("");

    slow_task.await.unwrap().unwrap();
    assert_eq!(join_all(writes).await, [Ok("Saved".to_owned()), Ok("Saved".to_owned())]);
    assert_eq!(count_transactions(&monitor, "rulesets").await, 1);
}

/// When the connection is lost, it is unknown whether the transaction was committed.
#[tokio::test(flavor = "multi_thread")]
async fn all_writes_in_a_group_fail_if_its_connection_is_lost() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = open(&database).await;
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    let locker = connect(&database).await;
    add_alice_and_app(&store).await;
    let base = read_for_update(&store, 7).await;
    let token = token("t", None);
    let mut writes = vec![
        boxed_write(store.add_app_token(&token)),
        boxed_write(store.save_document(&base, with_rule(&base, "global", "one"))),
    ];
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;
    locker.batch_execute("begin; lock table rulesets in access exclusive mode").await.unwrap();
    blocker.batch_execute("rollback").await.unwrap();
    // The groups that waited for `blocker` may still be listed as waiting for their lock.
    let terminate = "select pg_terminate_backend(pid) from pg_locks where not granted \
                     and relation = 'rulesets'::regclass and database = \
                     (select oid from pg_database where datname = current_database())";
    let terminate_group = async || monitor.query(terminate, &[]).await.unwrap().len() == 1;
    wait_until("the group waits", terminate_group).await;

    let outcomes = join_all(writes).await;
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    locker.batch_execute("rollback").await.unwrap();
    assert_eq!(store.token(hashed_secret("t")).await, Ok(None));
    wait_until("the node writes again", async || {
        store.add_token(&any_events(), &token).await.is_ok()
    })
    .await;
}

/// The group times out, the node reads the old values into its cache, and then the request arrives
/// at the server and is committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_committed_after_its_timeout_invalidates_the_cache() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let proxy = PostgresProxy::start(&database, false).await;
    // Long enough for the other writes on a busy machine.
    let short_timeout = Options { timeout: Duration::from_secs(6), ..options() };
    let store = Store::open(&proxy.database, &short_timeout, timestamp(0)).await.unwrap();
    let blocker = connect(&database).await;
    let monitor = connect(&database).await;
    wait_until("the cache is enabled", async || store.is_cache_enabled()).await;
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    let alice = read_for_update(&store, 7).await;
    let bob = read_for_update(&store, 8).await;
    let mut writes = [&alice, &bob]
        .map(|base| store.save_document(base, with_rule(base, "global", "late")).boxed());
    queue_writes(&store, [&blocker, &monitor], &mut writes).await;
    proxy.faults.delayed_text.send_replace("begin; set local lock_timeout");
    blocker.batch_execute("rollback").await.unwrap();
    for outcome in join_all(writes).await {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "the group timed out");
    }
    let rule_counts = async || {
        let alice = store.rulesets(7, timestamp(5));
        let bob = store.rulesets(8, timestamp(5));
        (alice.await.unwrap().rule_count(), bob.await.unwrap().rule_count())
    };
    wait_until("the cache is enabled", async || store.is_cache_enabled()).await;
    // Fills the cache.
    assert_eq!(rule_counts().await, (0, 0));
    proxy.faults.delayed_text.send_replace("");

    wait_until("the late writes invalidated the cache", async || rule_counts().await == (1, 1))
        .await;
}
