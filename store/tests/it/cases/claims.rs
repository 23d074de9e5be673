//! Conformance cases for claims of deliveries, their results, and lanes.

use std::collections::BTreeSet;

use belfry_core::push::attempt_error::AttemptError;
use belfry_store::test::any_events;
use belfry_store::{
    AttemptRecord, ClaimedDelivery, DeliveryOutcome, DeliveryResult, Lane, Receiver, Store,
};

use super::deliveries::{
    EXPIRY, NOW, ORIGIN, attempt_record, claim, claimed_event_id, deliver, delivery, enqueue,
    message, outcomes, waiting_count,
};
use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{hashed_secret, run_concurrently, timestamp};

const DELIVERED: DeliveryResult = DeliveryResult::Finished(DeliveryOutcome::Delivered);

/// Adds alice's pusher 5 and these deliveries to it.
async fn add_deliveries(store: &Store, event_ids: &[&str]) {
    add_accounts_and_token(store).await;
    add_receiver(store, &pusher(7, 5, "a")).await;
    for event_id in event_ids {
        enqueue(store, &[delivery(7, 5, event_id)]).await;
    }
}

fn event_ids(claimed: &[ClaimedDelivery]) -> Vec<&str> {
    claimed.iter().map(claimed_event_id).collect()
}

async fn finish(store: &Store, claimed: &[ClaimedDelivery], result: DeliveryResult) {
    let results: Vec<_> = claimed.iter().map(|claimed| attempt_record(claimed, result)).collect();
    store.record_attempts(&results, timestamp(NOW + 1)).await.unwrap();
}

pub(crate) async fn deliveries_are_claimed_in_order_when_they_are_due(store: Store) {
    add_deliveries(&store, &["$1", "$2", "$3"]).await;
    assert_eq!(claim(&store, "early", NOW - 1).await, []);
    let first = store.claim_deliveries(ORIGIN, "c", 2, timestamp(NOW)).await.unwrap();
    assert_eq!(event_ids(&first), ["$1", "$2"]);
    let other_origin = "https://other.example.org";
    let none = store.claim_deliveries(other_origin, "o", 2, timestamp(NOW)).await.unwrap();
    assert_eq!(none, []);
    assert_eq!(event_ids(&claim(&store, "d", NOW).await), ["$3"]);
    assert_eq!(claim(&store, "e", NOW).await, []);
    finish(&store, &first[..1], DeliveryResult::Retry(timestamp(NOW + 60))).await;
    assert_eq!(claim(&store, "f", NOW + 59).await, []);
    let again = claim(&store, "g", NOW + 60).await;
    assert_eq!(event_ids(&again), ["$1"]);
    assert_eq!(again[0].attempts, 1);
}

