//! Conformance cases for the deletion of receivers, deliveries, messages and lanes.

use belfry_store::test::any_events;
use belfry_store::{
    DeliveryOutcome, DeliveryResult, NewDelivery, NewMessage, NewToken, Receiver,
    RetentionSettings, Store, SweepOutcome,
};

use super::deliveries::{
    ORIGIN, attempt_record, claim, claimed_event_id, deliver, delivery, message, waiting_count,
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

/// Deliveries normally expire when they are claimed, but nothing is claimed from a paused lane.
pub(crate) async fn a_sweep_expires_attempted_deliveries_and_those_of_failing_lanes(store: Store) {
    add_accounts_and_token(&store).await;
    let receivers = [(1, "https://failing.example"), (2, "https://new.example"), (3, ORIGIN)];
    for (id, origin) in receivers {
        let receiver = pusher(7, id, &format!("key {id}"));
        add_receiver(&store, &Receiver { origin: origin.to_owned(), ..receiver }).await;
    }
    store.pause_lane("https://failing.example", timestamp(START + DAY), 3).await.unwrap();
    let past_expiry = START - 3 * MINUTE;
    let future_expiry = START + DAY;
    let deliveries = [
        (1, "$failing", past_expiry),
        (1, "$valid", future_expiry),
        (2, "$never tried", past_expiry),
        (3, "$tried 1", past_expiry),
        (3, "$tried 2", past_expiry),
    ];
    for (receiver, event_id, expires_at) in deliveries {
        let expires_at = timestamp(expires_at);
        let new_delivery = NewDelivery { expires_at, ..delivery(7, receiver, event_id) };
        let now = timestamp(expires_at.as_second() - HOUR);
        store.enqueue(&message(event_id), &[new_delivery], now).await.unwrap();
    }
    let claimed = claim(&store, "tried", START - HOUR).await;
    let retries: Vec<_> = claimed
        .iter()
        .map(|claimed| attempt_record(claimed, DeliveryResult::Retry(timestamp(START - HOUR))))
        .collect();
    store.record_attempts(&retries, timestamp(START - HOUR)).await.unwrap();
    let claimed = store.claim_deliveries(ORIGIN, "c", 1, timestamp(START - HOUR)).await.unwrap();
    let claimed_event = claimed_event_id(&claimed[0]);

    assert_eq!(sweep_until(&store, START).await, [0, 0, 2, 0]);

    let log = store.delivery_log(7, None, 10).await.unwrap();
    let mut expired_events: Vec<&str> = log
        .iter()
        .filter(|delivery| delivery.outcome == Some(DeliveryOutcome::Expired))
        .map(|delivery| &*delivery.event_id)
        .collect();
    expired_events.sort_unstable();
    let unclaimed = if claimed_event == "$tried 1" { "$tried 2" } else { "$tried 1" };
    assert_eq!(expired_events, ["$failing", unclaimed]);
}

pub(crate) async fn deliveries_are_deleted_7_days_after_they_finished_or_expired(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let old = START - 7 * DAY - MINUTE;
    let young = START - 7 * DAY + MINUTE;
    for (name, time) in [("$old", old), ("$young", young)] {
        let new_delivery = delivery_until(name, START + DAY);
        store.enqueue(&message(name), &[new_delivery], timestamp(time)).await.unwrap();
        deliver(&store, time).await;
    }
    // Both expired without an attempt: one less than 7 days ago, one more.
    for (name, expires_at) in [("$waiting", young), ("$forgotten", old)] {
        let new_delivery = delivery_until(name, expires_at);
        store.enqueue(&message(name), &[new_delivery], timestamp(old)).await.unwrap();
    }

    assert_eq!(sweep_until(&store, START).await, [0, 2, 1, 0]);

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
    store.enqueue(&message("m"), &deliveries, timestamp(START)).await.unwrap();
    let claimed = claim(&store, "c", START).await;
    let finish = async |index: usize, result| {
        let result = attempt_record(&claimed[index], result);
        store.record_attempts(&[result], timestamp(START)).await.unwrap();
    };
    finish(0, DeliveryResult::Finished(DeliveryOutcome::Delivered)).await;
    finish(1, DeliveryResult::Retry(timestamp(START))).await;
    finish(2, DeliveryResult::Finished(DeliveryOutcome::Dropped)).await;
    assert_eq!(sweep_until(&store, START + 2 * HOUR).await, [0, 0, 0, 0], "one delivery waits");
    assert_eq!(claim(&store, "d", START + 1).await[0].content, "sealed m");
    store.release_claim("d").await.unwrap();
    deliver(&store, START + 1).await;
    let lanes = 1;
    assert_eq!(sweep_until(&store, START + DAY).await, [0, 0, 0, lanes], "no message is left");
}

pub(crate) async fn an_empty_lane_that_is_not_paused_is_deleted(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let waiting = delivery_until("$e", START + DAY);
    store.enqueue(&message("m"), &[waiting], timestamp(START)).await.unwrap();
    store.pause_lane(ORIGIN, timestamp(START - HOUR), 3).await.unwrap();
    store.pause_lane("https://paused.example", timestamp(START + HOUR), 1).await.unwrap();
    store.pause_lane("https://old.example", timestamp(START - HOUR), 1).await.unwrap();
    assert_eq!(sweep_until(&store, START).await, [0, 0, 0, 1]);
    for (origin, remains) in
        [(ORIGIN, true), ("https://paused.example", true), ("https://old.example", false)]
    {
        assert_eq!(store.lane(origin).await.unwrap().is_some(), remains, "{origin}");
    }
}

pub(crate) async fn the_newest_100_deliveries_of_an_account_remain_after_a_day(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    add_receiver(&store, &pusher(8, 5, "b")).await;
    // This delivery waits for longer than a day.
    store.enqueue(&message("w"), &[delivery_until("$w", START)], timestamp(START)).await.unwrap();
    let blocked = claim(&store, "blocked", START).await;
    let later = [attempt_record(&blocked[0], DeliveryResult::Retry(timestamp(START + 5 * DAY)))];
    store.record_attempts(&later, timestamp(START)).await.unwrap();
    for (account, count) in [(7, 130), (8, 110)] {
        for number in 0..count {
            let id = format!("{account} {number}");
            let new_delivery =
                NewDelivery { expires_at: timestamp(START + DAY), ..delivery(account, 5, &id) };
            store.enqueue(&message(&id), &[new_delivery], timestamp(START)).await.unwrap();
            // A receiver has at most 100 waiting deliveries.
            if number % 50 == 49 {
                deliver(&store, START).await;
            }
        }
    }
    while waiting_count(&store).await > 1 {
        deliver(&store, START).await;
    }
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
        store.enqueue(&message("new"), &[new_delivery], timestamp(now)).await.unwrap();
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

/// A node accepted a delivery and a server requested a pause while the clock was ahead.
pub(crate) async fn deliveries_from_a_clock_that_was_ahead_are_due_after_it_is_set_back(
    store: Store,
) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &pusher(7, 5, "a")).await;
    let ahead = START + 30 * DAY;
    for (event_id, stored_at) in
        [("$waits for a pause", START), ("$new", ahead), ("$retried", ahead)]
    {
        let new_delivery = delivery_until(event_id, ahead + DAY);
        store.enqueue(&message(event_id), &[new_delivery], timestamp(stored_at)).await.unwrap();
    }
    let retry = async |event_id: &str, now: i64, due_at: i64| {
        let claimed = claim(&store, event_id, now).await;
        for delivery in &claimed {
            if claimed_event_id(delivery) == event_id {
                let record = attempt_record(delivery, DeliveryResult::Retry(timestamp(due_at)));
                store.record_attempts(&[record], timestamp(now)).await.unwrap();
            }
        }
        store.release_claim(event_id).await.unwrap();
    };
    retry("$waits for a pause", START, START + DAY).await;
    retry("$retried", ahead, ahead + HOUR).await;
    let settings = RetentionSettings::default();
    store.sweep(&settings, timestamp(ahead)).await.unwrap();
    assert_eq!(claim(&store, "too early", START + MINUTE).await, []);

    store.sweep(&settings, timestamp(START + MINUTE)).await.unwrap();

    let claimed = claim(&store, "c", START + MINUTE).await;
    let mut events: Vec<&str> = claimed.iter().map(claimed_event_id).collect();
    events.sort_unstable();
    assert_eq!(events, ["$new", "$retried"], "a pause of a day is still obeyed");
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
        store.enqueue(&new_message, &[new_delivery], timestamp(START)).await.unwrap().new.len()
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
