//! Rows of receivers and deliveries that this release would not write.

use belfry_store::test::{TestDatabase, execute_sql};

use super::cases::deliveries::{NOW, claim, claimed_event_id, delivery, enqueue};
use super::cases::receivers::{add_accounts_and_token, add_receiver, pusher};
use super::cases::timestamp;

/// They get no messages, and do not delay those of other receivers.
async fn assert_unknown_receiver_is_skipped(database: TestDatabase) {
    let store = database.open().await;
    add_accounts_and_token(&store).await;
    for id in [5, 6] {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
    }
    enqueue(&store, &[delivery(7, 5, "$5"), delivery(7, 6, "$6")]).await;
    let change = "update receivers set document = '{\"kind\":\"of a later release\"}' where id = 5";
    execute_sql(&database, change).await;

    let now = timestamp(NOW);
    let listed = store.live_receivers(7, now).await.unwrap().into_iter().map(|row| row.receiver);
    for receivers in [
        store.receivers(7, now).await.unwrap(),
        store.receivers_of_accounts(&[7], now).await.unwrap(),
        listed.collect(),
    ] {
        assert_eq!(receivers.iter().map(|receiver| receiver.id).collect::<Vec<_>>(), [6]);
    }
    let claimed = claim(&store, "c", NOW).await;
    assert_eq!(claimed.iter().map(claimed_event_id).collect::<Vec<_>>(), ["$6"]);
}

/// A lease is stored by the clock of the database, which may have been ahead.
async fn assert_lease_far_ahead_is_ignored(database: TestDatabase) {
    let store = database.open().await;
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "key")).await;
    enqueue(&store, &[delivery(7, 5, "$5")]).await;
    assert_eq!(claim(&store, "c", NOW).await.len(), 1);
    let lease = |seconds: i64| {
        format!("update receivers set due_at = 0, lease_until = unixepoch() + {seconds}")
    };
    execute_sql(&database, &lease(600)).await;
    assert_eq!(claim(&store, "d", NOW).await, []);
    execute_sql(&database, &lease(86_400)).await;
    assert_eq!(claim(&store, "e", NOW).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_of_an_unknown_form_is_skipped_on_sqlite() {
    assert_unknown_receiver_is_skipped(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_of_an_unknown_form_is_skipped_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_unknown_receiver_is_skipped(database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_far_ahead_is_ignored_on_sqlite() {
    assert_lease_far_ahead_is_ignored(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_far_ahead_is_ignored_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_lease_far_ahead_is_ignored(database).await;
}
