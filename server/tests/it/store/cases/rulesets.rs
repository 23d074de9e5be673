//! Rulesets.

use belfry::store::Store;

use super::{MANY, many};

pub(in crate::store) async fn an_account_without_rules_has_no_documents(store: Store) {
    assert!(store.rulesets(7).await.unwrap().0.is_empty());
}

pub(in crate::store) async fn documents_are_read_back_by_scope(store: Store) {
    for (account, scope, document) in
        [(7, "global", "one"), (7, "device/phone", "two"), (8, "global", "other")]
    {
        assert!(store.save_ruleset(account, scope, None, Some(document)).await.unwrap());
    }
    for reading in ["from the database", "from memory"] {
        let rulesets = store.rulesets(7).await.unwrap();
        assert_eq!(rulesets.0.len(), 2, "{reading}");
        assert_eq!(rulesets.of("global").unwrap().document, "one", "{reading}");
        assert_eq!(rulesets.of("device/phone").unwrap().document, "two", "{reading}");
        assert_eq!(rulesets.of("device/tablet"), None, "{reading}");
    }
}

pub(in crate::store) async fn a_write_over_a_newer_write_is_refused(store: Store) {
    assert!(store.save_ruleset(7, "global", None, Some("one")).await.unwrap());
    let read = version(&store, "global").await;

    assert!(store.save_ruleset(7, "global", read, Some("two")).await.unwrap());
    assert!(!store.save_ruleset(7, "global", read, Some("three")).await.unwrap());
    assert!(!store.save_ruleset(7, "global", read, None).await.unwrap());

    assert_eq!(store.rulesets(7).await.unwrap().of("global").unwrap().document, "two");
}

pub(in crate::store) async fn a_first_write_over_another_first_write_is_refused(store: Store) {
    assert!(store.save_ruleset(7, "global", None, Some("one")).await.unwrap());
    assert!(!store.save_ruleset(7, "global", None, Some("two")).await.unwrap());
    assert_eq!(store.rulesets(7).await.unwrap().of("global").unwrap().document, "one");
}

pub(in crate::store) async fn a_removed_document_is_gone_and_its_version_is_not_used_again(
    store: Store,
) {
    assert!(store.save_ruleset(7, "device/a", None, Some("one")).await.unwrap());
    let read = version(&store, "device/a").await;
    assert!(store.save_ruleset(7, "device/a", read, None).await.unwrap());
    assert!(store.rulesets(7).await.unwrap().0.is_empty());

    assert!(store.save_ruleset(7, "device/a", None, Some("two")).await.unwrap());
    assert!(!store.save_ruleset(7, "device/a", read, Some("of the dead")).await.unwrap());
    assert_eq!(store.rulesets(7).await.unwrap().of("device/a").unwrap().document, "two");
}

pub(in crate::store) async fn of_many_who_change_a_ruleset_none_is_lost(store: Store) {
    let (store, _) = many(store, |store, caller| async move {
        loop {
            let read = store.rulesets(7).await.unwrap();
            let old = read.of("global");
            let new = format!("{} {caller}", old.map_or("", |old| &old.document));
            let version = old.map(|old| old.version);
            if store.save_ruleset(7, "global", version, Some(&new)).await.unwrap() {
                return;
            }
        }
    })
    .await;

    let rulesets = store.rulesets(7).await.unwrap();
    let mut numbers: Vec<i64> =
        rulesets.0[0].document.split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..MANY).collect::<Vec<_>>());
}

/// Readers that fill the memory race with a writer; what the writer was told is done must be
/// what every later read shows.
pub(in crate::store) async fn a_reader_never_sees_an_older_ruleset_than_the_last_write(
    store: Store,
) {
    let (_, counts) = many(store, |store, caller| async move {
        if caller > 0 {
            let mut last = 0;
            while last < 100 {
                let rulesets = store.rulesets(7).await.unwrap();
                let now = rulesets.of("global").map_or(0, |found| found.document.parse().unwrap());
                assert!(now >= last, "{now} after {last}");
                last = now;
                tokio::task::yield_now().await;
            }
            return last;
        }
        for count in 1..=100 {
            let read = version(&store, "global").await;
            let document = count.to_string();
            assert!(store.save_ruleset(7, "global", read, Some(&document)).await.unwrap());
            let rulesets = store.rulesets(7).await.unwrap();
            assert_eq!(rulesets.of("global").unwrap().document, document);
        }
        100
    })
    .await;
    assert_eq!(counts, [100; 64]);
}

async fn version(store: &Store, scope: &str) -> Option<i64> {
    store.rulesets(7).await.unwrap().of(scope).map(|document| document.version)
}
