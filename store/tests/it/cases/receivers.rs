//! Conformance cases for receivers.

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::push::pusher::PendingAck;
use belfry_core::push::receiver::{
    Protocol, Pusher, PusherKind, ReceiverDocument, Subscription, SubscriptionSettings,
};
use belfry_core::secret::Sha256Digest;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    ListedReceiver, MAX_RECEIVERS, NewToken, Receiver, SetReceiverOutcome, Store, WriteOutcome,
};

use super::{
    CONCURRENT_TASKS, account, add_alice_and_app, hashed_secret, run_concurrently, timestamp, token,
};

/// Returns a pusher with this push key, without a token.
pub(crate) fn pusher(account_id: i64, id: i64, push_key: &str) -> Receiver {
    let document = Pusher {
        kind: PusherKind::Http,
        app_id: "org.example.app".to_owned(),
        pushkey: push_key.to_owned(),
        app_display_name: "Example".to_owned(),
        device_display_name: "Phone".to_owned(),
        profile_tag: None,
        lang: "en".to_owned(),
        data: serde_json::Map::new(),
        enabled: true,
        append: true,
    };
    Receiver {
        account_id,
        id,
        token: None,
        document: ReceiverDocument::Pusher(document),
        secrets: "sealed".to_owned(),
        origin: "https://push.example.org".to_owned(),
        vapid_key: None,
        pending_ack: None,
        created_at: timestamp(10),
        succeeded_at: None,
        failed_at: None,
        failure: None,
        denied_since: None,
        denied_count: 0,
        failures: 0,
        is_proven: false,
    }
}

/// Returns alice's subscription of the token with this name.
pub(crate) fn subscription(id: i64, token: &str) -> Receiver {
    let document = Subscription {
        endpoint: "https://push.example.org/1".to_owned(),
        p256dh: "key".to_owned(),
        standard: true,
        settings: SubscriptionSettings::default(),
    };
    Receiver {
        token: Some(hashed_secret(token).lookup_key),
        document: ReceiverDocument::Subscription(document),
        vapid_key: Some("vapid".to_owned()),
        ..pusher(7, id, "")
    }
}

pub(crate) async fn add_receiver(store: &Store, receiver: &Receiver) {
    let outcome = store.set_receiver(&any_events(), receiver).await.unwrap();
    assert_eq!(outcome, SetReceiverOutcome::Added, "{receiver:?}");
}

