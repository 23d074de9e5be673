//! Conformance cases for signing keys.

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{KeyPurpose, SigningKeyRow, Store, WriteOutcome};

use super::receivers::{add_accounts_and_token, add_receiver, pusher, subscription};
use super::{run_concurrently, timestamp};

fn key(name: &str) -> SigningKeyRow {
    let public_key = name.to_owned();
    let private_key = format!("sealed {name}");
    SigningKeyRow { public_key, private_key }
}

async fn public_keys(store: &Store) -> Vec<String> {
    let keys = store.signing_keys(KeyPurpose::VAPID).await.unwrap();
    keys.into_iter().map(|key| key.public_key).collect()
}

pub(crate) async fn a_signing_key_is_added_only_if_it_replaces_the_newest_of_its_purpose(
    store: Store,
) {
    assert!(public_keys(&store).await.is_empty());
    let other_purpose = KeyPurpose("other");
    store
        .add_signing_key(&any_events(), other_purpose, &key("z"), None, timestamp(1))
        .await
        .unwrap();
    let added = NewAuditEvent::for_server(timestamp(9), AuditKind::VapidKeyAdd).into();
    let add = async |name, replaced, now| {
        let purpose = KeyPurpose::VAPID;
        store.add_signing_key(&added, purpose, &key(name), replaced, timestamp(now)).await.unwrap()
    };
    assert_eq!(add("b", Some("a"), 1).await, WriteOutcome::NotFound);
    assert_eq!(add("b", None, 1).await, WriteOutcome::Written);
    assert_eq!(add("c", None, 2).await, WriteOutcome::NotFound);
    assert_eq!(add("a", Some("b"), 2).await, WriteOutcome::Written);
    assert_eq!(add("c", Some("b"), 3).await, WriteOutcome::NotFound);
    assert!(store.signing_keys(KeyPurpose::VAPID).await.unwrap() == ["b", "a"].map(key));
    // A clock that is behind, or two keys in one second.
    assert_eq!(add("0", Some("a"), 1).await, WriteOutcome::Written);
    assert_eq!(add("+", Some("0"), 3).await, WriteOutcome::Written);
    assert_eq!(public_keys(&store).await, ["b", "a", "0", "+"]);
    assert!(store.signing_keys(other_purpose).await.unwrap() == [key("z")]);
    let events = store.audit_events(recorded_events(), 100).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, ["vapid_key_add"; 4]);
}

pub(crate) async fn only_one_of_several_concurrent_signing_keys_is_added(store: Store) {
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        store
            .add_signing_key(
                &any_events(),
                KeyPurpose::VAPID,
                &key(&format!("{index}")),
                None,
                timestamp(1),
            )
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
        let purpose = KeyPurpose::VAPID;
        store.add_signing_key(&any_events(), purpose, &key(name), replaced, now).await.unwrap();
    }
    add_receiver(&store, &subscription(5, "t")).await;
    add_receiver(&store, &pusher(7, 6, "a")).await;
    let uses = store.vapid_key_uses().await.unwrap();
    let uses: Vec<_> =
        uses.into_iter().map(|u| (u.key.public_key, u.created_at, u.receivers)).collect();
    let expected = [("vapid".to_owned(), timestamp(1), 1), ("newer".to_owned(), timestamp(2), 0)];
    assert_eq!(uses, expected);
}
