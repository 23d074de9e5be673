//! Sessions.

use belfry::store::{Session, Store};

use super::{at, digest};

fn session(account: i64) -> Session {
    Session {
        account,
        created_at: at(1),
        seen_at: at(2),
        expires_at: at(100),
        lang: Some("de".to_owned()),
    }
}

pub(in crate::store) async fn a_session_is_read_back_until_it_ends(store: Store) {
    store.add_session(digest("s"), &session(7)).await.unwrap();
    assert_eq!(store.session(digest("s"), at(99)).await.unwrap(), Some(session(7)));
    assert_eq!(store.session(digest("s"), at(100)).await.unwrap(), None);
    assert_eq!(store.session(digest("other"), at(1)).await.unwrap(), None);
}

pub(in crate::store) async fn a_session_lasts_longer_when_it_is_touched(store: Store) {
    store.add_session(digest("s"), &session(7)).await.unwrap();
    store.touch_session(digest("s"), at(50), at(150)).await.unwrap();
    let touched = Session { seen_at: at(50), expires_at: at(150), ..session(7) };
    assert_eq!(store.session(digest("s"), at(149)).await.unwrap(), Some(touched));
}

pub(in crate::store) async fn an_ended_session_is_gone(store: Store) {
    store.add_session(digest("s"), &session(7)).await.unwrap();
    store.end_session(digest("s")).await.unwrap();
    assert_eq!(store.session(digest("s"), at(3)).await.unwrap(), None);
}

pub(in crate::store) async fn all_sessions_of_an_account_end_together(store: Store) {
    for (secret, account) in [("a", 7), ("b", 7), ("c", 8)] {
        store.add_session(digest(secret), &session(account)).await.unwrap();
    }
    store.end_sessions(7).await.unwrap();
    for (secret, lives) in [("a", false), ("b", false), ("c", true)] {
        let found = store.session(digest(secret), at(3)).await.unwrap();
        assert_eq!(found.is_some(), lives, "{secret}");
    }
}