/// Adds alice, bob and app 1, and a token of alice.
pub(crate) async fn add_accounts_and_token(store: &Store) {
    add_alice_and_app(store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
}

fn events_of(kind: AuditKind) -> NewAuditEvents {
    NewAuditEvent::for_server(timestamp(50), kind).into()
}

/// Returns the kind, account, app and detail of the recorded events.
async fn read_events(store: &Store) -> Vec<(String, Option<i64>, Option<i64>, Option<String>)> {
    let events = store.audit_events(recorded_events(), 100).await.unwrap();
    let columns =
        events.into_iter().map(|event| (event.kind, event.account_id, event.app_id, event.detail));
    columns.collect()
}

async fn receiver_ids(store: &Store, account_id: i64) -> Vec<i64> {
    let receivers = store.receivers(account_id, timestamp(20)).await.unwrap();
    receivers.iter().map(|receiver| receiver.id).collect()
}

pub(crate) async fn a_receiver_is_read_back_as_it_was_registered(store: Store) {
    add_accounts_and_token(&store).await;
    let subscription = subscription(5, "t");
    let pusher = Receiver { created_at: timestamp(11), ..pusher(7, 4, "a") };
    add_receiver(&store, &subscription).await;
    add_receiver(&store, &pusher).await;
    assert_eq!(store.receiver(7, 5).await.unwrap(), Some(subscription.clone()));
    assert_eq!(store.receiver(8, 5).await.unwrap(), None);
    let both = [subscription.clone(), pusher.clone()];
    assert_eq!(store.receivers(7, timestamp(20)).await.unwrap(), both);
    assert_eq!(store.receivers(8, timestamp(20)).await.unwrap(), []);
    let of_token = async |name| {
        store.receiver_of_token(hashed_secret(name).lookup_key, timestamp(20)).await.unwrap()
    };
    assert_eq!(of_token("t").await, Some(subscription));
    assert_eq!(of_token("other").await, None);
}

pub(crate) async fn a_receiver_replaces_the_one_with_the_same_push_key(store: Store) {
    add_accounts_and_token(&store).await;
    let added = events_of(AuditKind::ReceiverAdd);
    store.set_receiver(&added, &subscription(5, "t")).await.unwrap();
    store.set_receiver(&added, &pusher(8, 5, "a")).await.unwrap();
    let replacement = Receiver {
        origin: "https://other.example.org".to_owned(),
        secrets: "new".to_owned(),
        created_at: timestamp(12),
        ..subscription(6, "t")
    };
    let outcome = store.set_receiver(&added, &replacement).await.unwrap();
    assert_eq!(outcome, SetReceiverOutcome::Replaced);
    assert_eq!(store.receivers(7, timestamp(20)).await.unwrap(), [replacement]);
    assert_eq!(receiver_ids(&store, 8).await, [5]);
    let added_event = |account, app| ("receiver_add".to_owned(), Some(account), app, None);
    assert_eq!(read_events(&store).await, [added_event(7, Some(1)), added_event(8, None)]);
}

pub(crate) async fn a_receiver_is_live_while_its_account_token_and_app_are(store: Store) {
    add_accounts_and_token(&store).await;
    let expiring = NewToken { expires_at: Some(timestamp(100)), ..token("expiring", Some(7)) };
    store.add_token(&any_events(), &expiring).await.unwrap();
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &subscription(6, "expiring")).await;
    add_receiver(&store, &pusher(7, 4, "a")).await;
    let ids = async |now| {
        let receivers = store.receivers(7, timestamp(now)).await.unwrap();
        let mut ids: Vec<i64> = receivers.iter().map(|receiver| receiver.id).collect();
        let bulk = store.receivers_of_accounts(&[8, 7], timestamp(now)).await.unwrap();
        let mut bulk_ids: Vec<i64> = bulk.iter().map(|receiver| receiver.id).collect();
        ids.sort_unstable();
        bulk_ids.sort_unstable();
        assert_eq!(ids, bulk_ids);
        ids
    };
    assert_eq!(ids(99).await, [4, 5, 6]);
    assert_eq!(ids(100).await, [4, 5]);
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(1))).await.unwrap();
    assert_eq!(ids(99).await, [4]);
    store.set_app_disabled_at(&any_events(), 1, None).await.unwrap();
    store.set_account_disabled_at(&any_events(), 7, Some(timestamp(1))).await.unwrap();
    assert_eq!(ids(99).await, [0; 0]);
    store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
    assert_eq!(ids(99).await, [4, 5, 6]);
    store.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(50)).await.unwrap();
    assert_eq!(ids(99).await, [4, 6]);
    let lookup = hashed_secret("t").lookup_key;
    assert_eq!(store.receiver_of_token(lookup, timestamp(99)).await.unwrap(), None);
}

