//! Conformance cases for lanes: when they are due, and their pauses.

use std::collections::BTreeSet;

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::lane::LaneRecord;
use belfry_store::{Receiver, Store};

use super::deliveries::{
    LEASE, NOW, ORIGIN, claim, delivered, delivery, ended, enqueue, failed, record,
    store_deliveries, totals, waiting_count,
};
use super::receivers::{add_accounts_and_token, add_receiver, pusher};
use super::{run_concurrently, timestamp};

const OTHER_ORIGIN: &str = "https://other.example.org";

/// Returns the origins of the lanes that are due: first the proven ones.
async fn due_origins(store: &Store, now: i64) -> Vec<String> {
    let mut lanes = store.due_lanes(true, 100, timestamp(now)).await.unwrap();
    lanes.extend(store.due_lanes(false, 100, timestamp(now)).await.unwrap());
    lanes.into_iter().map(|lane| lane.origin).collect()
}

/// Asserts that the lane [`ORIGIN`] is due from this time.
async fn assert_due_from(store: &Store, time: i64) {
    assert_eq!(due_origins(store, time - 1).await, [""; 0]);
    assert_eq!(due_origins(store, time).await, [ORIGIN]);
}

async fn lane(store: &Store) -> LaneRecord {
    store.lane(ORIGIN).await.unwrap().unwrap().record
}

/// Adds alice's pusher 5 and a delivery to it.
async fn add_delivery(store: &Store) {
    add_accounts_and_token(store).await;
    add_receiver(store, &pusher(7, 5, "a")).await;
    enqueue(store, &[delivery(7, 5, "$1")]).await;
}

pub(crate) async fn a_paused_lane_has_no_due_deliveries(store: Store) {
    add_accounts_and_token(&store).await;
    assert_eq!(store.lane(ORIGIN).await.unwrap(), None);
    add_receiver(&store, &pusher(7, 5, "a")).await;
    enqueue(&store, &[delivery(7, 5, "$1")]).await;
    assert_due_from(&store, NOW).await;
    store.pause_lane(ORIGIN, timestamp(NOW + 10), 1).await.unwrap();
    assert_eq!(lane(&store).await.failures, 1);
    assert_eq!(claim(&store, "c", NOW + 9).await, []);
    let due_at = store.delivery_log(7, None, 1).await.unwrap()[0].due_at;
    assert_eq!(due_at, timestamp(NOW + 10));
    // Neither a new message nor a sweep ends the pause.
    add_receiver(&store, &pusher(7, 6, "b")).await;
    enqueue(&store, &[delivery(7, 6, "$1")]).await;
    store.wake_lanes(timestamp(NOW + 9)).await;
    assert_due_from(&store, NOW + 10).await;
    assert_eq!(claim(&store, "c", NOW + 10).await.len(), 2);
    // A shorter pause by another node does not replace a longer one.
    store.pause_lane(ORIGIN, timestamp(NOW + 30), 2).await.unwrap();
    store.pause_lane(ORIGIN, timestamp(NOW + 20), 1).await.unwrap();
    assert_eq!(lane(&store).await.failures, 2);
    assert_due_from(&store, NOW + 30).await;
    assert_eq!(waiting_count(&store).await, 2);
}

pub(crate) async fn a_pause_from_a_wrong_clock_is_ignored(store: Store) {
    add_delivery(&store).await;
    let hour = 3600;
    let year = 365 * 24 * 3600;
    store.pause_lane(ORIGIN, timestamp(NOW + year), 1).await.unwrap();
    store.wake_lanes(timestamp(NOW)).await;
    assert_due_from(&store, NOW).await;
    assert_eq!(claim(&store, "c", NOW).await.len(), 1);
    store.release_claim("c", timestamp(NOW)).await.unwrap();
    store.pause_lane(ORIGIN, timestamp(NOW + 24 * hour), 1).await.unwrap();
    assert_eq!(claim(&store, "d", NOW).await, []);
    store.pause_lane(ORIGIN, timestamp(NOW + 2 * year), 2).await.unwrap();
    enqueue(&store, &[delivery(7, 5, "$2")]).await;
    assert_due_from(&store, NOW).await;
    store.rest_lane(ORIGIN, &LaneRecord::default(), timestamp(NOW)).await.unwrap();
    assert_eq!(lane(&store).await.failures, 0);
    assert_due_from(&store, NOW).await;
}

