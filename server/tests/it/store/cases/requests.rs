//! Authorization requests.

use belfry::store::{Store, StoredRequest, UpdateOutcome};

use super::{at, hashed, many};

fn request() -> StoredRequest {
    StoredRequest {
        app_id: 1,
        browser: hashed("b"),
        account_id: None,
        parameters: vec![("client_id".to_owned(), "client".to_owned())],
        expires_at: at(100),
    }
}

pub(in crate::store) async fn a_request_is_its_browsers_until_it_ends(store: Store) {
    store.add_request(hashed("h"), &request()).await.unwrap();
    let found = async |handle, browser, now| {
        store.request(hashed(handle), hashed(browser), at(now)).await.unwrap()
    };
    assert_eq!(found("h", "b", 99).await, Some(request()));
    assert_eq!(found("h", "b", 100).await, None);
    assert_eq!(found("h", "other", 1).await, None);
    assert_eq!(found("other", "b", 1).await, None);
}

pub(in crate::store) async fn a_request_moves_with_its_browser_and_with_no_other(store: Store) {
    store.add_request(hashed("h"), &request()).await.unwrap();
    let moved = async |from, to, account| {
        store.rebind_request(hashed("h"), hashed(from), hashed(to), account).await.unwrap()
            == UpdateOutcome::Updated
    };
    assert!(!moved("other", "c", Some(7)).await);
    assert!(moved("b", "c", Some(7)).await);
    assert!(!moved("other", "d", Some(8)).await);
    let found = store.request(hashed("h"), hashed("c"), at(1)).await.unwrap();
    assert_eq!(
        found,
        Some(StoredRequest { browser: hashed("c"), account_id: Some(7), ..request() })
    );
}

pub(in crate::store) async fn a_request_moves_again_from_the_cookie_that_it_moved_from(
    store: Store,
) {
    store.add_request(hashed("h"), &request()).await.unwrap();
    let moved = async |from, to| {
        store.rebind_request(hashed("h"), hashed(from), hashed(to), Some(7)).await.unwrap()
            == UpdateOutcome::Updated
    };
    assert!(moved("b", "c").await);
    assert!(store.request(hashed("h"), hashed("b"), at(1)).await.unwrap().is_some());
    assert!(moved("b", "d").await);
    assert!(!moved("c", "e").await, "nobody has this cookie: another was given since");
    assert!(moved("d", "e").await);
    assert!(!moved("b", "f").await, "only the last one counts");
    // To be found is not to be answered.
    assert_eq!(store.consume_request(hashed("h"), hashed("d"), at(1)).await.unwrap(), None);
    assert!(store.consume_request(hashed("h"), hashed("e"), at(1)).await.unwrap().is_some());
    assert!(!moved("d", "f").await);
}

pub(in crate::store) async fn a_request_is_taken_once_by_its_browser(store: Store) {
    store.add_request(hashed("h"), &request()).await.unwrap();
    let take = async |browser, now| {
        store.consume_request(hashed("h"), hashed(browser), at(now)).await.unwrap()
    };
    assert_eq!(take("other", 1).await, None);
    assert_eq!(take("b", 100).await, None);
    assert_eq!(take("b", 99).await, Some(request()));
    assert_eq!(take("b", 99).await, None);
}

pub(in crate::store) async fn of_many_who_take_a_request_one_succeeds(store: Store) {
    store.add_request(hashed("h"), &request()).await.unwrap();
    let (_, taken) = many(store, |store, _| async move {
        store.consume_request(hashed("h"), hashed("b"), at(1)).await.unwrap()
    })
    .await;
    assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), [request()]);
}