pub(crate) async fn no_receiver_is_registered_without_a_valid_account_and_token(store: Store) {
    add_accounts_and_token(&store).await;
    let added = events_of(AuditKind::ReceiverAdd);
    store.add_token(&any_events(), &token("of bob", Some(8))).await.unwrap();
    store.add_token(&any_events(), &token("revoked", Some(7))).await.unwrap();
    store
        .revoke_token(&any_events(), hashed_secret("revoked").lookup_key, timestamp(1))
        .await
        .unwrap();
    let expired = NewToken { expires_at: Some(timestamp(10)), ..token("expired", Some(7)) };
    store.add_token(&any_events(), &expired).await.unwrap();
    for receiver in [
        pusher(9, 5, "a"),
        subscription(5, "unknown"),
        subscription(5, "of bob"),
        subscription(5, "revoked"),
        subscription(5, "expired"),
    ] {
        let outcome = store.set_receiver(&added, &receiver).await.unwrap();
        assert_eq!(outcome, SetReceiverOutcome::NotFound, "{receiver:?}");
    }
    add_receiver(&store, &subscription(5, "t")).await;
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(1))).await.unwrap();
    store.set_account_disabled_at(&any_events(), 8, Some(timestamp(1))).await.unwrap();
    for receiver in [subscription(6, "t"), pusher(8, 5, "a")] {
        let outcome = store.set_receiver(&added, &receiver).await.unwrap();
        assert_eq!(outcome, SetReceiverOutcome::NotFound, "{receiver:?}");
    }
    assert_eq!(store.receiver(7, 5).await.unwrap(), Some(subscription(5, "t")));
    assert_eq!(read_events(&store).await, []);
}

pub(crate) async fn beyond_20_receivers_the_least_recently_successful_is_deleted(store: Store) {
    add_accounts_and_token(&store).await;
    let added = events_of(AuditKind::ReceiverAdd);
    let receiver_with_id = |id: i64| Receiver {
        created_at: timestamp(100 - id),
        ..pusher(7, id, &format!("key {id}"))
    };
    add_receiver(&store, &pusher(8, 1, "of bob")).await;
    for id in 1..=20 {
        add_receiver(&store, &receiver_with_id(id)).await;
    }
    // The receiver with the id 20 is the oldest. Replacing one deletes none.
    let replaced = Receiver { id: 21, ..receiver_with_id(1) };
    store.set_receiver(&added, &replaced).await.unwrap();
    assert_eq!(receiver_ids(&store, 7).await.len(), MAX_RECEIVERS);
    assert_eq!(read_events(&store).await, []);
    // A subscription that is not live is deleted first, even if it is the newest.
    store.delete_receiver(&any_events(), 7, 2).await.unwrap();
    let ended = Receiver { created_at: timestamp(200), ..subscription(30, "t") };
    add_receiver(&store, &ended).await;
    store.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(50)).await.unwrap();
    add_receiver(&store, &receiver_with_id(31)).await;
    assert_eq!(store.receiver(7, 30).await.unwrap(), None);
    let outcome =
        store.set_receiver(&added, &Receiver { id: 40, ..receiver_with_id(32) }).await.unwrap();
    assert_eq!(outcome, SetReceiverOutcome::Added);
    let mut ids = receiver_ids(&store, 7).await;
    ids.sort_unstable();
    assert_eq!(ids, (3..=21).chain([40]).collect::<Vec<_>>(), "31 is the oldest");
    assert_eq!(receiver_ids(&store, 8).await, [1]);
    let event = |kind: &str, detail: Option<&str>| {
        (kind.to_owned(), Some(7), None, detail.map(str::to_owned))
    };
    let detail = Some("more than 20 receivers");
    let expected = [event("receiver_add", None), event("receiver_remove", detail)];
    assert_eq!(read_events(&store).await, expected);
}

pub(crate) async fn concurrent_registrations_leave_at_most_20_receivers(store: Store) {
    add_accounts_and_token(&store).await;
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        // Each push key is registered twice.
        let receiver = pusher(7, index + 1, &format!("key {}", index / 2));
        store.set_receiver(&events_of(AuditKind::ReceiverAdd), &receiver).await.unwrap()
    })
    .await;
    assert!(!outcomes.contains(&SetReceiverOutcome::NotFound));
    assert_eq!(receiver_ids(&store, 7).await.len(), MAX_RECEIVERS);
    let events = store.audit_events(recorded_events(), 1000).await.unwrap();
    // The events are counted in one row per hour, kind and subject.
    let counts: Vec<_> = events.iter().map(|event| (&*event.kind, event.count)).collect();
    let added = outcomes.iter().filter(|outcome| **outcome == SetReceiverOutcome::Added).count();
    let [added, max] = [added, MAX_RECEIVERS].map(|count| i64::try_from(count).unwrap());
    let expected = [("receiver_add", added), ("receiver_remove", added - max)];
    assert!(counts.len() == 2 && expected.iter().all(|row| counts.contains(row)), "{counts:?}");
}

