//! Conformance cases for deliveries that are removed because no one needs them any more.

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::read_request::ReadMessages;
use belfry_core::push::receiver::Protocol;
use belfry_store::{MAX_WAITING_PER_RECEIVER, NewDelivery, Store};
use jiff::Timestamp;

use super::deliveries::{
    EXPIRY, NOW, claim, deliver, delivered, delivery, enqueue, failed, store_deliveries,
    waiting_count,
};
use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{run_concurrently, timestamp};

/// Returns a delivery to a receiver of alice.
fn in_topic(receiver_id: i64, event_id: &str, topic: &str) -> NewDelivery {
    NewDelivery { topic: Some(topic.to_owned()), ..delivery(7, receiver_id, event_id) }
}

fn in_room(receiver_id: i64, event_id: &str, room_id: &str) -> NewDelivery {
    let room_id = Some(room_id.to_owned());
    NewDelivery { room_id, topic: None, ..delivery(7, receiver_id, event_id) }
}

/// Returns the events of alice's removed deliveries, in order, with the reasons.
async fn removed(store: &Store) -> Vec<(String, i64, Option<AttemptError>)> {
    let log = store.delivery_log(7, None, 1000).await.unwrap();
    let mut removed: Vec<_> = log
        .into_iter()
        .filter(|delivery| delivery.outcome == Some(DeliveryOutcome::Removed))
        .map(|delivery| (delivery.event_id, delivery.receiver_id, delivery.error))
        .collect();
    removed.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
    removed
}

fn replaced(event_id: &str, receiver_id: i64) -> (String, i64, Option<AttemptError>) {
    (event_id.to_owned(), receiver_id, Some(AttemptError::Replaced))
}

/// Returns the events that wait for alice's receivers, in order.
async fn waiting_events(store: &Store) -> Vec<String> {
    let log = store.delivery_log(7, None, 1000).await.unwrap();
    let waiting = log.into_iter().filter(|delivery| delivery.outcome.is_none());
    let mut events: Vec<String> = waiting.map(|delivery| delivery.event_id).collect();
    events.sort();
    events
}

async fn read(store: &Store, messages: &ReadMessages) -> usize {
    store.remove_read_deliveries(7, messages, timestamp(NOW + 1)).await.unwrap()
}

pub(crate) async fn a_newer_message_of_a_topic_replaces_the_waiting_one(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    add_receiver(&store, &pusher(8, 5, "c")).await;
    let of_bob = NewDelivery { account_id: 8, ..in_topic(5, "$of bob", "t") };
    enqueue(&store, &[in_topic(5, "$1", "t"), in_topic(6, "$1", "t"), of_bob]).await;
    enqueue(&store, &[in_topic(5, "$other", "u"), in_room(5, "$none", "!r")]).await;

    enqueue(&store, &[in_topic(5, "$2", "t")]).await;

    assert_eq!(removed(&store).await, [replaced("$1", 5)]);
    assert_eq!(waiting_events(&store).await, ["$1", "$2", "$none", "$other"]);
    // A repeated request does not replace the newer message.
    enqueue(&store, &[in_topic(5, "$1", "t")]).await;
    assert_eq!(waiting_count(&store).await, 5);
    assert_eq!(store.delivery_log(8, None, 10).await.unwrap()[0].outcome, None);
    let totals = store.queue_status().await.unwrap().totals;
    let gateway = |event: &str| totals[&(Protocol::Gateway.as_str().to_owned(), event.to_owned())];
    assert_eq!((gateway("accepted"), gateway("removed"), gateway("waiting")), (6, 1, 5));
}

