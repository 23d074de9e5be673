//! Conformance cases for enqueuing deliveries once, and for the delivery log.

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::DeliveryDetails;
use belfry_core::secret::Sha256Digest;
use belfry_store::test::any_events;
use belfry_store::{
    Admission, AttemptRecord, ClaimedDelivery, LoggedDelivery, MAX_WAITING_PER_RECEIVER,
    NewDelivery, NewMessage, QueueStatus, Receiver, ReceiverResult, Store, StoredDeliveries,
};
use jiff::Timestamp;

use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{account, hashed_secret, run_concurrently, timestamp};

/// The time at which the cases store deliveries, which expire at [`EXPIRY`].
pub(crate) const NOW: i64 = 1000;
pub(crate) const EXPIRY: i64 = 2000;

/// [`Store::LEASE`] in seconds.
pub(crate) const LEASE: i64 = Store::LEASE.as_secs().cast_signed();

pub(crate) const ORIGIN: &str = "https://push.example.org";

pub(crate) fn message(id: &str) -> NewMessage {
    NewMessage { id: id.to_owned(), content: format!("sealed {id}") }
}

/// Returns a delivery to a receiver. The key is derived from the event id and the receiver.
pub(crate) fn delivery(account_id: i64, receiver_id: i64, event_id: &str) -> NewDelivery {
    NewDelivery {
        dedup_key: Sha256Digest::compute(&format!("{event_id} {account_id} {receiver_id}")),
        account_id,
        receiver_id,
        event_id: event_id.to_owned(),
        room_id: Some("!room:example.org".to_owned()),
        topic: Some(format!("topic of {event_id}")),
        details: details(event_id),
        expires_at: timestamp(EXPIRY),
    }
}

/// Returns details that differ between events.
fn details(event_id: &str) -> DeliveryDetails {
    DeliveryDetails { rule: Some(event_id.to_owned()), ..DeliveryDetails::default() }
}

pub(crate) fn claimed_event_id(claimed: &ClaimedDelivery) -> &str {
    claimed.details.rule.as_deref().unwrap()
}

/// Stores deliveries of one message for all receivers.
pub(crate) async fn store_deliveries(
    store: &Store,
    message_id: &str,
    deliveries: &[NewDelivery],
    now: i64,
) -> StoredDeliveries {
    let message = message(message_id);
    store.enqueue(&message, deliveries, Admission::All, timestamp(now)).await.unwrap()
}

/// Stores deliveries. Returns the number of those that are stored now.
async fn stored_count(store: &Store, message_id: &str, deliveries: &[NewDelivery]) -> usize {
    let stored = store_deliveries(store, message_id, deliveries, NOW).await;
    stored.new.len() + stored.repeated
}

/// Stores deliveries of one message, and asserts that none is omitted.
pub(crate) async fn enqueue(store: &Store, deliveries: &[NewDelivery]) {
    let message_id = deliveries[0].dedup_key.to_text();
    assert_eq!(stored_count(store, &message_id, deliveries).await, deliveries.len());
}

/// Claims up to 64 receivers of [`ORIGIN`]. Returns their next deliveries, in the order of the
/// receivers.
pub(crate) async fn claim(store: &Store, name: &str, now: i64) -> Vec<ClaimedDelivery> {
    claim_up_to(store, name, 64, 64, timestamp(now)).await
}

pub(crate) async fn claim_up_to(
    store: &Store,
    name: &str,
    limit: usize,
    max_unproven: usize,
    now: Timestamp,
) -> Vec<ClaimedDelivery> {
    let mut claimed = store.claim_deliveries(ORIGIN, name, limit, max_unproven, now).await.unwrap();
    claimed.sort_by_key(|claimed| (claimed.key.account_id, claimed.key.receiver_id));
    claimed
}

/// Returns the result of an attempt that delivered its message.
pub(crate) fn delivered(claimed: &ClaimedDelivery) -> AttemptRecord {
    AttemptRecord {
        key: claimed.key.clone(),
        outcome: Some(DeliveryOutcome::Delivered),
        receiver: ReceiverResult::Success,
        status: Some(201),
        error: None,
    }
}

/// Returns the result of a failed attempt, after which the receiver pauses.
pub(crate) fn failed(claimed: &ClaimedDelivery, paused_until: i64) -> AttemptRecord {
    let paused_until = timestamp(paused_until);
    AttemptRecord {
        outcome: None,
        receiver: ReceiverResult::Failure { paused_until, is_denial: false },
        status: None,
        error: Some(AttemptError::Timeout),
        ..delivered(claimed)
    }
}