pub(crate) async fn a_push_key_is_removed_from_other_accounts(store: Store) {
    add_accounts_and_token(&store).await;
    store.add_account(&any_events(), &account(9, "carol")).await.unwrap();
    for account_id in [7, 8, 9] {
        add_receiver(&store, &pusher(account_id, 5, "a")).await;
        add_receiver(&store, &pusher(account_id, 6, "b")).await;
    }
    let mut other_app = pusher(8, 7, "a");
    if let ReceiverDocument::Pusher(pusher) = &mut other_app.document {
        "other".clone_into(&mut pusher.app_id);
    }
    add_receiver(&store, &other_app).await;
    let taken_over = events_of(AuditKind::ReceiverTakeover);
    let remove = async || {
        store
            .remove_push_key_of_others(&taken_over, 7, "org.example.app", "a", Protocol::Gateway)
            .await
            .unwrap()
    };
    assert_eq!(remove().await, 2);
    assert_eq!(receiver_ids(&store, 7).await, [5, 6]);
    assert_eq!(receiver_ids(&store, 8).await, [6, 7]);
    assert_eq!(receiver_ids(&store, 9).await, [6]);
    assert_eq!(remove().await, 0);
    let event = |account| ("receiver_takeover".to_owned(), Some(account), None, None);
    assert_eq!(read_events(&store).await, [event(7), event(8), event(9)]);
}

pub(crate) async fn renewing_a_receiver_replaces_its_settings_and_token(store: Store) {
    add_accounts_and_token(&store).await;
    store.add_token(&any_events(), &token("u", Some(7))).await.unwrap();
    add_receiver(&store, &subscription(5, "t")).await;
    let ReceiverDocument::Subscription(mut document) = subscription(5, "t").document else {
        panic!()
    };
    document.settings.alerts.insert("mention".to_owned(), true);
    let document = ReceiverDocument::Subscription(document);
    let [first, second] = ["t", "u"].map(|token| hashed_secret(token).lookup_key);
    let renew = async |account, id, token| {
        store.renew_receiver(account, id, Some(token), &document).await.unwrap()
    };
    assert_eq!(renew(8, 5, second).await, WriteOutcome::NotFound);
    assert_eq!(renew(7, 6, second).await, WriteOutcome::NotFound);
    assert_eq!(store.receiver_of_token(second, timestamp(20)).await.unwrap(), None);
    assert_eq!(renew(7, 5, second).await, WriteOutcome::Written);
    let expected = Receiver { document: document.clone(), ..subscription(5, "u") };
    assert_eq!(store.receiver_of_token(second, timestamp(20)).await.unwrap(), Some(expected));
    assert_eq!(store.receiver_of_token(first, timestamp(20)).await.unwrap(), None);
}

pub(crate) async fn a_receiver_is_activated_by_its_ack_token(store: Store) {
    add_accounts_and_token(&store).await;
    let digest = Sha256Digest::compute("ack");
    let ack = Some(PendingAck { digest, expires_at: timestamp(300) });
    let inactive = Receiver { pending_ack: ack, ..pusher(7, 5, "a") };
    add_receiver(&store, &inactive).await;
    assert_eq!(store.receivers(7, timestamp(20)).await.unwrap(), std::slice::from_ref(&inactive));
    let active = async || store.receivers_of_accounts(&[7], timestamp(20)).await.unwrap();
    assert_eq!(active().await, []);
    let activate = async |account, id, token: &str| {
        store.activate_receiver(account, id, Sha256Digest::compute(token)).await.unwrap()
    };
    for (account, id, token) in [(8, 5, "ack"), (7, 6, "ack"), (7, 5, "other")] {
        assert_eq!(activate(account, id, token).await, WriteOutcome::NotFound);
    }
    assert_eq!(active().await, []);
    assert_eq!(activate(7, 5, "ack").await, WriteOutcome::Written);
    assert_eq!(active().await, [pusher(7, 5, "a")]);
    assert_eq!(activate(7, 5, "ack").await, WriteOutcome::NotFound);
}

