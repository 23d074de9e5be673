//! Conformance cases for the deletion of receivers, deliveries, messages and lanes.

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::lane::LaneRecord;
use belfry_core::push::receiver::Protocol;
use belfry_store::test::any_events;
use belfry_store::{
    Admission, NewDelivery, NewMessage, NewToken, Receiver, RetentionSettings, Store, SweepOutcome,
};

use super::deliveries::{
    LEASE, ORIGIN, claim, claim_up_to, claimed_event_id, deliver, deliver_all, delivered, delivery,
    ended, failed, message, record, store_deliveries, totals, waiting_count,
};
use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{hashed_secret, timestamp, token};

const PUSH_TABLES: [&str; 4] = ["receivers", "deliveries", "messages", "lanes"];
const START: i64 = 1_800_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Sweeps every five minutes in the 65 minutes before `now`, because sweeps delete nothing until
/// the clock is trusted. Returns the number of rows deleted from receivers, deliveries, messages
/// and lanes.
async fn sweep_until(store: &Store, now: i64) -> [usize; 4] {
    let mut totals = [0; 4];
    for sweep in (0..=13).rev() {
        let now = timestamp(now - 5 * sweep * MINUTE);
        let outcome = store.sweep(&RetentionSettings::default(), now).await.unwrap();
        let SweepOutcome::Swept(counts) = outcome else { continue };
        for (table, count) in counts {
            assert!(Store::SWEPT_TABLES.contains(&table));
            if let Some(index) = PUSH_TABLES.iter().position(|name| *name == table) {
                totals[index] += count;
            }
        }
    }
    totals
}

/// Returns a delivery to alice's receiver 5 that expires at `expires_at`.
fn delivery_until(event_id: &str, expires_at: i64) -> NewDelivery {
    NewDelivery { expires_at: timestamp(expires_at), ..delivery(7, 5, event_id) }
}

pub(crate) async fn a_sweep_deletes_receivers_whose_token_is_no_longer_valid(store: Store) {
    add_accounts_and_token(&store).await;
    let expiring = |name, expires_at| NewToken {
        expires_at: Some(timestamp(expires_at)),
        ..token(name, Some(7))
    };
    let names = ["t", "revoked", "expired", "expiring"];
    store.add_token(&any_events(), &token("revoked", Some(7))).await.unwrap();
    store.add_token(&any_events(), &expiring("expired", START - 3 * MINUTE)).await.unwrap();
    store.add_token(&any_events(), &expiring("expiring", START - MINUTE)).await.unwrap();
    for (id, name) in (1..).zip(names) {
        add_receiver(&store, &subscription(id, name)).await;
    }
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(8, 6, "b")).await;
    store
        .revoke_token(&any_events(), hashed_secret("revoked").lookup_key, timestamp(50))
        .await
        .unwrap();
    // Receivers of a disabled app or account remain, because it may be enabled again.
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(1))).await.unwrap();
    store.set_account_disabled_at(&any_events(), 8, Some(timestamp(1))).await.unwrap();

    assert_eq!(sweep_until(&store, START).await, [2, 0, 0, 0]);

    for (account, id, remains) in
        [(7, 1, true), (7, 2, false), (7, 3, false), (7, 4, true), (7, 5, true), (8, 6, true)]
    {
        assert_eq!(store.receiver(account, id).await.unwrap().is_some(), remains, "{id}");
    }
    store.delete_app(&any_events(), 1).await.unwrap();
    assert_eq!(sweep_until(&store, START + DAY).await, [2, 0, 0, 0]);
}