pub(crate) async fn a_lane_at_rest_is_due_with_its_first_receiver_after_its_pause(store: Store) {
    add_delivery(&store).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    enqueue(&store, &[delivery(7, 6, "$1")]).await;
    let claimed = claim(&store, "c", NOW).await;
    let rest = async |now: i64, failures| {
        let is_proven = false;
        let record = LaneRecord { failures, max_in_flight: 3, is_proven, succeeded_at: None };
        store.rest_lane(ORIGIN, &record, timestamp(now)).await.unwrap();
    };
    rest(NOW, 0).await;
    assert_due_from(&store, NOW + LEASE).await;
    // One receiver fails, and the other one is proven and gets a new message.
    record(&store, &claimed[..1], NOW, |claimed| failed(claimed, NOW + 20)).await;
    record(&store, &claimed[1..], NOW, delivered).await;
    rest(NOW, 0).await;
    assert_due_from(&store, NOW + 20).await;
    let new_delivery = [delivery(7, 6, "$2")];
    store_deliveries(&store, "m2", &new_delivery, NOW + 10).await;
    assert_due_from(&store, NOW + 10).await;
    rest(NOW + 10, 0).await;
    assert_due_from(&store, NOW + 10).await;
    // Another node pauses the lane.
    store.pause_lane(ORIGIN, timestamp(NOW + 15), 3).await.unwrap();
    rest(NOW + 11, 0).await;
    assert_eq!(lane(&store).await.failures, 3);
    assert_due_from(&store, NOW + 15).await;
    let claimed = claim(&store, "d", NOW + 15).await;
    record(&store, &claimed, NOW + 15, delivered).await;
    store.pause_lane(ORIGIN, timestamp(NOW + 18), 4).await.unwrap();
    rest(NOW + 15, 0).await;
    assert_due_from(&store, NOW + 20).await;
    assert_eq!(lane(&store).await.failures, 4);
    // When the pause has ended, this node's number of failures is stored.
    rest(NOW + 18, 1).await;
    assert_eq!(lane(&store).await.failures, 1);
    let claimed = claim(&store, "e", NOW + 20).await;
    record(&store, &claimed, NOW + 20, delivered).await;
    rest(NOW + 20, 0).await;
    assert_eq!(due_origins(&store, NOW + 1_000_000).await, [""; 0]);
    assert_eq!(waiting_count(&store).await, 0);
    let proven =
        LaneRecord { is_proven: true, succeeded_at: Some(timestamp(NOW)), ..lane(&store).await };
    store.rest_lane(ORIGIN, &proven, timestamp(NOW + 20)).await.unwrap();
    assert_eq!(lane(&store).await, proven);
    assert_eq!(proven.max_in_flight, 3);
}

pub(crate) async fn due_lanes_are_listed_failing_ones_last_in_the_order_they_became_due(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    let [a, b, c, d, paused] = ["a", "b", "c", "d", "paused"].map(|name| format!("https://{name}"));
    for (number, origin) in (0..).zip([&c, &a, &d, &b, &paused]) {
        let receiver = pusher(7 + number % 2, number + 1, &format!("key {number}"));
        add_receiver(&store, &Receiver { origin: origin.clone(), ..receiver }).await;
        for (event_id, age) in [("$first", number), ("$second", number + 50)] {
            let deliveries = [delivery(7 + number % 2, number + 1, event_id)];
            let message_id = format!("{event_id} {number}");
            store_deliveries(&store, &message_id, &deliveries, NOW + age).await;
        }
    }
    store.pause_lane(&c, timestamp(NOW), 2).await.unwrap();
    store.pause_lane(&paused, timestamp(NOW + 200), 1).await.unwrap();
    let due = async |is_proven, now, limit| {
        let lanes = store.due_lanes(is_proven, limit, timestamp(now)).await.unwrap();
        lanes.into_iter().map(|lane| (lane.origin, lane.account_id)).collect::<Vec<_>>()
    };
    assert_eq!(due(false, NOW - 1, 10).await, []);
    let lanes = [(&a, 8), (&d, 7), (&b, 8), (&c, 7)].map(|(origin, id)| (origin.clone(), id));
    assert_eq!(due(false, NOW + 60, 10).await, lanes);
    assert_eq!(due(false, NOW + 1, 10).await, [lanes[0].clone(), lanes[3].clone()]);
    assert_eq!(due(false, NOW + 60, 2).await, lanes[..2]);
    let proven = LaneRecord { is_proven: true, ..LaneRecord::default() };
    store.rest_lane(&d, &proven, timestamp(NOW + 60)).await.unwrap();
    assert_eq!(due(true, NOW + 60, 10).await, lanes[1..2]);
    assert_eq!(due(false, NOW + 60, 10).await.len(), 3);
}

