//! Sessions.

use belfry::store::{Session, Store};

use super::{PASSWORD, account, at, digest};

fn session(account: i64) -> Session {
    Session {
        account,
        created_at: at(1),
        seen_at: at(2),
        expires_at: at(100),
        lang: Some("de".to_owned()),
    }
}

async fn with_people(store: &Store) {
    for (id, name) in [(7, "alice"), (8, "bob")] {
        store.add_account(&account(id, name)).await.unwrap().unwrap();
    }
}

pub(in crate::store) async fn a_session_is_read_back_until_it_ends(store: Store) {
    with_people(&store).await;
    assert!(store.add_session(digest("s"), &session(7), PASSWORD).await.unwrap());
    assert_eq!(store.session(digest("s"), at(99)).await.unwrap(), Some(session(7)));
    assert_eq!(store.session(digest("s"), at(100)).await.unwrap(), None);
    assert_eq!(store.session(digest("other"), at(1)).await.unwrap(), None);
}

pub(in crate::store) async fn a_session_lasts_longer_when_it_is_touched(store: Store) {
    with_people(&store).await;
    assert!(store.add_session(digest("s"), &session(7), PASSWORD).await.unwrap());
    store.touch_session(digest("s"), at(50), at(150)).await.unwrap();
    let touched = Session { seen_at: at(50), expires_at: at(150), ..session(7) };
    assert_eq!(store.session(digest("s"), at(149)).await.unwrap(), Some(touched));
}

pub(in crate::store) async fn an_ended_session_is_gone(store: Store) {
    with_people(&store).await;
    assert!(store.add_session(digest("s"), &session(7), PASSWORD).await.unwrap());
    store.end_session(digest("s")).await.unwrap();
    assert_eq!(store.session(digest("s"), at(3)).await.unwrap(), None);
}

pub(in crate::store) async fn all_sessions_of_an_account_end_together(store: Store) {
    with_people(&store).await;
    for (secret, account) in [("a", 7), ("b", 7), ("c", 8)] {
        assert!(store.add_session(digest(secret), &session(account), PASSWORD).await.unwrap());
    }
    store.end_sessions(7).await.unwrap();
    for (secret, lives) in [("a", false), ("b", false), ("c", true)] {
        let found = store.session(digest(secret), at(3)).await.unwrap();
        assert_eq!(found.is_some(), lives, "{secret}");
    }
}

pub(in crate::store) async fn a_session_is_opened_by_the_password_of_now_alone(store: Store) {
    with_people(&store).await;
    for (account, password) in [(7, "another"), (7, ""), (9, PASSWORD)] {
        assert!(!store.add_session(digest("s"), &session(account), password).await.unwrap());
        assert_eq!(store.session(digest("s"), at(3)).await.unwrap(), None);
    }
}
