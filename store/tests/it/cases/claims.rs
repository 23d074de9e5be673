//! Conformance cases for claims of receivers and the results of attempts.

use std::collections::BTreeSet;

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_store::test::any_events;
use belfry_store::{AttemptRecord, ClaimedDelivery, Receiver, ReceiverResult, Store};

use super::deliveries::{
    EXPIRY, LEASE, NOW, ORIGIN, claim, claim_up_to, claimed_event_id, deliver, deliver_all,
    delivered, delivery, ended, enqueue, failed, outcomes, record, store_deliveries, totals,
    waiting_count,
};
use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{account, hashed_secret, run_concurrently, timestamp};

/// Adds alice's pusher 5 and these deliveries to it.
async fn add_deliveries(store: &Store, event_ids: &[&str]) {
    add_accounts_and_token(store).await;
    add_receiver(store, &pusher(7, 5, "a")).await;
    for event_id in event_ids {
        enqueue(store, &[delivery(7, 5, event_id)]).await;
    }
}

/// Adds accounts with 20 receivers each. Returns the accounts and ids of the receivers.
async fn add_receivers(store: &Store, account_count: i64) -> Vec<(i64, i64)> {
    let mut keys = Vec::new();
    for account_id in 100..100 + account_count {
        let new_account = account(account_id, &format!("user{account_id}"));
        store.add_account(&any_events(), &new_account).await.unwrap();
        for id in 1..=20 {
            add_receiver(store, &pusher(account_id, id, &format!("key {id}"))).await;
            keys.push((account_id, id));
        }
    }
    keys
}

fn event_ids(claimed: &[ClaimedDelivery]) -> Vec<&str> {
    claimed.iter().map(claimed_event_id).collect()
}

fn receiver_ids(claimed: &[ClaimedDelivery]) -> Vec<i64> {
    claimed.iter().map(|claimed| claimed.receiver.id).collect()
}

pub(crate) async fn a_receiver_gets_one_message_at_a_time_first_those_with_the_fewest_attempts(
    store: Store,
) {
    add_deliveries(&store, &["$1", "$2", "$3"]).await;
    assert_eq!(claim(&store, "early", NOW - 1).await, []);
    let other_origin = "https://other.example.org";
    let none = store.claim_deliveries(other_origin, "o", 64, 64, timestamp(NOW)).await.unwrap();
    assert_eq!(none, []);
    for (now, event_id, attempts) in [
        (NOW, "$1", 0),
        (NOW + 60, "$2", 0),
        (NOW + 120, "$3", 0),
        (NOW + 180, "$1", 1),
        (NOW + 240, "$2", 1),
    ] {
        assert_eq!(claim(&store, "early", now - 1).await, []);
        let claimed = claim(&store, event_id, now).await;
        assert_eq!(event_ids(&claimed), [event_id]);
        let log = store.delivery_log(7, Some(event_id), 1).await.unwrap();
        assert_eq!(log[0].attempts, attempts);
        assert_eq!(claim(&store, "second", now).await, []);
        record(&store, &claimed, now, |claimed| failed(claimed, now + 60)).await;
    }
    deliver(&store, NOW + 300).await;
    assert_eq!(event_ids(&claim(&store, "c", NOW + 300).await), ["$1"]);
    assert_eq!(waiting_count(&store).await, 2);
}

pub(crate) async fn proven_receivers_are_claimed_first_and_others_up_to_a_maximum(store: Store) {
    add_accounts_and_token(&store).await;
    for id in 1..=6 {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
    }
    enqueue(&store, &[4, 5, 6].map(|id| delivery(7, id, "$first"))).await;
    assert_eq!(deliver(&store, NOW).await, 3);
    for (age, id) in (0..).zip([6, 1, 5, 2, 4, 3]) {
        let deliveries = [delivery(7, id, "$second")];
        store_deliveries(&store, &format!("m{id}"), &deliveries, NOW + age).await;
    }
    let now = timestamp(NOW + 10);
    for (limit, max_unproven, ids) in [
        (2, 2, &[5, 6][..]),
        (2, 2, &[1, 4]),
        (64, 0, &[]),
        (64, 1, &[2]),
        (64, 64, &[3]),
        (64, 64, &[]),
    ] {
        let name = format!("c{limit} {max_unproven} {ids:?}");
        let claimed = claim_up_to(&store, &name, limit, max_unproven, now).await;
        assert_eq!(receiver_ids(&claimed), ids, "{name}");
        assert!(
            claimed
                .iter()
                .all(|claimed| claimed.receiver.is_proven == (claimed.key.receiver_id > 3))
        );
    }
}