/// A lane that a node leaves while another one accepts a message is not due, until a sweep wakes it.
pub(crate) async fn no_message_is_forgotten_after_concurrent_enqueues_claims_and_results(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    let keys: Vec<(i64, i64)> = (1..=12).map(|id| (7 + id % 2, id)).collect();
    for &(account_id, id) in &keys {
        let origin = if id % 3 == 0 { OTHER_ORIGIN } else { ORIGIN }.to_owned();
        let receiver = pusher(account_id, id, &format!("key {id}"));
        add_receiver(&store, &Receiver { origin, ..receiver }).await;
    }
    let mut store = store;
    let mut accepted = 0;
    for round in 0..8 {
        let now = NOW + 10 * round;
        let keys = keys.clone();
        let (shared_store, counts) = run_concurrently(store, |store, index| {
            let keys = keys.clone();
            async move {
                let name = format!("{round} {index}");
                if index % 4 == 0 {
                    // The order of the receivers differs between messages.
                    let deliveries = keys.iter().cycle().skip(usize::try_from(index).unwrap());
                    let deliveries: Vec<_> = deliveries
                        .take(8)
                        .map(|&(account, id)| delivery(account, id, &name))
                        .collect();
                    return store_deliveries(&store, &name, &deliveries, now).await.new.len();
                }
                let origin = if index % 2 == 0 { ORIGIN } else { OTHER_ORIGIN };
                let claimed = store.claim_deliveries(origin, &name, 3, 3, timestamp(now)).await;
                let dropped = Some(DeliveryOutcome::Dropped);
                record(&store, &claimed.unwrap(), now, |claimed| match index % 3 {
                    0 => delivered(claimed),
                    1 => failed(claimed, now + 1),
                    _ => ended(claimed, dropped, now),
                })
                .await;
                store.rest_lane(origin, &LaneRecord::default(), timestamp(now)).await.unwrap();
                0
            }
        })
        .await;
        store = (*shared_store).clone();
        accepted += counts.iter().sum::<usize>() as u64;
        let next = now + 10;
        store.wake_lanes(timestamp(next)).await;
        let [number, waiting, ..] = totals(&store, "gateway").await;
        assert_eq!(number, accepted);
        let backlogs = store.lane_backlogs(1).await.unwrap();
        assert_eq!(backlogs.iter().map(|(_, count)| count).sum::<i64>().unsigned_abs(), waiting);
        let origins: BTreeSet<String> = backlogs.into_iter().map(|(origin, _)| origin).collect();
        assert_eq!(due_origins(&store, next).await.into_iter().collect::<BTreeSet<_>>(), origins);
    }
    assert_eq!(store.failures(), 0);
    let now = NOW + 500;
    while let [origin, ..] = &due_origins(&store, now).await[..] {
        let claimed = store.claim_deliveries(origin, "last", 64, 64, timestamp(now)).await.unwrap();
        assert_ne!(claimed, [], "{origin}");
        record(&store, &claimed, now, delivered).await;
        store.rest_lane(origin, &LaneRecord::default(), timestamp(now)).await.unwrap();
    }
    assert_eq!(waiting_count(&store).await, 0);
}