pub(crate) async fn no_delivery_is_claimed_twice_by_concurrent_claims(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let deliveries: Vec<_> =
        (0..320).map(|number| delivery(7, 5, &format!("$e{number}"))).collect();
    store.enqueue(&message("m"), &deliveries, timestamp(NOW)).await.unwrap();
    let (store, claims) = run_concurrently(store, |store, index| async move {
        let name = format!("c{index}");
        let claimed = store.claim_deliveries(ORIGIN, &name, 10, timestamp(NOW)).await.unwrap();
        finish(&store, &claimed, DELIVERED).await;
        claimed
    })
    .await;
    let ids: Vec<&str> = claims.iter().flatten().map(|claimed| &*claimed.key.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(ids.len(), 320, "each claim finds deliveries while there are any");
    assert_eq!(waiting_count(&store).await, 0);
}

pub(crate) async fn a_delivery_is_claimed_again_when_its_lease_has_expired(store: Store) {
    add_deliveries(&store, &["$1", "$2"]).await;
    let first = claim(&store, "c", NOW).await;
    assert_eq!(store.due_origins(timestamp(NOW), 10).await.unwrap(), [""; 0]);
    store.expire_leases().await;
    assert_eq!(store.due_origins(timestamp(NOW), 10).await.unwrap(), [ORIGIN]);
    let second = claim(&store, "d", NOW).await;
    assert_eq!(event_ids(&second), event_ids(&first));
    // The first node can no longer store results.
    let denied = DeliveryResult::Denied(timestamp(NOW));
    finish(&store, &first, denied).await;
    finish(&store, &first, DELIVERED).await;
    store.release_claim("c").await.unwrap();
    assert_eq!(outcomes(&store, 7).await, [None, None]);
    assert_eq!(store.receiver(7, 5).await.unwrap().unwrap(), second[0].receiver);
    assert_eq!(claim(&store, "e", NOW).await, []);
    finish(&store, &second, DELIVERED).await;
    assert_eq!(outcomes(&store, 7).await, [Some(DeliveryOutcome::Delivered); 2]);
    // A second result has no effect either.
    finish(&store, &second, DeliveryResult::Retry(timestamp(NOW))).await;
    assert_eq!(outcomes(&store, 7).await, [Some(DeliveryOutcome::Delivered); 2]);
}

pub(crate) async fn only_one_concurrent_claim_gets_a_delivery_with_an_expired_lease(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    for round in 0..3 {
        claim(&store, &format!("lost {round}"), NOW).await;
        store.expire_leases().await;
        let tasks = (0..8).map(|index| {
            let store = store.clone();
            tokio::spawn(async move { claim(&store, &format!("c{round} {index}"), NOW).await })
        });
        let mut claimed_count = 0;
        for task in tasks.collect::<Vec<_>>() {
            claimed_count += task.await.unwrap().len();
        }
        assert_eq!(claimed_count, 1, "round {round}");
        store.expire_leases().await;
    }
}

pub(crate) async fn a_released_delivery_can_be_claimed_immediately(store: Store) {
    add_deliveries(&store, &["$1", "$2"]).await;
    let first = store.claim_deliveries(ORIGIN, "c", 1, timestamp(NOW)).await.unwrap();
    let second = claim(&store, "d", NOW).await;
    store.release_claim("c").await.unwrap();
    assert_eq!(event_ids(&claim(&store, "e", NOW).await), event_ids(&first));
    store.release_all_claims().await.unwrap();
    let both = [first, second].concat();
    assert_eq!(event_ids(&claim(&store, "f", NOW).await), event_ids(&both));
}

pub(crate) async fn the_results_of_attempts_are_stored_in_the_receiver(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let attempt = async |now: i64, result, error: Option<AttemptError>| {
        let claimed = claim(&store, "c", now).await;
        let [claimed] = &claimed[..] else { panic!("{claimed:?}") };
        let status = Some(503);
        let result = AttemptRecord { key: claimed.key.clone(), result, status, error };
        store.record_attempts(&[result], timestamp(now)).await.unwrap();
        let receiver = store.receiver(7, 5).await.unwrap().unwrap();
        let seconds = [receiver.succeeded_at, receiver.failed_at, receiver.denied_since]
            .map(|time| time.map(|time| time.as_second() - NOW));
        (seconds, receiver.failure, receiver.denied_count)
    };
    let retry = |now: i64| DeliveryResult::Retry(timestamp(now));
    let denied = |now: i64| DeliveryResult::Denied(timestamp(now));
    let timeout = Some(AttemptError::Timeout);
    let denial = Some(AttemptError::Status(403));
    let (state, failure, denied_count) = attempt(NOW, retry(NOW + 1), timeout.clone()).await;
    assert_eq!((state, failure, denied_count), ([None, Some(0), None], timeout, 0));
    let (state, failure, denied_count) = attempt(NOW + 1, denied(NOW + 2), denial.clone()).await;
    assert_eq!((state, failure, denied_count), ([None, Some(1), Some(1)], denial.clone(), 1));
    let (state, _, denied_count) = attempt(NOW + 2, denied(NOW + 3), denial.clone()).await;
    assert_eq!((state, denied_count), ([None, Some(2), Some(1)], 2));
    let log = store.delivery_log(7, None, 1).await.unwrap();
    assert_eq!((log[0].attempts, log[0].status), (3, Some(503)));
    assert_eq!((&log[0].error, log[0].outcome), (&denial, None));
    let (state, failure, denied_count) = attempt(NOW + 3, DELIVERED, None).await;
    assert_eq!((state, failure, denied_count), ([Some(3), Some(2), None], denial, 0));
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
    store.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(50)).await.unwrap();
    store.delete_receiver(&any_events(), 7, 5).await.unwrap();
    store.set_receiver(&any_events(), &pusher(7, 8, "b")).await.unwrap();
    assert_eq!(event_ids(&claim(&store, "c", NOW + 5).await), ["$7"]);
    let removed = Some(DeliveryOutcome::Removed);
    assert_eq!(outcomes(&store, 7).await, [None, removed, removed, removed]);
    let log = store.delivery_log(7, None, 4).await.unwrap();
    assert_eq!((log[3].attempts, log[3].finished_at), (0, Some(timestamp(NOW + 5))));
    assert_eq!(waiting_count(&store).await, 1);
}

