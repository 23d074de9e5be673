//! Accounts.

use belfry::store::{
    Account, AddAccountError, ExistingAccess, Session, SignInOutcome, Store, UpdateOutcome,
};
use belfry_core::oauth::grant::Grant;
use belfry_core::oauth::token::TokenAccount;

use super::{MANY, PASSWORD, account, agree, at, grant, hashed, many, token, with_alice};

pub(in crate::store) async fn an_account_is_read_back_as_it_was_added(store: Store) {
    let alice = account(7, "alice");
    let bare = Account { email: None, ..account(8, "bob") };
    store.add_account(&alice).await.unwrap();
    store.add_account(&bare).await.unwrap();

    assert_eq!(store.account(7).await.unwrap(), Some(alice.clone()));
    assert_eq!(store.account_by_name("alice").await.unwrap(), Some(alice));
    assert_eq!(store.account(8).await.unwrap(), Some(bare));
    assert_eq!(store.account(9).await.unwrap(), None);
    assert_eq!(store.account_by_name("Alice").await.unwrap(), None);
}

pub(in crate::store) async fn an_account_is_found_by_its_email_in_any_case(store: Store) {
    let alice = account(7, "alice");
    store.add_account(&alice).await.unwrap();
    assert_eq!(store.account_by_email("Alice@Example.ORG").await.unwrap(), Some(alice));
    assert_eq!(store.account_by_email("bob@example.org").await.unwrap(), None);
}

pub(in crate::store) async fn a_name_or_email_is_taken_once(store: Store) {
    let alice = account(7, "alice");
    store.add_account(&alice).await.unwrap();

    let same_name = Account { email: None, ..account(8, "alice") };
    let same_email = Account { email: alice.email.clone(), ..account(8, "bob") };
    let same_id = account(7, "carol");

    assert!(matches!(store.add_account(&same_name).await, Err(AddAccountError::NameTaken)));
    assert!(matches!(store.add_account(&same_email).await, Err(AddAccountError::EmailTaken)));
    assert!(matches!(store.add_account(&same_id).await, Err(AddAccountError::IdTaken)));
    assert_eq!(store.account(7).await.unwrap(), Some(alice));
}

pub(in crate::store) async fn of_many_who_take_a_name_one_succeeds(store: Store) {
    let (store, outcomes) =
        many(
            store,
            |store, index| async move { store.add_account(&account(index, "alice")).await },
        )
        .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(store.accounts("", 10).await.unwrap().len(), 1);
}

pub(in crate::store) async fn accounts_are_listed_by_name_in_pages(store: Store) {
    for (id, name) in [(1, "carol"), (2, "alice"), (3, "bob")] {
        store.add_account(&account(id, name)).await.unwrap();
    }
    let names = async |after, limit| {
        let page = store.accounts(after, limit).await.unwrap();
        page.into_iter().map(|account| account.name).collect::<Vec<_>>()
    };
    assert_eq!(names("", 2).await, ["alice", "bob"]);
    assert_eq!(names("bob", 2).await, ["carol"]);
}

pub(in crate::store) async fn a_disabled_account_says_so_and_its_sessions_end(store: Store) {
    store.add_account(&account(7, "alice")).await.unwrap();
    let session = Session {
        account_id: 7,
        created_at: at(1),
        seen_at: at(1),
        expires_at: at(100),
        lang: None,
    };
    assert_eq!(
        store.add_session(hashed("s"), &session, PASSWORD).await.unwrap(),
        SignInOutcome::SignedIn
    );

    assert_eq!(store.disable_account(7, Some(at(50))).await.unwrap(), UpdateOutcome::Updated);
    assert_eq!(store.account(7).await.unwrap().unwrap().disabled_at, Some(at(50)));
    assert_eq!(store.session(hashed("s"), at(60)).await.unwrap(), None);

    assert_eq!(store.disable_account(7, None).await.unwrap(), UpdateOutcome::Updated);
    assert_eq!(store.account(7).await.unwrap().unwrap().disabled_at, None);
    assert_eq!(store.disable_account(8, None).await.unwrap(), UpdateOutcome::NotFound);
}

pub(in crate::store) async fn whom_a_service_acts_for_is_what_the_account_is_now(store: Store) {
    assert_eq!(store.token_account("alice").await.unwrap(), None);
    store.add_account(&account(7, "alice")).await.unwrap();
    let alice = |disabled_at| TokenAccount { id: 7, name: "alice".to_owned(), disabled_at };
    for disabled_at in [None, Some(at(50)), None] {
        store.disable_account(7, disabled_at).await.unwrap();
        // From the database, then from memory.
        for _ in 0..2 {
            assert_eq!(store.token_account("alice").await.unwrap(), Some(alice(disabled_at)));
        }
    }
}