/// Returns the result of an attempt that says nothing about its receiver.
pub(crate) fn ended(
    claimed: &ClaimedDelivery,
    outcome: Option<DeliveryOutcome>,
    due_at: i64,
) -> AttemptRecord {
    let due_at = timestamp(due_at);
    AttemptRecord { outcome, receiver: ReceiverResult::Unknown { due_at }, ..delivered(claimed) }
}

/// Stores the results of attempts.
pub(crate) async fn record(
    store: &Store,
    claimed: &[ClaimedDelivery],
    now: i64,
    result: impl Fn(&ClaimedDelivery) -> AttemptRecord,
) {
    let results: Vec<_> = claimed.iter().map(result).collect();
    store.record_attempts(&results, timestamp(now)).await.unwrap();
}

/// Delivers the next messages to up to 64 due receivers of [`ORIGIN`]. Returns their number.
pub(crate) async fn deliver(store: &Store, now: i64) -> usize {
    let claimed = claim(store, "deliver", now).await;
    record(store, &claimed, now, delivered).await;
    claimed.len()
}

/// Delivers all due messages to [`ORIGIN`].
pub(crate) async fn deliver_all(store: &Store, now: i64) {
    while deliver(store, now).await > 0 {}
}

pub(crate) async fn status(store: &Store) -> QueueStatus {
    store.assert_queue_is_consistent().await;
    store.queue_status().await.unwrap()
}

pub(crate) async fn waiting_count(store: &Store) -> u64 {
    status(store).await.waiting
}

/// Returns how many deliveries of a protocol were accepted, wait, and have ended with each outcome
/// in the order of [`DeliveryOutcome`].
pub(crate) async fn totals(store: &Store, protocol: &str) -> [u64; 6] {
    let totals = status(store).await.totals;
    ["accepted", "waiting", "delivered", "dropped", "expired", "removed"].map(|event| {
        totals.get(&(protocol.to_owned(), event.to_owned())).copied().unwrap_or_default()
    })
}

/// Returns the outcomes in an account's log, the newest first.
pub(crate) async fn outcomes(store: &Store, account_id: i64) -> Vec<Option<DeliveryOutcome>> {
    let log = store.delivery_log(account_id, None, 100).await.unwrap();
    log.iter().map(|delivery| delivery.outcome).collect()
}

pub(crate) async fn a_delivery_is_stored_claimed_and_logged(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &subscription(5, "t")).await;
    assert_eq!(status(&store).await, QueueStatus::default());
    assert_eq!(stored_count(&store, "m", &[delivery(7, 5, "$e")]).await, 1);
    let key = |event: &str| ("mastodon".to_owned(), event.to_owned());
    let waiting_status = QueueStatus {
        waiting: 1,
        oldest_at: Some(timestamp(NOW)),
        totals: [(key("accepted"), 1), (key("waiting"), 1)].into(),
    };
    assert_eq!(status(&store).await, waiting_status);
    let log = store.delivery_log(7, None, 10).await.unwrap();
    let waiting = LoggedDelivery {
        receiver_id: 5,
        event_id: "$e".to_owned(),
        details: details("$e"),
        created_at: timestamp(NOW),
        expires_at: timestamp(EXPIRY),
        due_at: timestamp(NOW),
        attempts: 0,
        outcome: None,
        status: None,
        error: None,
        finished_at: None,
    };
    assert_eq!(log, std::slice::from_ref(&waiting));

    let claimed = claim(&store, "c", NOW).await;
    let receiver = store.receiver(7, 5).await.unwrap().unwrap();
    let [claimed] = &claimed[..] else { panic!("{claimed:?}") };
    assert_eq!(claimed.receiver, receiver);
    assert_eq!((&*claimed.content, &*claimed.key.message_id), ("sealed m", "m"));
    assert_eq!((claimed.key.account_id, claimed.key.receiver_id), (7, 5));
    assert_eq!(
        (&claimed.details, claimed.topic.as_deref()),
        (&waiting.details, Some("topic of $e"))
    );
    assert_eq!((claimed.created_at, claimed.expires_at), (timestamp(NOW), timestamp(EXPIRY)));

    let result = delivered(claimed);
    store.record_attempts(&[result], timestamp(NOW + 1)).await.unwrap();
    let delivered = LoggedDelivery {
        attempts: 1,
        outcome: Some(DeliveryOutcome::Delivered),
        status: Some(201),
        finished_at: Some(timestamp(NOW + 1)),
        ..waiting
    };
    assert_eq!(store.delivery_log(7, None, 10).await.unwrap(), std::slice::from_ref(&delivered));
    assert_eq!(store.delivery_log(7, Some("$e"), 10).await.unwrap(), [delivered]);
    assert_eq!(store.delivery_log(7, Some("$f"), 10).await.unwrap(), []);
    assert_eq!(store.delivery_log(8, Some("$e"), 10).await.unwrap(), []);
    assert_eq!(store.delivery_log(8, None, 10).await.unwrap(), []);
    let totals = [(key("accepted"), 1), (key("delivered"), 1)].into();
    assert_eq!(status(&store).await, QueueStatus { totals, ..QueueStatus::default() });
}