pub(crate) async fn a_delivery_expires_after_at_least_one_attempt(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let claimed = claim(&store, "c", EXPIRY + 10).await;
    assert_eq!(event_ids(&claimed), ["$1"], "there was no attempt");
    finish(&store, &claimed, DeliveryResult::Retry(timestamp(EXPIRY + 20))).await;
    assert_eq!(claim(&store, "d", EXPIRY + 20).await, []);
    assert_eq!(outcomes(&store, 7).await, [Some(DeliveryOutcome::Expired)]);
    assert_eq!(store.delivery_log(7, None, 1).await.unwrap()[0].attempts, 1);
    // Before its expiry a delivery is retried.
    enqueue(&store, &[delivery(7, 5, "$2")]).await;
    let claimed = claim(&store, "e", NOW).await;
    finish(&store, &claimed, DeliveryResult::Retry(timestamp(NOW + 1))).await;
    assert_eq!(event_ids(&claim(&store, "f", EXPIRY - 1).await), ["$2"]);
}

pub(crate) async fn each_outcome_is_stored(store: Store) {
    add_deliveries(&store, &["$1", "$2", "$3", "$4"]).await;
    let claimed = claim(&store, "c", NOW).await;
    let results: Vec<_> = claimed
        .iter()
        .zip(DeliveryOutcome::ALL)
        .map(|(claimed, outcome)| attempt_record(claimed, DeliveryResult::Finished(outcome)))
        .collect();
    store.record_attempts(&results, timestamp(NOW + 1)).await.unwrap();
    let mut expected = DeliveryOutcome::ALL.map(Some);
    expected.reverse();
    assert_eq!(outcomes(&store, 7).await, expected);
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
        let name = format!("c{index}");
        let mut claimed = store.claim_deliveries(ORIGIN, &name, 5, timestamp(NOW)).await.unwrap();
        claimed.reverse();
        finish(&store, &claimed, DELIVERED).await;
    })
    .await;
    assert_eq!(waiting_count(&store).await, 0);
    let log = store.delivery_log(7, None, 1000).await.unwrap();
    assert_eq!(log.len(), 320);
    assert!(log.iter().all(|delivery| delivery.attempts == 1));
}