/// Deliveries normally expire when they are claimed, but nothing is claimed during a pause.
pub(crate) async fn a_sweep_expires_attempted_deliveries_and_those_of_failing_receivers_and_lanes(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    let receivers = [
        (1, "https://failing.example"),
        (2, "https://new.example"),
        (3, ORIGIN),
        (4, ORIGIN),
        (5, ORIGIN),
    ];
    for (id, origin) in receivers {
        let receiver = pusher(7, id, &format!("key {id}"));
        add_receiver(&store, &Receiver { origin: origin.to_owned(), ..receiver }).await;
    }
    let past_expiry = START - 3 * MINUTE;
    let future_expiry = START + DAY;
    let deliveries = [
        (1, "$failing lane", past_expiry),
        (1, "$valid", future_expiry),
        (2, "$never tried", past_expiry),
        (3, "$tried", past_expiry),
        (3, "$failing receiver", past_expiry),
        (3, "$valid", future_expiry),
        (4, "$in flight", past_expiry),
        (5, "$attempted", past_expiry),
        (5, "$never tried", past_expiry),
    ];
    for (number, (receiver, event_id, expires_at)) in (0..).zip(deliveries) {
        let expires_at = timestamp(expires_at);
        let new_delivery = NewDelivery { expires_at, ..delivery(7, receiver, event_id) };
        let message_id = format!("m{number}");
        store_deliveries(&store, &message_id, &[new_delivery], START - HOUR).await;
    }
    store.pause_lane("https://failing.example", timestamp(START + DAY), 3).await.unwrap();
    let claimed = claim(&store, "tried", START - HOUR).await;
    let [to_failing, to_leased, to_other] = &claimed[..] else { panic!("{claimed:?}") };
    let results = [
        failed(to_failing, START + HOUR),
        failed(to_leased, START - HOUR),
        ended(to_other, None, START - HOUR),
    ];
    store.record_attempts(&results, timestamp(START - HOUR)).await.unwrap();
    let claimed = claim_up_to(&store, "c", 1, 1, timestamp(START - HOUR)).await;
    assert_eq!(claimed_event_id(&claimed[0]), "$in flight");

    assert_eq!(sweep_until(&store, START).await, [0, 0, 4, 0]);

    let log = store.delivery_log(7, None, 10).await.unwrap();
    let mut expired_events: Vec<&str> = log
        .iter()
        .filter(|delivery| delivery.outcome == Some(DeliveryOutcome::Expired))
        .map(|delivery| &*delivery.event_id)
        .collect();
    expired_events.sort_unstable();
    assert_eq!(expired_events, ["$attempted", "$failing lane", "$failing receiver", "$tried"]);
    assert_eq!(totals(&store, "gateway").await, [9, 5, 0, 0, 4, 0]);
    // The sweep has not changed the pause of the receiver.
    assert_eq!(claim(&store, "d", START + HOUR - 1).await.len(), 1);
    let claimed = claim(&store, "e", START + HOUR).await;
    assert_eq!(claimed.iter().map(claimed_event_id).collect::<Vec<_>>(), ["$valid"]);
    // The result of the message in flight is stored.
    let claimed = claim_up_to(&store, "f", 1, 1, timestamp(START)).await;
    assert_eq!(claimed, []);
}

pub(crate) async fn deliveries_are_deleted_7_days_after_they_finished_or_expired(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let old = START - 7 * DAY - MINUTE;
    let young = START - 7 * DAY + MINUTE;
    for (name, time) in [("$old", old), ("$young", young)] {
        let new_delivery = delivery_until(name, START + DAY);
        store_deliveries(&store, name, &[new_delivery], time).await;
        deliver(&store, time).await;
    }
    // Both expired without an attempt: one less than 7 days ago, one more.
    for (name, expires_at) in [("$waiting", young), ("$forgotten", old)] {
        let new_delivery = delivery_until(name, expires_at);
        store_deliveries(&store, name, &[new_delivery], old).await;
    }

    assert_eq!(sweep_until(&store, START).await, [0, 2, 1, 0]);
    assert_eq!(totals(&store, "gateway").await, [4, 1, 2, 0, 0, 1]);

    let log = store.delivery_log(7, None, 10).await.unwrap();
    let mut event_ids: Vec<&str> = log.iter().map(|delivery| &*delivery.event_id).collect();
    event_ids.sort_unstable();
    assert_eq!(event_ids, ["$waiting", "$young"]);
    assert_eq!(waiting_count(&store).await, 1);
}