pub(crate) async fn a_pause_of_a_receiver_delays_only_its_messages(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    let claimed = claim(&store, "c", NOW).await;
    record(&store, &claimed, NOW, |claimed| failed(claimed, NOW + 60)).await;
    let more = [delivery(7, 5, "$2"), delivery(7, 6, "$2")];
    assert_eq!(store_deliveries(&store, "m", &more, NOW + 1).await.new.len(), 2);
    let due_at = store.delivery_log(7, None, 3).await.unwrap().into_iter().map(|row| row.due_at);
    let seconds = due_at.map(|time| time.as_second() - NOW).collect::<BTreeSet<_>>();
    assert_eq!(seconds, [1, 60].into());
    assert_eq!(receiver_ids(&claim(&store, "d", NOW + 59).await), [6]);
    assert_eq!(event_ids(&claim(&store, "e", NOW + 60).await), ["$2"]);
    // A new message does not end a pause while no other one waits, either.
    store.release_claim("e", timestamp(NOW + 60)).await.unwrap();
    deliver(&store, NOW + 60).await;
    let claimed = claim(&store, "f", NOW + 60).await;
    let dropped = |claimed: &_| AttemptRecord {
        outcome: Some(DeliveryOutcome::Dropped),
        ..failed(claimed, NOW + 120)
    };
    record(&store, &claimed, NOW + 60, dropped).await;
    enqueue(&store, &[delivery(7, 5, "$3")]).await;
    assert_eq!(claim(&store, "g", NOW + 119).await, []);
    assert_eq!(event_ids(&claim(&store, "h", NOW + 120).await), ["$3"]);
    assert_eq!(waiting_count(&store).await, 2);
}