pub(crate) async fn a_paused_lane_has_no_due_deliveries(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let due = async |now| store.due_origins(timestamp(now), 10).await.unwrap();
    assert_eq!(store.lane(ORIGIN).await.unwrap(), None);
    store.pause_lane(ORIGIN, timestamp(NOW + 10), 1).await.unwrap();
    let lane = |until, failures| Some(Lane { paused_until: timestamp(until), failures });
    assert_eq!(store.lane(ORIGIN).await.unwrap(), lane(NOW + 10, 1));
    assert_eq!(due(NOW + 9).await, [""; 0]);
    assert_eq!(claim(&store, "c", NOW + 9).await, []);
    assert_eq!(store.delivery_log(7, None, 1).await.unwrap()[0].due_at, timestamp(NOW + 10));
    assert_eq!(due(NOW + 10).await, [ORIGIN]);
    let claimed = claim(&store, "c", NOW + 10).await;
    assert_eq!(event_ids(&claimed), ["$1"]);
    finish(&store, &claimed, DeliveryResult::Retry(timestamp(NOW + 10))).await;
    // A shorter pause by another node does not replace a longer one.
    store.pause_lane(ORIGIN, timestamp(NOW + 30), 2).await.unwrap();
    store.pause_lane(ORIGIN, timestamp(NOW + 20), 1).await.unwrap();
    assert_eq!(store.lane(ORIGIN).await.unwrap(), lane(NOW + 30, 2));
    // A success of another node does not end a pause.
    store.clear_lane(ORIGIN, timestamp(NOW + 29)).await.unwrap();
    assert_eq!(store.lane(ORIGIN).await.unwrap(), lane(NOW + 30, 2));
    store.clear_lane(ORIGIN, timestamp(NOW + 30)).await.unwrap();
    assert_eq!(store.lane(ORIGIN).await.unwrap(), None);
    assert_eq!(due(NOW + 10).await, [ORIGIN]);
}

pub(crate) async fn a_pause_from_a_wrong_clock_is_ignored(store: Store) {
    add_deliveries(&store, &["$1"]).await;
    let hour = 3600;
    let year = 365 * 24 * 3600;
    store.pause_lane(ORIGIN, timestamp(NOW + year), 1).await.unwrap();
    assert_eq!(store.due_origins(timestamp(NOW), 10).await.unwrap(), [ORIGIN]);
    assert_eq!(event_ids(&claim(&store, "c", NOW).await), ["$1"]);
    store.release_claim("c").await.unwrap();
    store.pause_lane(ORIGIN, timestamp(NOW + 24 * hour), 1).await.unwrap();
    assert_eq!(claim(&store, "d", NOW).await, []);
    store.pause_lane(ORIGIN, timestamp(NOW + 2 * year), 2).await.unwrap();
    store.clear_lane(ORIGIN, timestamp(NOW)).await.unwrap();
    assert_eq!(store.lane(ORIGIN).await.unwrap(), None);
}

pub(crate) async fn due_lanes_are_listed_in_the_order_they_became_due(store: Store) {
    add_accounts_and_token(&store).await;
    let origins =
        ["https://c.example", "https://a.example", "https://d.example", "https://b.example"];
    for (number, origin) in (0..).zip(origins) {
        let receiver = pusher(7, number + 1, &format!("key {number}"));
        add_receiver(&store, &Receiver { origin: origin.to_owned(), ..receiver }).await;
        let later = [delivery(7, number + 1, &format!("$later{number}"))];
        store.enqueue(&message(&format!("l{number}")), &later, timestamp(NOW + 50)).await.unwrap();
        let deliveries = [delivery(7, number + 1, &format!("$e{number}"))];
        let now = timestamp(NOW + number);
        store.enqueue(&message(&format!("m{number}")), &deliveries, now).await.unwrap();
    }
    store.pause_lane("https://a.example", timestamp(NOW + 100), 1).await.unwrap();
    let due = async |now, limit| store.due_origins(timestamp(now), limit).await.unwrap();
    assert_eq!(due(NOW - 1, 10).await, [""; 0]);
    assert_eq!(due(NOW + 2, 10).await, ["https://c.example", "https://d.example"]);
    let all_but_paused = ["https://c.example", "https://d.example", "https://b.example"];
    assert_eq!(due(NOW + 60, 10).await, all_but_paused);
    assert_eq!(due(NOW + 60, 2).await, all_but_paused[..2]);
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
    let next = Receiver { created_at: timestamp(30), ..pusher(7, 21, "key 21") };
    add_receiver(&store, &next).await;
    assert!(store.receiver(7, 1).await.unwrap().is_some());
    assert_eq!(store.receiver(7, 2).await.unwrap(), None);
}
