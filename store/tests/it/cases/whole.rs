//! Conformance cases that concern the whole store.

use std::sync::Arc;
use std::time::Duration;

use belfry_store::test::any_events;
use belfry_store::{Account, AddAccountError, Store, StoreError};

use super::rulesets::with_rule;
use super::{account, add_alice_and_app, ensure_account, timestamp};

pub(crate) async fn a_ping_succeeds(store: Store) {
    store.ping().await.unwrap();
}

pub(crate) async fn text_in_any_script_and_with_quotes_is_read_back(store: Store) {
    for (id, text) in [
        (1, "Zürich 東京 🔔 العربية"),
        (2, "'); drop table accounts; --"),
        (3, "\" \\ ` $1 ? % _ \u{202e}"),
        (4, ""),
    ] {
        let account = Account {
            email: None,
            password_hash: text.to_owned(),
            ..account(id, &format!("n{id}"))
        };
        store.add_account(&any_events(), &account).await.unwrap();
        assert_eq!(store.account(id).await.unwrap(), Some(account), "{text}");
    }
}

/// PostgreSQL cannot store NUL characters, so SQLite must reject them too.
pub(crate) async fn text_with_a_nul_is_not_found_and_not_stored(store: Store) {
    add_alice_and_app(&store).await;
    for text in ["alice\0", "\0", "a\0lice@example.org"] {
        assert_eq!(store.account_by_name(text).await.unwrap(), None, "{text:?}");
        assert_eq!(store.account_by_email(text).await.unwrap(), None, "{text:?}");
        assert_eq!(store.app_by_client_id(text).await.unwrap(), None, "{text:?}");
        let error = store.add_account(&any_events(), &account(8, text)).await.unwrap_err();
        assert!(matches!(error, AddAccountError::Store(StoreError::Nul)), "{error}");
        assert_eq!(store.account(8).await.unwrap(), None);
    }
    let account_ids = store.account_ids(&["al\0ice", "alice", "\0"]).await.unwrap();
    assert_eq!(account_ids, [None, Some(7), None]);
}

pub(crate) async fn dropping_the_future_does_not_cancel_a_write(store: Store) {
    ensure_account(&store, 7).await;
    let store = Arc::new(store);
    // Fills the cache, which must not return the old value after the write.
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    let document = with_rule(&base, "global", "one");
    let writer = Arc::clone(&store);
    let mut write = Box::pin(async move { writer.save_document(&base, document).await });
    // Polled once, then dropped.
    let poll_outcome = tokio::time::timeout(Duration::ZERO, &mut write).await;
    drop(write);
    drop(poll_outcome);
    for _ in 0..500 {
        if store.rulesets(7, timestamp(5)).await.unwrap().rule_count() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the write was lost, or the cache still returns the old value");
}