pub(crate) async fn no_receiver_is_claimed_twice_by_concurrent_claims(store: Store) {
    let keys = add_receivers(&store, 16).await;
    let deliveries: Vec<_> =
        keys.into_iter().map(|(account, receiver)| delivery(account, receiver, "$e")).collect();
    enqueue(&store, &deliveries).await;
    let (store, claims) = run_concurrently(store, |store, index| async move {
        let claimed = claim_up_to(&store, &format!("c{index}"), 10, 10, timestamp(NOW)).await;
        record(&store, &claimed, NOW, delivered).await;
        claimed
    })
    .await;
    let ids: Vec<&str> = claims.iter().flatten().map(|claimed| &*claimed.key.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(ids.len(), 320, "each claim finds receivers while there are any");
    assert_eq!(waiting_count(&store).await, 0);
}

pub(crate) async fn a_receiver_is_claimed_again_when_its_lease_has_expired(store: Store) {
    add_deliveries(&store, &["$1", "$2"]).await;
    let first = claim(&store, "c", NOW).await;
    assert_eq!(claim(&store, "d", NOW + LEASE).await, [], "the time of the database decides");
    store.expire_leases().await;
    let second = claim(&store, "d", NOW + LEASE).await;
    assert_eq!(event_ids(&second), event_ids(&first));
    // The first node can no longer store results.
    record(&store, &first, NOW, |claimed| failed(claimed, NOW)).await;
    record(&store, &first, NOW, delivered).await;
    store.release_claim("c", timestamp(NOW)).await.unwrap();
    assert_eq!(outcomes(&store, 7).await, [None, None]);
    assert_eq!(store.receiver(7, 5).await.unwrap().unwrap(), second[0].receiver);
    assert_eq!(claim(&store, "e", NOW).await, []);
    record(&store, &second, NOW, delivered).await;
    let delivered_outcome = Some(DeliveryOutcome::Delivered);
    assert_eq!(outcomes(&store, 7).await, [None, delivered_outcome]);
    // A second result has no effect either.
    record(&store, &second, NOW + 1, |claimed| failed(claimed, NOW + 60)).await;
    assert_eq!(store.receiver(7, 5).await.unwrap().unwrap().failures, 0);
    assert_eq!(event_ids(&claim(&store, "f", NOW).await), ["$2"]);
    record(&store, &second, NOW + 1, |claimed| failed(claimed, NOW + 60)).await;
    assert_eq!(outcomes(&store, 7).await, [None, delivered_outcome]);
    assert_eq!(claim(&store, "g", NOW).await, []);
}

pub(crate) async fn only_one_concurrent_claim_gets_a_receiver_with_an_expired_lease(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    for round in 0..3 {
        let now = NOW + round * 2 * LEASE;
        claim(&store, &format!("lost {round}"), now).await;
        store.expire_leases().await;
        let tasks = (0..8).map(|index| {
            let store = store.clone();
            let name = format!("c{round} {index}");
            tokio::spawn(async move { claim(&store, &name, now + LEASE).await })
        });
        let mut claimed_count = 0;
        for task in tasks.collect::<Vec<_>>() {
            claimed_count += task.await.unwrap().len();
        }
        assert_eq!(claimed_count, 1, "round {round}");
        store.expire_leases().await;
    }
}

pub(crate) async fn a_released_receiver_can_be_claimed_immediately(store: Store) {
    add_deliveries(&store, &["$1", "$2"]).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    enqueue(&store, &[delivery(7, 6, "$3")]).await;
    let now = timestamp(NOW);
    let first = claim_up_to(&store, "c", 1, 1, now).await;
    let second = claim(&store, "d", NOW).await;
    store.release_claim("c", now).await.unwrap();
    assert_eq!(event_ids(&claim(&store, "e", NOW).await), event_ids(&first));
    store.release_all_claims(now).await.unwrap();
    let both = [first, second].concat();
    let claimed = claim(&store, "f", NOW).await;
    assert_eq!(event_ids(&claimed), event_ids(&both));
    // The deliveries end while the receiver is claimed.
    store.delete_receiver(&any_events(), 7, 6).await.unwrap();
    store.release_claim("f", now).await.unwrap();
    deliver_all(&store, NOW).await;
    assert_eq!(totals(&store, "gateway").await, [3, 0, 2, 0, 0, 1]);
}

pub(crate) async fn the_results_of_attempts_are_stored_in_the_receiver(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let attempt = async |now: i64, outcome, receiver, error: Option<AttemptError>| {
        let claimed = claim(&store, "c", now).await;
        let result =
            AttemptRecord { outcome, receiver, error, status: Some(503), ..delivered(&claimed[0]) };
        store.record_attempts(&[result], timestamp(now)).await.unwrap();
        let receiver = store.receiver(7, 5).await.unwrap().unwrap();
        let seconds = [receiver.succeeded_at, receiver.failed_at, receiver.denied_since]
            .map(|time| time.map(|time| time.as_second() - NOW));
        let counts = (receiver.denied_count, receiver.failures, receiver.is_proven);
        (seconds, receiver.failure, counts)
    };
    let failure = |now: i64, is_denial| ReceiverResult::Failure {
        paused_until: timestamp(now + 1),
        is_denial,
    };
    let unknown = |now: i64| ReceiverResult::Unknown { due_at: timestamp(now + 1) };
    let timeout = Some(AttemptError::Timeout);
    let denial = Some(AttemptError::Status(403));
    for (seconds, receiver, error, expected_seconds, expected_failure, counts) in [
        (0, failure(NOW, false), &timeout, [None, Some(0), None], &timeout, (0, 1, false)),
        (1, failure(NOW + 1, true), &denial, [None, Some(1), Some(1)], &denial, (1, 2, false)),
        (2, failure(NOW + 2, true), &denial, [None, Some(2), Some(1)], &denial, (2, 3, false)),
        (3, unknown(NOW + 3), &timeout, [None, Some(2), Some(1)], &denial, (2, 3, false)),
    ] {
        let state = attempt(NOW + seconds, None, receiver, error.clone()).await;
        assert_eq!(state, (expected_seconds, expected_failure.clone(), counts), "{seconds}");
    }
    let log = store.delivery_log(7, None, 1).await.unwrap();
    assert_eq!((log[0].attempts, log[0].status), (4, Some(503)));
    assert_eq!((&log[0].error, log[0].outcome), (&timeout, None));
    let delivered = Some(DeliveryOutcome::Delivered);
    let state = attempt(NOW + 4, delivered, ReceiverResult::Success, None).await;
    assert_eq!(state, ([Some(4), Some(2), None], denial.clone(), (0, 0, true)));
    enqueue(&store, &[delivery(7, 5, "$2"), delivery(7, 5, "$3")]).await;
    let dropped = Some(DeliveryOutcome::Dropped);
    let state = attempt(NOW + 5, dropped, unknown(NOW + 4), None).await;
    assert_eq!(state, ([Some(4), Some(2), None], denial, (0, 0, true)));
    let state = attempt(NOW + 5, None, failure(NOW, false), timeout.clone()).await;
    assert_eq!(state, ([Some(4), Some(5), None], timeout, (0, 1, false)));
}

pub(crate) async fn deliveries_to_a_receiver_that_is_not_live_are_removed(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &subscription(4, "t")).await;
    for (id, key) in [(5, "a"), (6, "b"), (7, "c")] {
        add_receiver(&store, &pusher(7, id, key)).await;
    }
    for receiver_id in [4, 5, 6, 7] {
        enqueue(&store, &[delivery(7, receiver_id, &format!("${receiver_id}"))]).await;
    }
    let failed_attempt = claim_up_to(&store, "attempt", 1, 1, timestamp(NOW)).await;
    assert_eq!(event_ids(&failed_attempt), ["$4"]);
    record(&store, &failed_attempt, NOW, |claimed| failed(claimed, NOW)).await;
    store.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(50)).await.unwrap();
    // Those of deleted receivers are removed immediately, the others when they are claimed.
    store.delete_receiver(&any_events(), 7, 5).await.unwrap();
    store.set_receiver(&any_events(), &pusher(7, 8, "b")).await.unwrap();
    let removed = Some(DeliveryOutcome::Removed);
    assert_eq!(outcomes(&store, 7).await, [None, removed, removed, None]);
    assert_eq!(event_ids(&claim(&store, "c", NOW + 5).await), ["$7"]);
    assert_eq!(outcomes(&store, 7).await, [None, removed, removed, removed]);
    let log = store.delivery_log(7, None, 4).await.unwrap();
    assert_eq!((log[3].attempts, log[3].finished_at), (1, Some(timestamp(NOW + 5))));
    assert_eq!((log[3].status, &log[3].error), (None, &None), "its error is not the reason");
    assert_eq!(waiting_count(&store).await, 1);
}