pub(crate) async fn a_repeated_request_stores_nothing_and_returns_the_same_count(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(8, 6, "b")).await;
    let deliveries = [delivery(7, 5, "$e"), delivery(8, 6, "$e"), delivery(8, 9, "$e")];
    for message_id in ["m1", "m2"] {
        let count = stored_count(&store, message_id, &deliveries).await;
        assert_eq!(count, 2, "account 8 has no receiver 9");
    }
    assert_eq!(waiting_count(&store).await, 2);
    let claimed = claim(&store, "c", NOW).await;
    let contents: Vec<&str> = claimed.iter().map(|claimed| &*claimed.content).collect();
    assert_eq!(contents, ["sealed m1"; 2]);
    // A repeated delivery is recognised even after the first was delivered.
    store.release_claim("c", timestamp(NOW)).await.unwrap();
    deliver(&store, NOW).await;
    let more = [delivery(7, 5, "$e"), delivery(7, 5, "$f")];
    let stored = store_deliveries(&store, "m3", &more, NOW).await;
    let new = std::collections::HashSet::from([more[1].dedup_key]);
    assert_eq!(stored, StoredDeliveries { new, repeated: 1 });
    let keys = more.map(|delivery| delivery.dedup_key);
    assert_eq!(store.stored_deliveries(&keys).await.unwrap().len(), 2);
    assert_eq!(waiting_count(&store).await, 1);
}

pub(crate) async fn concurrent_requests_with_the_same_deliveries_store_them_once(store: Store) {
    add_accounts_and_token(&store).await;
    for id in 1..=20 {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
    }
    let (store, counts) = run_concurrently(store, |store, index| async move {
        let mut deliveries: Vec<_> = (1..=20).map(|id| delivery(7, id, "$e")).collect();
        let length = deliveries.len();
        deliveries.rotate_left(usize::try_from(index).unwrap() % length);
        stored_count(&store, &format!("m{index}"), &deliveries).await
    })
    .await;
    assert!(counts.iter().all(|count| *count == 20), "{counts:?}");
    assert_eq!(waiting_count(&store).await, 20);
    let claimed = claim(&store, "c", NOW).await;
    assert_eq!(claimed.len(), 20);
    let message_id = &claimed[0].key.message_id;
    assert!(claimed.iter().all(|claimed| claimed.key.message_id == *message_id));
}

pub(crate) async fn nothing_is_stored_for_a_receiver_that_is_not_live(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &pusher(8, 6, "b")).await;
    store.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(50)).await.unwrap();
    store.set_account_disabled_at(&any_events(), 8, Some(timestamp(1))).await.unwrap();
    let deliveries = [delivery(7, 5, "$e"), delivery(8, 6, "$e"), delivery(9, 6, "$e")];
    assert_eq!(stored_count(&store, "m", &deliveries).await, 0);
    assert_eq!(stored_count(&store, "m", &[]).await, 0);
    assert_eq!(waiting_count(&store).await, 0);
}

pub(crate) async fn a_receiver_has_at_most_100_waiting_deliveries(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(8, 6, "b")).await;
    let deliveries: Vec<_> = (0..MAX_WAITING_PER_RECEIVER)
        .map(|number| delivery(7, 5, &format!("$e{number}")))
        .collect();
    enqueue(&store, &deliveries).await;
    let more = [delivery(7, 5, "$more"), delivery(7, 5, "$e0"), delivery(8, 6, "$more")];
    assert_eq!(stored_count(&store, "n", &more).await, 2, "one was already stored");
    assert_eq!(waiting_count(&store).await, 101);
    deliver(&store, NOW).await;
    let last = [delivery(7, 5, "$last")];
    assert_eq!(stored_count(&store, "o", &more).await, 3);
    assert_eq!(stored_count(&store, "p", &last).await, 0);
}