pub(crate) async fn a_full_receiver_accepts_a_message_that_replaces_another(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    enqueue(&store, &[in_topic(5, "$old", "t")]).await;
    for number in 1..MAX_WAITING_PER_RECEIVER {
        enqueue(&store, &[in_room(5, &format!("${number}"), "!r")]).await;
    }
    for (event_id, topic, count) in [("$other", "u", 0), ("$new", "t", 1)] {
        let stored = store_deliveries(&store, "m", &[in_topic(5, event_id, topic)], NOW).await;
        assert_eq!(stored.new.len(), count, "{event_id}");
    }
    assert_eq!(waiting_count(&store).await, MAX_WAITING_PER_RECEIVER.cast_unsigned());
    assert_eq!(removed(&store).await, [replaced("$old", 5)]);
}

pub(crate) async fn a_delivery_in_flight_is_neither_replaced_nor_withdrawn(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let in_both = |event_id: &str| NewDelivery {
        room_id: Some("!r".to_owned()),
        ..in_topic(5, event_id, "t")
    };
    let all_of_room = ReadMessages::Room { room_id: "!r".to_owned(), up_to_ms: u64::MAX };
    enqueue(&store, &[in_both("$1")]).await;
    // Also during a second attempt, before which the newer ones would be sent.
    for attempt in ["first", "second"] {
        let claimed = claim(&store, attempt, NOW + 10).await;
        assert_eq!(claimed[0].details.rule.as_deref(), Some("$1"), "{attempt}");
        for number in 1..=2 {
            enqueue(&store, &[in_both(&format!("${attempt} {number}"))]).await;
        }
        let expected = ["$1".to_owned(), format!("${attempt} 2")];
        assert_eq!(waiting_events(&store).await, expected, "{attempt}");
        assert_eq!(read(&store, &all_of_room).await, 1);
        assert_eq!(waiting_events(&store).await, ["$1"], "{attempt}");
        let result =
            if attempt == "first" { failed(&claimed[0], NOW) } else { delivered(&claimed[0]) };
        store.record_attempts(&[result], timestamp(NOW + 10)).await.unwrap();
    }
    let log = store.delivery_log(7, None, 100).await.unwrap();
    let first = log.last().unwrap();
    assert_eq!((first.outcome, first.attempts), (Some(DeliveryOutcome::Delivered), 2));
    assert_eq!(waiting_count(&store).await, 0);
}

/// The delivery that was next before the claim has expired.
pub(crate) async fn the_delivery_after_an_expired_one_is_in_flight(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    enqueue(&store, &[in_room(5, "$0", "!r")]).await;
    let result = failed(&claim(&store, "first", NOW).await[0], NOW + 10);
    store.record_attempts(&[result], timestamp(NOW)).await.unwrap();
    let expired = NewDelivery { expires_at: timestamp(NOW + 5), ..in_room(5, "$1", "!r") };
    enqueue(&store, &[expired]).await;
    enqueue(&store, &[in_room(5, "$2", "!r")]).await;
    let claimed = claim(&store, "second", NOW + 10).await;
    assert_eq!(claimed[0].details.rule.as_deref(), Some("$2"));
    let all_of_room = ReadMessages::Room { room_id: "!r".to_owned(), up_to_ms: u64::MAX };
    assert_eq!(read(&store, &all_of_room).await, 1);
    assert_eq!(waiting_events(&store).await, ["$2"]);
}

/// Otherwise, the receiver would get the older message last.
pub(crate) async fn a_failed_delivery_is_removed_if_a_newer_one_of_its_topic_waits(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    enqueue(&store, &[in_topic(5, "$1", "t"), in_topic(6, "$1", "t")]).await;
    let claimed = claim(&store, "c", NOW).await;
    enqueue(&store, &[in_topic(5, "$2", "t"), in_topic(6, "$2", "u")]).await;
    let results: Vec<_> = claimed.iter().map(|claimed| failed(claimed, NOW + 1)).collect();
    store.record_attempts(&results, timestamp(NOW + 1)).await.unwrap();
    assert_eq!(removed(&store).await, [replaced("$1", 5)]);
    assert_eq!(waiting_events(&store).await, ["$1", "$2", "$2"]);
    assert_eq!(claim(&store, "d", NOW + 1).await.len(), 2, "the receivers are released");
}