pub(in crate::store) async fn a_new_password_ends_the_sessions(store: Store) {
    store.add_account(&account(7, "alice")).await.unwrap();
    let session = Session {
        account_id: 7,
        created_at: at(1),
        seen_at: at(1),
        expires_at: at(100),
        lang: None,
    };
    assert_eq!(
        store.add_session(hashed("s"), &session, PASSWORD).await.unwrap(),
        SignInOutcome::SignedIn
    );

    assert_eq!(
        store.set_password(7, "new", ExistingAccess::Keep).await.unwrap(),
        UpdateOutcome::Updated
    );
    assert_eq!(store.account(7).await.unwrap().unwrap().password, "new");
    assert_eq!(store.session(hashed("s"), at(60)).await.unwrap(), None);
    assert_eq!(
        store.set_password(8, "new", ExistingAccess::Keep).await.unwrap(),
        UpdateOutcome::NotFound
    );
}

pub(in crate::store) async fn a_new_password_ends_tokens_and_codes_unless_they_are_kept(
    store: Store,
) {
    with_alice(&store).await;
    store.add_account(&account(8, "bob")).await.unwrap();
    for (secret, account) in [("alice", Some(7)), ("bob", Some(8)), ("app", None)] {
        store.add_token(&token(secret, account)).await.unwrap();
    }
    for (secret, account) in [("code of alice", 7), ("code of bob", 8)] {
        let code = Grant { account_id: account, ..grant() };
        agree(&store, secret, &code).await;
    }
    let good = async |secret| {
        let found = store.token(hashed(secret)).await.unwrap().unwrap();
        found.revoked_at.is_none()
    };
    assert_eq!(
        store.set_password(7, "new", ExistingAccess::Keep).await.unwrap(),
        UpdateOutcome::Updated
    );
    assert!(good("alice").await && good("bob").await && good("app").await);
    assert!(store.code(hashed("code of alice")).await.unwrap().is_some());

    assert_eq!(
        store.set_password(7, "newer", ExistingAccess::RevokeAt(at(10))).await.unwrap(),
        UpdateOutcome::Updated
    );
    assert!(!good("alice").await && good("bob").await && good("app").await);
    assert!(store.code(hashed("code of alice")).await.unwrap().is_none());
    assert!(store.code(hashed("code of bob")).await.unwrap().is_some());
    assert_eq!(
        store.set_password(9, "new", ExistingAccess::RevokeAt(at(10))).await.unwrap(),
        UpdateOutcome::NotFound
    );
}

pub(in crate::store) async fn a_password_is_hashed_anew_only_over_itself_and_the_sessions_go_on(
    store: Store,
) {
    store.add_account(&account(7, "alice")).await.unwrap();
    let session = Session {
        account_id: 7,
        created_at: at(1),
        seen_at: at(1),
        expires_at: at(100),
        lang: None,
    };
    assert_eq!(
        store.add_session(hashed("s"), &session, PASSWORD).await.unwrap(),
        SignInOutcome::SignedIn
    );
    let old = store.account(7).await.unwrap().unwrap().password;

    assert_eq!(store.rehash_password(7, &old, "stronger").await.unwrap(), UpdateOutcome::Updated);
    assert_eq!(store.account(7).await.unwrap().unwrap().password, "stronger");
    assert_eq!(store.session(hashed("s"), at(60)).await.unwrap(), Some(session));
    assert_eq!(store.rehash_password(7, &old, "late").await.unwrap(), UpdateOutcome::NotFound);
    assert_eq!(store.rehash_password(8, &old, "late").await.unwrap(), UpdateOutcome::NotFound);
    assert_eq!(store.account(7).await.unwrap().unwrap().password, "stronger");
}

pub(in crate::store) async fn of_many_who_sign_in_while_the_password_changes_nobody_stays(
    store: Store,
) {
    with_alice(&store).await;
    let (store, _) = many(store, |store, index| async move {
        let session = Session {
            account_id: 7,
            created_at: at(1),
            seen_at: at(1),
            expires_at: at(100),
            lang: None,
        };
        let secret = hashed(&format!("s{index}"));
        if index == MANY / 2 {
            assert_eq!(
                store.set_password(7, "new", ExistingAccess::RevokeAt(at(10))).await.unwrap(),
                UpdateOutcome::Updated
            );
        } else if index % 2 == 0 {
            store.add_session(secret, &session, PASSWORD).await.unwrap();
        } else {
            let token = token(&format!("s{index}"), Some(7));
            let outcome = store.add_token_for_password(&token, PASSWORD).await.unwrap();
            if outcome == SignInOutcome::SignedIn {
                // Puts it into memory, in a race with what is forgotten.
                store.token(secret).await.unwrap();
            }
        }
    })
    .await;
    for index in 0..MANY {
        let secret = hashed(&format!("s{index}"));
        assert_eq!(store.session(secret, at(20)).await.unwrap(), None, "{index}");
        let token = store.token(secret).await.unwrap();
        assert!(token.is_none_or(|token| token.revoked_at.is_some()), "{index}");
    }
}