pub(crate) async fn a_message_is_deleted_with_its_last_waiting_delivery(store: Store) {
    add_accounts_and_token(&store).await;
    for (id, key) in [(5, "a"), (6, "b"), (7, "c")] {
        add_receiver(&store, &pusher(7, id, key)).await;
    }
    let deliveries: Vec<_> = [5, 6, 7]
        .into_iter()
        .map(|id| NewDelivery { expires_at: timestamp(START + DAY), ..delivery(7, id, "$e") })
        .collect();
    store_deliveries(&store, "m", &deliveries, START).await;
    let claimed = claim(&store, "c", START).await;
    for (claimed, outcome) in
        claimed.iter().zip([Some(DeliveryOutcome::Delivered), None, Some(DeliveryOutcome::Dropped)])
    {
        let result = ended(claimed, outcome, START);
        store.record_attempts(&[result], timestamp(START)).await.unwrap();
    }
    assert_eq!(sweep_until(&store, START + 2 * HOUR).await, [0, 0, 0, 0], "one delivery waits");
    assert_eq!(claim(&store, "d", START + 1).await[0].content, "sealed m");
    store.release_claim("d", timestamp(START + 1)).await.unwrap();
    deliver(&store, START + 1).await;
    assert_eq!(sweep_until(&store, START + DAY).await, [0, 0, 0, 0], "no message is left");
}

pub(crate) async fn an_empty_lane_is_deleted_7_days_after_its_last_message_unless_it_is_paused(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    // The times of the last success and of the end of the pause.
    for (id, name, succeeded_at, paused_until, remains) in [
        (1, "waiting", START - 8 * DAY, 0, true),
        (2, "paused", START - 8 * DAY, START + HOUR, true),
        (3, "recent", START - 7 * DAY + HOUR, 0, true),
        (4, "old", START - 7 * DAY - HOUR, START - HOUR, false),
        (5, "never", 0, START - HOUR, false),
    ] {
        let origin = format!("https://{name}.example");
        let receiver = Receiver { origin: origin.clone(), ..pusher(7, id, name) };
        add_receiver(&store, &receiver).await;
        let waiting = NewDelivery { expires_at: timestamp(START + DAY), ..delivery(7, id, name) };
        store_deliveries(&store, name, &[waiting], START - 8 * DAY).await;
        if name != "waiting" {
            store.delete_receiver(&any_events(), 7, id).await.unwrap();
        }
        let record =
            LaneRecord { succeeded_at: Some(timestamp(succeeded_at)), ..LaneRecord::default() };
        store.pause_lane(&origin, timestamp(paused_until), 1).await.unwrap();
        store.rest_lane(&origin, &record, timestamp(START - 2 * HOUR)).await.unwrap();
        sweep_until(&store, START + id).await;
        assert_eq!(store.lane(&origin).await.unwrap().is_some(), remains, "{name}");
    }
}

pub(crate) async fn the_newest_100_deliveries_of_an_account_remain_after_a_day(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(8, 5, "b")).await;
    // This delivery waits for longer than a day.
    add_receiver(&store, &pusher(7, 6, "paused")).await;
    let paused = NewDelivery { receiver_id: 6, ..delivery_until("$w", START) };
    store_deliveries(&store, "w", &[paused], START).await;
    let claimed = claim(&store, "paused", START).await;
    record(&store, &claimed, START, |claimed| failed(claimed, START + 5 * DAY)).await;
    for (account, count) in [(7, 130), (8, 110)] {
        for number in 0..count {
            let id = format!("{account} {number}");
            let new_delivery =
                NewDelivery { expires_at: timestamp(START + DAY), ..delivery(account, 5, &id) };
            store_deliveries(&store, &id, &[new_delivery], START).await;
            // A receiver has at most 100 waiting deliveries.
            if number % 50 == 49 {
                deliver_all(&store, START).await;
            }
        }
    }
    deliver_all(&store, START).await;
    assert_eq!(waiting_count(&store).await, 1);
    let count_deleted_excess = async |now| {
        let counts = store.delete_excess(1, timestamp(now)).await.unwrap();
        counts.iter().map(|(_, count)| count).sum::<usize>()
    };
    assert_eq!(
        count_deleted_excess(START + DAY).await,
        0,
        "within a day, repeated requests are recognised"
    );
    let add_one = async |now: i64| {
        let new_delivery = delivery_until("$new", START + 7 * DAY);
        store_deliveries(&store, "new", &[new_delivery], now).await;
    };
    add_one(START + DAY + 1).await;
    assert_eq!(
        count_deleted_excess(START + DAY + 1).await,
        31,
        "the new delivery counts towards the 100"
    );
    assert_eq!(
        store.delivery_log(7, None, 1000).await.unwrap().len(),
        101,
        "including the waiting delivery"
    );
    assert_eq!(
        store.delivery_log(8, None, 1000).await.unwrap().len(),
        110,
        "account 8 has no new deliveries, so it is not checked"
    );
    assert_eq!(count_deleted_excess(START + DAY + 1).await, 0);
}