pub(crate) async fn messages_that_were_read_are_withdrawn(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &subscription(6, "t")).await;
    add_receiver(&store, &pusher(8, 5, "b")).await;
    let of_bob = NewDelivery { account_id: 8, ..in_room(5, "$of bob", "!r") };
    let notification = |id: &str| NewDelivery { room_id: None, ..in_room(6, id, "") };
    let now_ms = u64::try_from(NOW).unwrap() * 1000;
    for (milliseconds, deliveries) in [
        (0, vec![in_room(5, "$1", "!r"), in_room(5, "$2", "!r"), of_bob]),
        (5, vec![in_room(5, "$3", "!r"), in_room(5, "$4", "!s")]),
        (
            5,
            vec![
                notification("1"),
                notification("2"),
                NewDelivery { room_id: None, ..in_room(5, "1", "") },
            ],
        ),
    ] {
        let now = Timestamp::from_millisecond(NOW * 1000 + milliseconds).unwrap();
        let message = super::deliveries::message(&deliveries[0].dedup_key.to_text());
        let stored = store.enqueue(&message, &deliveries, belfry_store::Admission::All, now).await;
        assert_eq!(stored.unwrap().new.len(), deliveries.len());
    }
    let room = |up_to_ms| ReadMessages::Room { room_id: "!r".to_owned(), up_to_ms };
    let many_ids = (0..60).map(|number| format!("${number}"));
    let events = ReadMessages::Events { room_id: "!s".to_owned(), event_ids: many_ids.collect() };
    let notifications =
        |ids: &[&str]| ReadMessages::Notifications(ids.iter().map(|id| (*id).to_owned()).collect());
    for (messages, count, waiting) in [
        (room(now_ms - 1), 0, &["$1", "$2", "$3", "$4", "1", "1", "2"][..]),
        (room(now_ms + 4), 2, &["$3", "$4", "1", "1", "2"]),
        (room(now_ms + 4), 0, &["$3", "$4", "1", "1", "2"]),
        (room(now_ms + 5), 1, &["$4", "1", "1", "2"]),
        (notifications(&[]), 0, &["$4", "1", "1", "2"]),
        (notifications(&["1", "7"]), 1, &["$4", "1", "2"]),
        (events, 1, &["1", "2"]),
    ] {
        assert_eq!(read(&store, &messages).await, count, "{messages:?}");
        assert_eq!(waiting_events(&store).await, waiting, "{messages:?}");
    }
    let removed = removed(&store).await;
    assert_eq!(removed.len(), 5);
    assert!(removed.iter().all(|(_, _, error)| *error == Some(AttemptError::ReadElsewhere)));
    assert_eq!(store.delivery_log(8, None, 10).await.unwrap()[0].outcome, None);
    deliver(&store, EXPIRY).await;
    deliver(&store, EXPIRY).await;
    assert_eq!(waiting_count(&store).await, 0, "withdrawn messages leave nothing behind");
}

pub(crate) async fn concurrent_messages_of_a_topic_leave_one(store: Store) {
    add_accounts_and_token(&store).await;
    for id in 1..=3 {
        add_receiver(&store, &pusher(7, id, &id.to_string())).await;
    }
    let all_of_room = ReadMessages::Room { room_id: "!none".to_owned(), up_to_ms: u64::MAX };
    let (store, _) = run_concurrently(store, move |store, index| {
        let all_of_room = all_of_room.clone();
        async move {
            let event_id = format!("${index}");
            let deliveries: Vec<_> =
                (1..=3).map(|receiver_id| in_topic(receiver_id, &event_id, "t")).collect();
            enqueue(&store, &deliveries).await;
            read(&store, &all_of_room).await;
            for claimed in claim(&store, &index.to_string(), NOW).await {
                store.record_attempts(&[failed(&claimed, NOW)], timestamp(NOW)).await.unwrap();
            }
        }
    })
    .await;
    assert_eq!(waiting_count(&store).await, 3);
}