pub(crate) async fn a_delivery_expires_after_at_least_one_attempt(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let claimed = claim(&store, "c", EXPIRY + 10).await;
    assert_eq!(event_ids(&claimed), ["$1"], "there was no attempt");
    record(&store, &claimed, EXPIRY + 10, |claimed| ended(claimed, None, EXPIRY + 20)).await;
    enqueue(&store, &[delivery(7, 5, "$2")]).await;
    let claimed = claim(&store, "d", EXPIRY + 20).await;
    assert_eq!(event_ids(&claimed), ["$2"]);
    let expired = Some(DeliveryOutcome::Expired);
    assert_eq!(outcomes(&store, 7).await, [None, expired]);
    assert_eq!(store.delivery_log(7, Some("$1"), 1).await.unwrap()[0].attempts, 1);
    // Before its expiry a delivery is retried.
    record(&store, &claimed, NOW, |claimed| failed(claimed, NOW + 1)).await;
    let claimed = claim(&store, "e", EXPIRY - 1).await;
    assert_eq!(event_ids(&claimed), ["$2"]);
    record(&store, &claimed, EXPIRY - 1, |claimed| failed(claimed, EXPIRY)).await;
    // The receiver fails, so no attempt is made.
    enqueue(&store, &[delivery(7, 5, "$3")]).await;
    assert_eq!(claim(&store, "f", EXPIRY).await, []);
    assert_eq!(outcomes(&store, 7).await, [expired; 3]);
    // So does the lane.
    add_receiver(&store, &pusher(7, 6, "b")).await;
    enqueue(&store, &[delivery(7, 6, "$4")]).await;
    store.pause_lane(ORIGIN, timestamp(EXPIRY), 1).await.unwrap();
    assert_eq!(claim(&store, "g", EXPIRY).await, []);
    assert_eq!(outcomes(&store, 7).await, [expired; 4]);
    assert_eq!(totals(&store, "gateway").await, [4, 0, 0, 0, 4, 0]);
}