pub(crate) async fn a_sweep_deletes_more_receivers_than_fit_in_a_batch(store: Store) {
    add_accounts_and_token(&store).await;
    for number in 0..60 {
        let id = 1000 + number;
        let account = super::account(id, &format!("user{id}"));
        store.add_account(&any_events(), &account).await.unwrap();
        for index in 0..20 {
            let name = format!("{id} {index}");
            store.add_token(&any_events(), &token(&name, Some(id))).await.unwrap();
            let receiver = Receiver { account_id: id, ..subscription(index + 1, &name) };
            add_receiver(&store, &receiver).await;
        }
    }
    store.delete_app(&any_events(), 1).await.unwrap();
    assert_eq!(sweep_until(&store, START).await, [1200, 0, 0, 0]);
}

/// A node accepted a delivery, a server requested a pause, and a node claimed a receiver while the
/// clock was ahead.
pub(crate) async fn receivers_from_a_clock_that_was_ahead_are_due_after_it_is_set_back(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    let ahead = START + 30 * DAY;
    let enqueue = async |id: i64, event_id: &str, stored_at| {
        let new_delivery =
            NewDelivery { expires_at: timestamp(ahead + DAY), ..delivery(7, id, event_id) };
        store_deliveries(&store, &format!("{id} {event_id}"), &[new_delivery], stored_at).await;
    };
    for id in 1..=4 {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
    }
    let settings = RetentionSettings::default();
    store.sweep(&settings, timestamp(ahead)).await.unwrap();
    enqueue(1, "$claimed", ahead).await;
    assert_eq!(claim(&store, "lost", ahead).await.len(), 1);
    enqueue(2, "$retried", ahead).await;
    let claimed = claim(&store, "retried", ahead).await;
    record(&store, &claimed, ahead, |claimed| failed(claimed, ahead + HOUR)).await;
    enqueue(3, "$new", ahead).await;
    enqueue(4, "$waits for a pause", START).await;
    let claimed = claim(&store, "paused", START).await;
    record(&store, &claimed, START, |claimed| failed(claimed, START + DAY)).await;
    store.expire_leases().await;
    assert_eq!(claim(&store, "too early", START + MINUTE).await, []);

    store.sweep(&settings, timestamp(START + MINUTE)).await.unwrap();

    let claimed = claim(&store, "c", START + MINUTE).await;
    let events: Vec<&str> = claimed.iter().map(claimed_event_id).collect();
    assert_eq!(events, ["$claimed", "$retried", "$new"], "a pause of a day remains");
    let lanes = store.due_lanes(false, 10, timestamp(START + MINUTE)).await.unwrap();
    assert_eq!(lanes.len(), 1);
}

/// The clock does not decide whether a message is needed.
pub(crate) async fn a_message_without_deliveries_is_deleted_even_if_the_clock_is_not_trusted(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &pusher(7, 6, "a")).await;
    let enqueue = async |receiver: i64, content: &str| {
        let new_message = NewMessage { content: content.to_owned(), ..message("m") };
        let expires_at = timestamp(START + DAY);
        let new_delivery = NewDelivery { expires_at, ..delivery(7, receiver, "$e") };
        let now = timestamp(START);
        let stored = store.enqueue(&new_message, &[new_delivery], Admission::All, now).await;
        stored.unwrap().new.len()
    };
    assert_eq!(enqueue(5, "first").await, 1);
    let first_token = hashed_secret("t").lookup_key;
    store.revoke_token(&any_events(), first_token, timestamp(START)).await.unwrap();
    assert_eq!(claim(&store, "c", START).await, [], "the receiver is no longer live");
    let outcome = store.sweep(&RetentionSettings::default(), timestamp(START)).await.unwrap();
    assert!(matches!(outcome, SweepOutcome::ClockUntrusted(_)), "{outcome:?}");

    // A message with the same id is stored only if the first no longer exists.
    assert_eq!(enqueue(6, "second").await, 1);
    let claimed = claim(&store, "d", START).await;
    assert_eq!(claimed.iter().map(|delivery| &*delivery.content).collect::<Vec<_>>(), ["second"]);
}

