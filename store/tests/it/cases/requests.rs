//! Conformance cases for authorization requests.

use belfry_store::{Store, StoredRequest, WriteOutcome};

use super::{add_alice_and_app, hashed_secret, run_concurrently, timestamp};

fn request() -> StoredRequest {
    StoredRequest {
        app_id: 1,
        browser_cookie: hashed_secret("b"),
        account_id: None,
        parameters: vec![("client_id".to_owned(), "client".to_owned())],
        expires_at: timestamp(100),
    }
}

pub(crate) async fn a_request_is_found_only_in_its_browser_until_it_expires(store: Store) {
    add_alice_and_app(&store).await;
    store.add_request(hashed_secret("h"), &request()).await.unwrap();
    let find = async |handle, browser, now| {
        store.request(hashed_secret(handle), hashed_secret(browser), timestamp(now)).await.unwrap()
    };
    assert_eq!(find("h", "b", 99).await, Some(request()));
    assert_eq!(find("h", "b", 100).await, None);
    assert_eq!(find("h", "other", 1).await, None);
    assert_eq!(find("other", "b", 1).await, None);
}

pub(crate) async fn the_oldest_requests_are_deleted_beyond_a_maximum(store: Store) {
    add_alice_and_app(&store).await;
    for second in 0..5 {
        let request = StoredRequest { expires_at: timestamp(100 + second / 2), ..request() };
        store.add_request(hashed_secret(&format!("h{second}")), &request).await.unwrap();
    }
    let count_remaining = async || {
        let mut count = 0;
        for second in 0..5 {
            let handle = hashed_secret(&format!("h{second}"));
            let stored_request =
                store.request(handle, hashed_secret("b"), timestamp(1)).await.unwrap();
            count += usize::from(stored_request.is_some());
        }
        (
            count,
            store
                .request(hashed_secret("h4"), hashed_secret("b"), timestamp(1))
                .await
                .unwrap()
                .is_some(),
        )
    };
    for (max_count, expected) in [(9, 5), (5, 5), (4, 4), (3, 3), (1, 1)] {
        store.trim_requests(max_count).await.unwrap();
        assert_eq!(count_remaining().await, (expected, true), "{max_count}");
    }
}

pub(crate) async fn a_request_is_rebound_only_by_its_browser(store: Store) {
    add_alice_and_app(&store).await;
    store.add_request(hashed_secret("h"), &request()).await.unwrap();
    let rebind = async |old_cookie, new_cookie, account| {
        store
            .rebind_request(
                hashed_secret("h"),
                hashed_secret(old_cookie),
                hashed_secret(new_cookie),
                account,
            )
            .await
            .unwrap()
            == WriteOutcome::Written
    };
    assert!(!rebind("other", "c", Some(7)).await);
    assert!(rebind("b", "c", Some(7)).await);
    assert!(!rebind("other", "d", Some(8)).await);
    let stored_request =
        store.request(hashed_secret("h"), hashed_secret("c"), timestamp(1)).await.unwrap();
    assert_eq!(
        stored_request,
        Some(StoredRequest {
            browser_cookie: hashed_secret("c"),
            account_id: Some(7),
            ..request()
        })
    );
}

pub(crate) async fn a_request_can_be_rebound_again_from_the_previous_cookie(store: Store) {
    add_alice_and_app(&store).await;
    store.add_request(hashed_secret("h"), &request()).await.unwrap();
    let rebind = async |old_cookie, new_cookie| {
        store
            .rebind_request(
                hashed_secret("h"),
                hashed_secret(old_cookie),
                hashed_secret(new_cookie),
                Some(7),
            )
            .await
            .unwrap()
            == WriteOutcome::Written
    };
    assert!(rebind("b", "c").await);
    assert!(
        store
            .request(hashed_secret("h"), hashed_secret("b"), timestamp(1))
            .await
            .unwrap()
            .is_some()
    );
    assert!(rebind("b", "d").await);
    assert!(!rebind("c", "e").await, "this cookie was replaced before its browser used it");
    assert!(rebind("d", "e").await);
    assert!(!rebind("b", "f").await, "only the last cookie is accepted");
    // The previous cookie finds the request but cannot consume it.
    assert_eq!(
        store
            .consume_request(None, hashed_secret("h"), hashed_secret("d"), timestamp(1))
            .await
            .unwrap(),
        None
    );
    assert!(
        store
            .consume_request(None, hashed_secret("h"), hashed_secret("e"), timestamp(1))
            .await
            .unwrap()
            .is_some()
    );
    assert!(!rebind("d", "f").await);
}

pub(crate) async fn a_request_is_consumed_once_and_only_by_its_browser(store: Store) {
    add_alice_and_app(&store).await;
    store.add_request(hashed_secret("h"), &request()).await.unwrap();
    let consume = async |browser, now| {
        store
            .consume_request(None, hashed_secret("h"), hashed_secret(browser), timestamp(now))
            .await
            .unwrap()
    };
    assert_eq!(consume("other", 1).await, None);
    assert_eq!(consume("b", 100).await, None);
    assert_eq!(consume("b", 99).await, Some(request()));
    assert_eq!(consume("b", 99).await, None);
}

pub(crate) async fn only_one_concurrent_attempt_to_consume_a_request_succeeds(store: Store) {
    add_alice_and_app(&store).await;
    store.add_request(hashed_secret("h"), &request()).await.unwrap();
    let (_, consumed_requests) = run_concurrently(store, |store, _| async move {
        store
            .consume_request(None, hashed_secret("h"), hashed_secret("b"), timestamp(1))
            .await
            .unwrap()
    })
    .await;
    assert_eq!(consumed_requests.into_iter().flatten().collect::<Vec<_>>(), [request()]);
}
