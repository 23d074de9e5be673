//! Conformance cases for VAPID keys.

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::test_support::{any_events, recorded_events};
use belfry_store::{Store, VapidKeyRow, WriteOutcome};

use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{run_concurrently, timestamp};

fn key(name: &str) -> VapidKeyRow {
    let public_key = name.to_owned();
    let private_key = format!("sealed {name}");
    VapidKeyRow { public_key, private_key }
}

async fn public_keys(store: &Store) -> Vec<String> {
    store.vapid_keys().await.unwrap().into_iter().map(|key| key.public_key).collect()
}

pub(crate) async fn a_vapid_key_is_added_only_if_it_replaces_the_newest(store: Store) {
    assert!(store.vapid_keys().await.unwrap().is_empty());
    let added = NewAuditEvent::for_server(timestamp(9), AuditKind::VapidKeyAdd).into();
    let add = async |name, replaced, now| {
        store.add_vapid_key(&added, &key(name), replaced, timestamp(now)).await.unwrap()
    };
    assert_eq!(add("b", Some("a"), 1).await, WriteOutcome::NotFound);
    assert_eq!(add("b", None, 1).await, WriteOutcome::Written);
    assert_eq!(add("c", None, 2).await, WriteOutcome::NotFound);
    assert_eq!(add("a", Some("b"), 2).await, WriteOutcome::Written);
    assert_eq!(add("c", Some("b"), 3).await, WriteOutcome::NotFound);
    assert!(store.vapid_keys().await.unwrap() == [key("b"), key("a")]);
    // A clock that is behind, or two keys in one second.
    assert_eq!(add("0", Some("a"), 1).await, WriteOutcome::Written);
    assert_eq!(add("+", Some("0"), 3).await, WriteOutcome::Written);
    assert!(store.vapid_keys().await.unwrap() == ["b", "a", "0", "+"].map(key));
    let events = store.audit_events(recorded_events(), 100).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, ["vapid_key_add"; 4]);
}

pub(crate) async fn only_one_of_several_concurrent_vapid_keys_is_added(store: Store) {
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        store
            .add_vapid_key(&any_events(), &key(&format!("{index}")), None, timestamp(1))
            .await
            .unwrap()
    })
    .await;
    let added = outcomes.iter().filter(|outcome| **outcome == WriteOutcome::Written);
    assert_eq!(added.count(), 1);
    assert_eq!(public_keys(&store).await.len(), 1);
}

pub(crate) async fn the_receivers_of_each_vapid_key_are_counted(store: Store) {
    add_accounts_and_token(&store).await;
    for (name, replaced) in [("vapid", None), ("newer", Some("vapid"))] {
        let now = timestamp(if replaced.is_none() { 1 } else { 2 });
        store.add_vapid_key(&any_events(), &key(name), replaced, now).await.unwrap();
    }
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &pusher(7, 6, "a")).await;
    let uses = store.vapid_key_uses().await.unwrap();
    let uses: Vec<_> =
        uses.into_iter().map(|u| (u.key.public_key, u.created_at, u.receivers)).collect();
    let expected = [("vapid".to_owned(), timestamp(1), 1), ("newer".to_owned(), timestamp(2), 0)];
    assert_eq!(uses, expected);
}
