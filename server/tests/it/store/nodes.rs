//! Two nodes on one PostgreSQL: what one writes the other hears of.

use std::time::{Duration, Instant};

use belfry::store::{Options, Store};

use super::cases::rulesets::{save, with_rule};
use super::cases::{at, hashed, token, with_alice};
use crate::support::TestDatabase;
use crate::support::databases::options;

/// Waits for something that must come soon. The bound is far above what it takes, since the
/// machine may be busy; what is awaited is promised within a second on an idle one.
async fn soon(what: &str, mut come: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !come().await {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn two_nodes() -> Option<(TestDatabase, Store, Store)> {
    let database = TestDatabase::postgres().await?;
    let (one, other) = tokio::join!(database.open(), database.open());
    soon("both listen", async || one.is_cache_enabled() && other.is_cache_enabled()).await;
    Some((database, one, other))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_through_one_node_is_refused_by_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let revoked =
        async |store: &Store| store.token(hashed("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!revoked(&other).await, "and it is in its memory now");

    one.revoke_token(hashed("t").lookup, at(1)).await.unwrap();

    assert!(revoked(&one).await, "at once where it was revoked");
    soon("the other node hears of it", async || revoked(&other).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_removed_through_one_node_is_over_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    for (secret, account) in [("a", Some(7)), ("b", Some(7)), ("of another", Some(8))] {
        one.add_token(&token(secret, account)).await.unwrap();
    }
    let good = async |secret| {
        let found = other.token(hashed(secret)).await.unwrap().unwrap();
        found.revoked_at.is_none()
    };
    assert!(good("a").await && good("b").await && good("of another").await);

    one.revoke_access(7, 1, at(1)).await.unwrap();

    soon("the other node hears of it", async || !good("a").await && !good("b").await).await;
    assert!(good("of another").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_written_through_one_node_are_read_through_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    assert!(other.rulesets(7).await.unwrap().is_empty());
    assert!(save(&one, "global", Some("rule")).await);
    soon("the other node hears of it", async || !other.rulesets(7).await.unwrap().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_disabled_through_one_node_is_disabled_on_the_other() {
    let Some((_database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let good = async || other.token(hashed("t")).await.unwrap().unwrap().check(at(1)).is_ok();
    assert!(good().await);
    one.disable_account(7, Some(at(1))).await.unwrap();
    soon("the other node hears of it", async || !good().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_a_service_acts_for_is_known_without_the_database() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    let usable = async || {
        let alice = other.token_account("alice").await.unwrap().unwrap();
        alice.disabled_at.is_none()
    };
    assert!(usable().await, "and it is in its memory now");

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table accounts in access exclusive mode").await.unwrap();
    assert!(usable().await, "though nobody can read the table");
    lock.rollback().await.unwrap();

    one.disable_account(7, Some(at(1))).await.unwrap();
    soon("the other node hears of it", async || !usable().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_wrote_itself_is_still_known_when_it_hears_of_its_own_write() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let revoked = async || one.token(hashed("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!revoked().await);
    assert!(save(&one, "global", Some("rule")).await);
    // Notifications come in the order of commits: who has heard of this one has heard of its own.
    other.revoke_token(hashed("t").lookup, at(1)).await.unwrap();
    soon("the node hears of the other's write", revoked).await;

    let mut client = connect(&database).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table rulesets in access exclusive mode").await.unwrap();
    assert!(!one.rulesets(7).await.unwrap().is_empty(), "though nobody can read the table");
    lock.rollback().await.unwrap();
}

/// The node gave up waiting, forgot, and read the old value before the commit was done after all.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_committed_after_its_node_gave_up_is_heard_of() {
    let Some(database) = TestDatabase::postgres().await else { return };
    // Long enough for the other writes on a busy machine.
    let hasty = Options { timeout: Duration::from_secs(3), ..options() };
    let one = Store::open(&database.database, &hasty, at(0)).await.unwrap();
    soon("it listens", async || one.is_cache_enabled()).await;
    with_alice(&one).await;
    assert!(save(&one, "global", Some("first")).await);

    // A commit of rules takes as long as this test holds a lock.
    let client = connect(&database).await;
    let slow_commit = "create function wait() returns trigger language plpgsql as \
         $$ begin perform pg_advisory_xact_lock(1); return null; end $$; \
         create constraint trigger late after update on rulesets \
         deferrable initially deferred for each row execute function wait(); \
         select pg_advisory_lock(1)";
    client.batch_execute(slow_commit).await.unwrap();
    let read = one.rulesets_for_update(7).await.unwrap();
    let given_up = one.save_ruleset(&read, with_rule(&read, "global", "second")).await;
    assert!(given_up.is_err(), "it could not be written in time");
    let rules = async || one.rulesets(7).await.unwrap().len();
    assert_eq!(rules().await, 1, "and that is in its memory now");
    client.batch_execute("select pg_advisory_unlock(1)").await.unwrap();

    soon("the node hears of its late write", async || rules().await == 2).await;
}

async fn connect(database: &TestDatabase) -> tokio_postgres::Client {
    let url = database.url().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// While a node cannot hear the others it reads the database, so it never shows what is stale.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_hear_the_others_does_without_its_memory() {
    let Some((database, one, other)) = two_nodes().await else { return };
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    assert!(other.token(hashed("t")).await.unwrap().is_some());

    // Every connection of both nodes is cut, again and again, so that nobody can listen.
    let client = connect(&database).await;
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid() and datname = current_database() \
               and (query like 'listen%' or query = '')";
    soon("it does without", async || {
        client.batch_execute(cut).await.unwrap();
        !other.is_cache_enabled()
    })
    .await;
    soon("it hears again", async || other.is_cache_enabled()).await;
    assert!(other.token(hashed("t")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_that_start_at_once_on_an_empty_database_migrate_it_once() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let (a, b, c, d) =
        tokio::join!(database.open(), database.open(), database.open(), database.open());
    with_alice(&a).await;
    for node in [b, c, d] {
        assert!(node.account(7).await.unwrap().is_some());
    }
}