/// Receivers and their deliveries end in many ways, all of which count the deliveries.
pub(crate) async fn every_accepted_delivery_waits_or_has_ended_after_any_deletion(store: Store) {
    add_accounts_and_token(&store).await;
    store.add_account(&any_events(), &super::account(9, "carol")).await.unwrap();
    for name in ["revoked", "of a deleted app"] {
        store.add_token(&any_events(), &token(name, Some(7))).await.unwrap();
    }
    let receivers = [
        pusher(7, 1, "deleted"),
        pusher(7, 2, "replaced"),
        pusher(7, 3, "moved"),
        Receiver { created_at: timestamp(1), ..pusher(7, 4, "least recently used") },
        subscription(5, "revoked"),
        subscription(6, "of a deleted app"),
        pusher(8, 7, "of a disabled account"),
        pusher(9, 8, "of a deleted account"),
        pusher(8, 9, "forgotten"),
    ];
    let events = any_events();
    let mut removed = 0;
    for receiver in receivers {
        let (account_id, id) = (receiver.account_id, receiver.id);
        add_receiver(&store, &receiver).await;
        let deliveries = ["$1", "$2"].map(|event_id| NewDelivery {
            expires_at: timestamp(START + 2 * DAY),
            ..delivery(account_id, id, event_id)
        });
        store_deliveries(&store, &format!("m{id}"), &deliveries, START).await;
        let claimed = claim(&store, &format!("c{id}"), START).await;
        assert_eq!((claimed.len(), waiting_count(&store).await), (1, 2), "{id}");
        match id {
            1 => drop(store.delete_receiver(&events, 7, 1).await.unwrap()),
            2 => drop(store.set_receiver(&events, &pusher(7, 20, "replaced")).await.unwrap()),
            3 => {
                let app_id = "org.example.app";
                let count =
                    store.remove_push_key_of_others(&events, 8, app_id, "moved", Protocol::Gateway);
                assert_eq!(count.await.unwrap(), 1);
            }
            4 => {
                for id in 101..=119 {
                    add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
                }
                assert_eq!(store.receiver(7, 4).await.unwrap(), None);
                for id in 101..=119 {
                    store.delete_receiver(&events, 7, id).await.unwrap();
                }
            }
            5 => {
                let lookup_key = hashed_secret("revoked").lookup_key;
                store.revoke_token(&events, lookup_key, timestamp(START)).await.unwrap();
                assert_eq!(sweep_until(&store, START + DAY).await[0], 1);
            }
            6 => {
                store.delete_app(&events, 1).await.unwrap();
                assert_eq!(sweep_until(&store, START + DAY + MINUTE).await[0], 1);
            }
            7 => {
                store.set_account_disabled_at(&events, 8, Some(timestamp(START))).await.unwrap();
                store.expire_leases().await;
                assert_eq!(claim(&store, "disabled", START + LEASE).await, []);
                store.set_account_disabled_at(&events, 8, None).await.unwrap();
            }
            8 => drop(store.delete_account(&events, 9, timestamp(START)).await.unwrap()),
            _ => {
                // These were never attempted, and nothing fails.
                assert_eq!(sweep_until(&store, START + 10 * DAY).await[1], 16);
            }
        }
        removed += 2;
        record(&store, &claimed, START, delivered).await;
        let all = [totals(&store, "gateway").await, totals(&store, "mastodon").await];
        let sums: Vec<u64> = all[0].iter().zip(all[1]).map(|(left, right)| left + right).collect();
        assert_eq!(sums, [removed, 0, 0, 0, 0, removed], "{id}");
    }
}