pub(crate) async fn the_newest_deliveries_of_an_account_are_listed(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(7, 6, "b")).await;
    add_receiver(&store, &pusher(8, 5, "c")).await;
    for event_id in ["$1", "$2", "$3"] {
        enqueue(&store, &[delivery(7, 5, event_id)]).await;
        enqueue(&store, &[delivery(8, 5, event_id)]).await;
    }
    let log = store.delivery_log(7, None, 2).await.unwrap();
    let event_ids: Vec<&str> = log.iter().map(|delivery| &*delivery.event_id).collect();
    assert_eq!(event_ids, ["$3", "$2"]);
    let again = NewDelivery { event_id: "$1".to_owned(), ..delivery(7, 6, "again") };
    enqueue(&store, &[again]).await;
    let of_event = store.delivery_log(7, Some("$1"), 10).await.unwrap();
    let receivers: Vec<i64> = of_event.iter().map(|delivery| delivery.receiver_id).collect();
    assert_eq!(receivers, [6, 5]);
    assert_eq!(store.delivery_log(7, Some("$1"), 1).await.unwrap(), of_event[..1]);
}

pub(crate) async fn lanes_with_many_waiting_deliveries_are_listed(store: Store) {
    add_accounts_and_token(&store).await;
    let other = "https://other.example.org";
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &Receiver { origin: other.to_owned(), ..pusher(7, 6, "b") }).await;
    for number in 0..3 {
        enqueue(&store, &[delivery(7, 5, &format!("$a{number}"))]).await;
    }
    enqueue(&store, &[delivery(7, 6, "$b")]).await;
    let both = [(other.to_owned(), 1), (ORIGIN.to_owned(), 3)];
    assert_eq!(store.lane_backlogs(1).await.unwrap(), both);
    assert_eq!(store.lane_backlogs(3).await.unwrap(), both[1..]);
    assert_eq!(store.lane_backlogs(4).await.unwrap(), []);
}

pub(crate) async fn nothing_is_stored_for_failing_receivers_and_lanes_if_only_working_ones_are_admitted(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    let failing_origin = "https://failing.example.org";
    add_receiver(&store, &pusher(7, 1, "works")).await;
    add_receiver(&store, &pusher(7, 2, "fails")).await;
    add_receiver(&store, &pusher(7, 3, "new")).await;
    let in_failing_lane = Receiver { origin: failing_origin.to_owned(), ..pusher(7, 4, "lane") };
    add_receiver(&store, &in_failing_lane).await;
    enqueue(&store, &[1, 2, 4].map(|id| delivery(7, id, "$first"))).await;
    let claimed = claim(&store, "c", NOW).await;
    record(&store, &claimed[..1], NOW, delivered).await;
    record(&store, &claimed[1..], NOW, |claimed| failed(claimed, NOW)).await;
    store.pause_lane(failing_origin, timestamp(NOW), 1).await.unwrap();

    let enqueue = async |event_id: &str, admission| {
        let deliveries = [1, 2, 3, 4].map(|id| delivery(7, id, event_id));
        let new_message = message(event_id);
        let stored = store.enqueue(&new_message, &deliveries, admission, timestamp(NOW)).await;
        let new = stored.unwrap().new;
        deliveries.map(|delivery| new.contains(&delivery.dedup_key))
    };
    assert_eq!(enqueue("$working", Admission::Working).await, [true, false, true, false]);
    assert_eq!(enqueue("$all", Admission::All).await, [true; 4]);
    assert_eq!(enqueue("$working", Admission::All).await, [false, true, false, true]);
    assert_eq!(totals(&store, "gateway").await, [11, 10, 1, 0, 0, 0]);
}

pub(crate) async fn no_delivery_remains_if_it_is_claimed_while_its_account_is_deleted(
    store: Store,
) {
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    for round in 0..5 {
        let id = 100 + round;
        store.add_account(&any_events(), &account(id, &format!("user{id}"))).await.unwrap();
        for receiver_id in 1..=10 {
            add_receiver(&store, &pusher(id, receiver_id, &format!("key {receiver_id}"))).await;
        }
        let deliveries: Vec<_> =
            (0..50).map(|number| delivery(id, 1 + number % 10, &format!("${number}"))).collect();
        store_deliveries(&store, &format!("m{id}"), &deliveries, NOW).await;
        let name = format!("c{round}");
        let events = any_events();
        let (claimed, deleted) = tokio::join!(
            claim(&store, &name, NOW),
            store.delete_account(&events, id, timestamp(NOW))
        );
        deleted.unwrap();
        record(&store, &claimed, NOW, delivered).await;
        assert_eq!(store.delivery_log(id, None, 100).await.unwrap(), []);
        assert_eq!(waiting_count(&store).await, 0);
    }
}
