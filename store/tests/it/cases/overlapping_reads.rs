//! Conformance cases for slow reads of rows that are changed at the same time.

use std::future::Future;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use belfry_core::oauth::account::Role;
use belfry_store::test_support::any_events;
use belfry_store::{NewToken, Store};
use tokio::task::block_in_place;

use super::{account, add_alice_and_app, add_app, app, at, hashed, token};

/// Pauses a read after the database has responded.
struct ReadPause {
    statement: Arc<Mutex<Option<&'static str>>>,
    reached: Receiver<()>,
    resume: Sender<()>,
}

impl ReadPause {
    /// Creates a pause, and the store whose reads it pauses.
    async fn new(store: Store) -> (Self, Store) {
        while !store.is_cache_enabled() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let statement = Arc::new(Mutex::new(None::<&str>));
        let ((reached_sender, reached), (resume, resumed)) = (channel(), channel());
        let (expected, resumed) = (Arc::clone(&statement), Mutex::new(resumed));
        let store = store.with_read_hook(move |sql| {
            let is_expected = |text: &mut &str| sql.contains(*text);
            if expected.lock().unwrap().take_if(is_expected).is_some() {
                reached_sender.send(()).unwrap();
                block_in_place(|| resumed.lock().unwrap().recv()).unwrap();
            }
        });
        (Self { statement, reached, resume }, store)
    }

    /// Runs a read, and a change between its statement with this text and the use of the rows.
    async fn overlap<R: Send + 'static>(
        &self,
        statement: &'static str,
        read: impl Future<Output = R> + Send + 'static,
        change: impl Future<Output = ()>,
    ) -> R {
        *self.statement.lock().unwrap() = Some(statement);
        let reading = tokio::spawn(read);
        block_in_place(|| self.reached.recv()).unwrap();
        change.await;
        self.resume.send(()).unwrap();
        reading.await.unwrap()
    }
}

pub(crate) async fn a_token_read_during_a_change_of_its_account_or_app_is_not_cached(store: Store) {
    let (pause, store) = ReadPause::new(store).await;
    let (store, events) = (&store, &any_events());
    let changes =
        ["disable", "role", "revoke access", "delete", "disable app", "delete app", "revoke"];
    for (id, change) in (10..).zip(changes) {
        add_app(store, &app(id, &format!("client {id}"))).await;
        store.add_account(events, &account(id, &format!("person_{id}"))).await.unwrap();
        let new = NewToken { app_id: id, ..token(change, Some(id)) };
        store.add_token(events, &new).await.unwrap();
        let (reader, secret) = (store.clone(), new.secret);
        let read = async move { reader.token(secret).await.unwrap() };
        let write = async {
            match change {
                "disable" => {
                    store.set_account_disabled_at(events, id, Some(at(1))).await.map(drop).unwrap();
                }
                "role" => store.set_account_role(events, id, Role::Admin).await.map(drop).unwrap(),
                "revoke access" => {
                    store.revoke_access(events, id, id, at(1)).await.map(drop).unwrap();
                }
                "delete" => store.delete_account(events, id, at(1)).await.map(drop).unwrap(),
                "disable app" => {
                    store.set_app_disabled_at(events, id, Some(at(1))).await.map(drop).unwrap();
                }
                "delete app" => store.delete_app(events, id).await.map(drop).unwrap(),
                _ => store.revoke_token(events, secret.lookup, at(1)).await.map(drop).unwrap(),
            }
        };
        let before = pause.overlap("from tokens t", read, write).await;
        assert!(before.is_some(), "{change}");
        assert_eq!(store.cached_token(&secret), None, "{change}");
        assert_ne!(store.token(secret).await.unwrap(), before, "{change}");
    }
}

pub(crate) async fn an_app_read_during_a_change_is_not_cached(store: Store) {
    let (pause, store) = ReadPause::new(store).await;
    add_alice_and_app(&store).await;
    for (number, by_id) in [true, false].into_iter().enumerate() {
        let read = |store: Store| async move {
            let app = if by_id {
                store.cached_app(1).await
            } else {
                store.app_by_client_id("client").await
            };
            app.unwrap().unwrap()
        };
        let new = hashed(&format!("new {number}"));
        let rotate = async {
            store.rotate_app_secret(&any_events(), 1, new, None).await.map(drop).unwrap();
        };
        let before = pause.overlap("from apps where", read(store.clone()), rotate).await;
        assert!(!before.secrets.accepts(new, at(1)));
        assert!(read(store.clone()).await.secrets.accepts(new, at(1)), "by id: {by_id}");
    }
}

pub(crate) async fn an_account_read_while_it_is_disabled_is_not_cached(store: Store) {
    let (pause, store) = ReadPause::new(store).await;
    add_alice_and_app(&store).await;
    let read = async |store: Store| store.token_account("alice").await.unwrap().unwrap();
    let disable = async {
        store.set_account_disabled_at(&any_events(), 7, Some(at(1))).await.unwrap();
    };
    let before = pause.overlap("from accounts where", read(store.clone()), disable).await;
    assert_eq!(before.disabled_at, None);
    assert_eq!(read(store.clone()).await.disabled_at, Some(at(1)));
}