pub(crate) async fn only_one_concurrent_deletion_of_a_receiver_succeeds(store: Store) {
    add_accounts_and_token(&store).await;
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &pusher(8, 5, "a")).await;
    let (store, outcomes) = run_concurrently(store, |store, _| async move {
        store.delete_receiver(&events_of(AuditKind::ReceiverRemove), 7, 5).await.unwrap()
    })
    .await;
    let deleted = outcomes.iter().filter(|outcome| **outcome == WriteOutcome::Written);
    assert_eq!(deleted.count(), 1);
    assert_eq!(outcomes.len(), usize::try_from(CONCURRENT_TASKS).unwrap());
    assert_eq!(receiver_ids(&store, 7).await, [0; 0]);
    assert_eq!(receiver_ids(&store, 8).await, [5]);
    let expected = [("receiver_remove".to_owned(), Some(7), Some(1), None)];
    assert_eq!(read_events(&store).await, expected);
}

pub(crate) async fn receivers_of_many_accounts_are_read_together(store: Store) {
    let accounts: Vec<i64> = (1000..1120).collect();
    for &id in &accounts {
        store.add_account(&any_events(), &account(id, &format!("user{id}"))).await.unwrap();
        add_receiver(&store, &pusher(id, 5, "a")).await;
    }
    let receivers = store.receivers_of_accounts(&accounts, timestamp(20)).await.unwrap();
    let mut found: Vec<i64> = receivers.iter().map(|receiver| receiver.account_id).collect();
    found.sort_unstable();
    assert_eq!(found, accounts);
    assert_eq!(store.receivers_of_accounts(&[], timestamp(20)).await.unwrap(), []);
}

pub(crate) async fn receivers_are_listed_page_by_page_with_their_account_and_app(store: Store) {
    add_accounts_and_token(&store).await;
    let subscription = subscription(5, "t");
    let first = pusher(7, 9, "a");
    let second = pusher(8, 1, "b");
    for receiver in [&second, &first, &subscription] {
        add_receiver(&store, receiver).await;
    }
    let list = async |account, after, limit| {
        store.listed_receivers(account, after, limit, timestamp(20)).await.unwrap()
    };
    let listed = |receiver: &Receiver, account: &str, app: Option<&str>| ListedReceiver {
        receiver: receiver.clone(),
        account: account.to_owned(),
        token_app: app.map(str::to_owned),
        is_live: true,
    };
    let app_name = store.app(1).await.unwrap().unwrap().app.details.name;
    let expected = [
        listed(&subscription, "alice", Some(&app_name)),
        listed(&first, "alice", None),
        listed(&second, "bob", None),
    ];
    assert_eq!(list(None, None, 10).await, expected);
    assert_eq!(list(None, None, 2).await, expected[..2]);
    assert_eq!(list(None, Some((7, 5)), 10).await, expected[1..]);
    assert_eq!(list(None, Some((7, 9)), 10).await, expected[2..]);
    assert_eq!(list(Some(7), None, 10).await, expected[..2]);
    assert_eq!(list(Some(7), Some((7, 5)), 10).await, expected[1..2]);
    assert_eq!(list(Some(9), None, 10).await, []);
    store.set_app_disabled_at(&any_events(), 1, Some(timestamp(1))).await.unwrap();
    let live: Vec<bool> = list(None, None, 10).await.iter().map(|entry| entry.is_live).collect();
    assert_eq!(live, [false, true, true]);
}
