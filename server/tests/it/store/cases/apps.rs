//! Apps.

use belfry::store::{AddAppOutcome, Store, UpdateOutcome};

use super::{add_app, app, at, hashed, token, with_alice};

pub(in crate::store) async fn an_app_is_read_back_as_it_was_added(store: Store) {
    let full = app(1, "client");
    let mut bare = app(2, "bare");
    bare.app.details.website = None;
    bare.app.details.redirect_uris.clear();
    add_app(&store, &full).await;
    add_app(&store, &bare).await;

    assert_eq!(store.app(1).await.unwrap(), Some(full.clone()));
    for source in ["from the database", "from the cache"] {
        let app = async |client_id| store.app_by_client_id(client_id).await.unwrap();
        assert_eq!(app("client").await.as_deref(), Some(&full), "{source}");
        assert_eq!(app("bare").await.as_deref(), Some(&bare), "{source}");
    }
    assert_eq!(store.app_by_client_id("other").await.unwrap(), None);
    assert_eq!(store.app(3).await.unwrap(), None);
}

pub(in crate::store) async fn a_client_id_can_only_be_used_once(store: Store) {
    add_app(&store, &app(1, "client")).await;
    assert_eq!(store.add_app(&app(2, "client")).await.unwrap(), AddAppOutcome::IdTaken);
    assert_eq!(store.add_app(&app(1, "other")).await.unwrap(), AddAppOutcome::IdTaken);
    assert_eq!(store.apps(0, 10).await.unwrap().len(), 1);
}

pub(in crate::store) async fn apps_are_listed_in_pages(store: Store) {
    for id in 1..=3 {
        add_app(&store, &app(id, &format!("client{id}"))).await;
    }
    let ids = async |after| {
        let page = store.apps(after, 2).await.unwrap();
        page.into_iter().map(|stored| stored.app.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(0).await, [1, 2]);
    assert_eq!(ids(2).await, [3]);
}

pub(in crate::store) async fn a_disabled_app_is_reported_at_once_also_by_its_tokens(store: Store) {
    let disabled_at = async || {
        let app = store.app_by_client_id("client").await.unwrap();
        app.unwrap().disabled_at
    };
    with_alice(&store).await;
    assert_eq!(disabled_at().await, None);
    store.add_token(&token("t", Some(7))).await.unwrap();
    assert_eq!(store.token(hashed("t")).await.unwrap().unwrap().app_disabled_at, None);

    assert_eq!(store.set_app_disabled_at(1, Some(at(50))).await.unwrap(), UpdateOutcome::Updated);

    assert_eq!(store.app(1).await.unwrap().unwrap().disabled_at, Some(at(50)));
    assert_eq!(disabled_at().await, Some(at(50)));
    assert_eq!(store.token(hashed("t")).await.unwrap().unwrap().app_disabled_at, Some(at(50)));
    assert_eq!(store.set_app_disabled_at(2, Some(at(50))).await.unwrap(), UpdateOutcome::NotFound);
}
