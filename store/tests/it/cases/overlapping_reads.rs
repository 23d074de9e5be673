//! Conformance cases for slow reads of rows that are changed concurrently.

use std::future::Future;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use belfry_core::account::Role;
use belfry_store::test::any_events;
use belfry_store::{NewToken, Store};
use tokio::task::block_in_place;

use super::{account, add_alice_and_app, add_app, app, hashed_secret, timestamp, token};

/// Pauses a read after the database has responded.
struct ReadPause {
    statement: Arc<Mutex<Option<&'static str>>>,
    reached: Receiver<()>,
    resume: Sender<()>,
}

impl ReadPause {
    async fn new(store: Store) -> (Self, Store) {
        while !store.is_cache_enabled() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let statement = Arc::new(Mutex::new(None::<&str>));
        let ((reached_sender, reached), (resume, resumed)) = (channel(), channel());
        let paused_statement = Arc::clone(&statement);
        let resumed = Mutex::new(resumed);
        let store = store.with_statement_hook(move |next| {
            let should_pause = |text: &mut &str| next.sql.contains(*text);
            if paused_statement.lock().unwrap().take_if(should_pause).is_some() {
                reached_sender.send(()).unwrap();
                block_in_place(|| resumed.lock().unwrap().recv()).unwrap();
            }
        });
        (Self { statement, reached, resume }, store)
    }

    /// Runs a read, pauses it after the first statement that contains `statement`, applies
    /// `change`, and resumes the read.
    async fn read_during_change<R: Send + 'static>(
        &self,
        statement: &'static str,
        read: impl Future<Output = R> + Send + 'static,
        change: impl Future<Output = ()>,
    ) -> R {
        *self.statement.lock().unwrap() = Some(statement);
        let read_task = tokio::spawn(read);
        block_in_place(|| self.reached.recv()).unwrap();
        change.await;
        self.resume.send(()).unwrap();
        read_task.await.unwrap()
    }
}

pub(crate) async fn a_token_read_while_its_account_or_app_changes_is_not_cached(store: Store) {
    let (pause, store) = ReadPause::new(store).await;
    let store = &store;
    let events = &any_events();
    let changes =
        ["disable", "role", "revoke access", "delete", "disable app", "delete app", "revoke"];
    for (id, change) in (10..).zip(changes) {
        add_app(store, &app(id, &format!("client {id}"))).await;
        store.add_account(events, &account(id, &format!("person_{id}"))).await.unwrap();
        let new_token = NewToken { app_id: id, ..token(change, Some(id)) };
        store.add_token(events, &new_token).await.unwrap();
        let reader = store.clone();
        let secret = new_token.secret;
        let read = async move { reader.token(secret).await.unwrap() };
        let write = async {
            match change {
                "disable" => {
                    store
                        .set_account_disabled_at(events, id, Some(timestamp(1)))
                        .await
                        .map(drop)
                        .unwrap();
                }
                "role" => store.set_account_role(events, id, Role::Admin).await.map(drop).unwrap(),
                "revoke access" => {
                    store.revoke_access(events, id, id, timestamp(1)).await.map(drop).unwrap();
                }
                "delete" => store.delete_account(events, id, timestamp(1)).await.map(drop).unwrap(),
                "disable app" => {
                    store
                        .set_app_disabled_at(events, id, Some(timestamp(1)))
                        .await
                        .map(drop)
                        .unwrap();
                }
                "delete app" => store.delete_app(events, id).await.map(drop).unwrap(),
                _ => {
                    store
                        .revoke_token(events, secret.lookup_key, timestamp(1))
                        .await
                        .map(drop)
                        .unwrap();
                }
            }
        };
        let stale_token = pause.read_during_change("from tokens t", read, write).await;
        assert!(stale_token.is_some(), "{change}");
        assert_eq!(store.cached_token(secret), None, "{change}");
        assert_ne!(store.token(secret).await.unwrap(), stale_token, "{change}");
    }
}

pub(crate) async fn an_app_read_while_it_changes_is_not_cached(store: Store) {
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
        let new_secret = hashed_secret(&format!("new {number}"));
        let rotate = async {
            store.rotate_app_secret(&any_events(), 1, new_secret, None).await.map(drop).unwrap();
        };
        let stale_app =
            pause.read_during_change("from apps where", read(store.clone()), rotate).await;
        assert!(!stale_app.secrets.accepts(new_secret, timestamp(1)));
        assert!(
            read(store.clone()).await.secrets.accepts(new_secret, timestamp(1)),
            "by id: {by_id}"
        );
    }
}

pub(crate) async fn an_account_read_while_it_is_disabled_is_not_cached(store: Store) {
    let (pause, store) = ReadPause::new(store).await;
    add_alice_and_app(&store).await;
    let read = async |store: Store| store.token_account("alice").await.unwrap().unwrap();
    let disable = async {
        store.set_account_disabled_at(&any_events(), 7, Some(timestamp(1))).await.unwrap();
    };
    let stale_account =
        pause.read_during_change("from accounts where", read(store.clone()), disable).await;
    assert_eq!(stale_account.disabled_at, None);
    assert_eq!(read(store.clone()).await.disabled_at, Some(timestamp(1)));
}