pub(crate) async fn each_outcome_is_stored(store: Store) {
    add_deliveries(&store, &["$1", "$2", "$3", "$4"]).await;
    for &outcome in DeliveryOutcome::ALL {
        let claimed = claim(&store, "c", NOW).await;
        record(&store, &claimed, NOW, |claimed| ended(claimed, Some(outcome), NOW)).await;
    }
    let expected: Vec<_> = DeliveryOutcome::ALL.iter().rev().copied().map(Some).collect();
    assert_eq!(outcomes(&store, 7).await, expected);
    assert_eq!(totals(&store, "gateway").await, [4, 0, 1, 1, 1, 1]);
}

pub(crate) async fn results_of_concurrent_claims_are_all_stored(store: Store) {
    add_accounts_and_token(&store).await;
    for id in 1..=20 {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
    }
    for number in 0..16 {
        let event_id = format!("$e{number}");
        let mut deliveries: Vec<_> = (1..=20).map(|id| delivery(7, id, &event_id)).collect();
        // The order of the receivers differs between messages.
        deliveries.rotate_left(number);
        enqueue(&store, &deliveries).await;
    }
    let (store, _) = run_concurrently(store, |store, index| async move {
        for round in 0..16 {
            let name = format!("c{index} {round}");
            let mut claimed = claim_up_to(&store, &name, 5, 5, timestamp(NOW)).await;
            claimed.reverse();
            record(&store, &claimed, NOW, delivered).await;
        }
    })
    .await;
    deliver_all(&store, NOW).await;
    assert_eq!(waiting_count(&store).await, 0);
    let log = store.delivery_log(7, None, 1000).await.unwrap();
    assert_eq!(log.len(), 320);
    assert!(log.iter().all(|delivery| delivery.attempts == 1));
}

pub(crate) async fn the_least_recently_used_receiver_is_deleted_for_a_new_one(store: Store) {
    add_accounts_and_token(&store).await;
    for id in 1..=20 {
        let created_at = timestamp(id);
        let receiver = pusher(7, id, &format!("key {id}"));
        add_receiver(&store, &Receiver { created_at, ..receiver }).await;
    }
    enqueue(&store, &[delivery(7, 1, "$1")]).await;
    deliver(&store, NOW).await;
    enqueue(&store, &[delivery(7, 2, "$2")]).await;
    let next = Receiver { created_at: timestamp(30), ..pusher(7, 21, "key 21") };
    add_receiver(&store, &next).await;
    assert!(store.receiver(7, 1).await.unwrap().is_some());
    assert_eq!(store.receiver(7, 2).await.unwrap(), None);
    assert_eq!(totals(&store, "gateway").await, [2, 0, 1, 0, 0, 1]);
}
