//! Conformance cases for accounts.

use belfry_core::account::Role;
use belfry_core::oauth::grant::CodeGrant;
use belfry_core::oauth::token::TokenAccount;
use belfry_store::test::any_events;
use belfry_store::{
    Account, AccountListFilter, AccountUpdateOutcome, AddAccountError, EnabledState,
    ExistingAccess, Store, WriteOutcome,
};

use super::{
    CONCURRENT_TASKS, PASSWORD_HASH, account, add_alice_and_app, add_session, grant, hashed_secret,
    issue_code, run_concurrently, session, timestamp, token,
};

pub(crate) async fn an_account_is_read_back_as_it_was_added(store: Store) {
    let alice = account(7, "alice");
    let without_email = Account { email: None, ..account(8, "bob") };
    store.add_account(&any_events(), &alice).await.unwrap();
    store.add_account(&any_events(), &without_email).await.unwrap();

    assert_eq!(store.account(7).await.unwrap(), Some(alice.clone()));
    assert_eq!(store.account_by_name("alice").await.unwrap(), Some(alice));
    assert_eq!(store.account(8).await.unwrap(), Some(without_email));
    assert_eq!(store.account(9).await.unwrap(), None);
    assert_eq!(store.account_by_name("Alice").await.unwrap(), None);
}

pub(crate) async fn an_account_is_found_by_its_email_in_any_case(store: Store) {
    let alice = account(7, "alice");
    store.add_account(&any_events(), &alice).await.unwrap();
    assert_eq!(store.account_by_email("Alice@Example.ORG").await.unwrap(), Some(alice));
    assert_eq!(store.account_by_email("bob@example.org").await.unwrap(), None);
}

pub(crate) async fn a_name_or_email_can_only_be_used_once(store: Store) {
    let alice = account(7, "alice");
    store.add_account(&any_events(), &alice).await.unwrap();

    let same_name = Account { email: None, ..account(8, "alice") };
    let same_email = Account { email: alice.email.clone(), ..account(8, "bob") };
    let same_id = account(7, "carol");

    assert!(matches!(
        store.add_account(&any_events(), &same_name).await,
        Err(AddAccountError::NameTaken)
    ));
    assert!(matches!(
        store.add_account(&any_events(), &same_email).await,
        Err(AddAccountError::EmailTaken)
    ));
    assert!(matches!(
        store.add_account(&any_events(), &same_id).await,
        Err(AddAccountError::IdTaken)
    ));
    assert_eq!(store.account(7).await.unwrap(), Some(alice));
}

pub(crate) async fn only_one_concurrent_registration_of_a_name_succeeds(store: Store) {
    let (store, outcomes) = run_concurrently(store, |store, index| async move {
        store.add_account(&any_events(), &account(index, "alice")).await
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(store.accounts(&AccountListFilter::default(), "", 10).await.unwrap().len(), 1);
}

pub(crate) async fn accounts_are_listed_by_name_in_pages(store: Store) {
    for (id, name) in [(1, "carol"), (2, "alice"), (3, "bob")] {
        store.add_account(&any_events(), &account(id, name)).await.unwrap();
    }
    let names = async |after, limit| {
        let page = store.accounts(&AccountListFilter::default(), after, limit).await.unwrap();
        page.into_iter().map(|account| account.name).collect::<Vec<_>>()
    };
    assert_eq!(names("", 2).await, ["alice", "bob"]);
    assert_eq!(names("bob", 2).await, ["carol"]);
}

pub(crate) async fn accounts_are_listed_by_state_role_name_and_email(store: Store) {
    for (id, name) in [(1, "alice"), (2, "bob"), (3, "b_b"), (4, "bobby"), (5, "carol.b")] {
        let new_account = match id {
            1 => Account { role: Role::Admin, ..account(id, name) },
            4 => {
                let unverified_email = Some("carol@example.org".to_owned());
                Account { email: None, unverified_email, ..account(id, name) }
            }
            5 => Account { email: None, ..account(id, name) },
            _ => account(id, name),
        };
        store.add_account(&any_events(), &new_account).await.unwrap();
    }
    store.set_account_disabled_at(&any_events(), 2, Some(timestamp(50))).await.unwrap();
    let no_filter = AccountListFilter::default;
    let with_name_prefix =
        |text: &str| AccountListFilter { name_prefix: Some(text.to_owned()), ..no_filter() };
    let with_email = |text: &str| AccountListFilter { email: Some(text.to_owned()), ..no_filter() };
    let active = Some(EnabledState::Active);
    let disabled = Some(EnabledState::Disabled);
    for (filter, expected) in [
        (no_filter(), vec![1, 3, 2, 4, 5]),
        (AccountListFilter { state: active, ..no_filter() }, vec![1, 3, 4, 5]),
        (AccountListFilter { state: disabled, ..no_filter() }, vec![2]),
        (AccountListFilter { role: Some(Role::Admin), ..no_filter() }, vec![1]),
        (AccountListFilter { role: Some(Role::User), ..no_filter() }, vec![3, 2, 4, 5]),
        (with_name_prefix("bob"), vec![2, 4]),
        (with_name_prefix("b_"), vec![3]),
        (with_name_prefix("%"), vec![]),
        (with_name_prefix(""), vec![1, 3, 2, 4, 5]),
        (with_email("EXAMPLE"), vec![1, 3, 2, 4]),
        (with_email("carol@"), vec![4]),
        (with_email(""), vec![1, 3, 2, 4, 5]),
        (AccountListFilter { state: active, ..with_name_prefix("bob") }, vec![4]),
    ] {
        // Read in pages of one row, in byte order.
        let mut ids = Vec::new();
        let mut after = String::new();
        while let [account] = &store.accounts(&filter, &after, 1).await.unwrap()[..] {
            account.name.clone_into(&mut after);
            ids.push(account.id);
        }
        assert_eq!(ids, expected, "{filter:?}");
    }
}

pub(crate) async fn disabling_an_account_is_stored_and_ends_its_sessions(store: Store) {
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let session = session(7, 100);
    add_session(&store, hashed_secret("s"), &session).await;

    assert_eq!(
        store.set_account_disabled_at(&any_events(), 7, Some(timestamp(50))).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    assert_eq!(store.account(7).await.unwrap().unwrap().disabled_at, Some(timestamp(50)));
    assert_eq!(store.session(hashed_secret("s"), timestamp(60)).await.unwrap(), None);

    assert_eq!(
        store.set_account_disabled_at(&any_events(), 7, None).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    assert_eq!(store.account(7).await.unwrap().unwrap().disabled_at, None);
    assert_eq!(
        store.set_account_disabled_at(&any_events(), 8, None).await.unwrap(),
        AccountUpdateOutcome::NotFound
    );
}

pub(crate) async fn an_application_service_request_gets_the_current_account(store: Store) {
    assert_eq!(store.token_account("alice").await.unwrap(), None);
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let alice = |disabled_at| TokenAccount {
        id: 7,
        name: "alice".to_owned(),
        role: Role::User,
        disabled_at,
    };
    for disabled_at in [None, Some(timestamp(50)), None] {
        store.set_account_disabled_at(&any_events(), 7, disabled_at).await.unwrap();
        // Read from the database, then from the cache.
        for _ in 0..2 {
            assert_eq!(store.token_account("alice").await.unwrap(), Some(alice(disabled_at)));
        }
    }
}

pub(crate) async fn a_new_password_ends_the_sessions(store: Store) {
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let session = session(7, 100);
    add_session(&store, hashed_secret("s"), &session).await;

    assert_eq!(
        store.set_password(&any_events(), 7, "new", ExistingAccess::Keep).await.unwrap(),
        WriteOutcome::Written
    );
    assert_eq!(store.account(7).await.unwrap().unwrap().password_hash, "new");
    assert_eq!(store.session(hashed_secret("s"), timestamp(60)).await.unwrap(), None);
    assert_eq!(
        store.set_password(&any_events(), 8, "new", ExistingAccess::Keep).await.unwrap(),
        WriteOutcome::NotFound
    );
}

pub(crate) async fn a_new_password_revokes_tokens_and_codes_if_requested(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    for (secret, account) in [("alice", Some(7)), ("bob", Some(8)), ("app", None)] {
        store.add_token(&any_events(), &token(secret, account)).await.unwrap();
    }
    for (secret, account) in [("code of alice", 7), ("code of bob", 8)] {
        let code = CodeGrant { account_id: account, ..grant() };
        issue_code(&store, secret, &code).await;
    }
    let is_valid = async |secret| {
        let token = store.token(hashed_secret(secret)).await.unwrap().unwrap();
        token.revoked_at.is_none()
    };
    assert_eq!(
        store.set_password(&any_events(), 7, "new", ExistingAccess::Keep).await.unwrap(),
        WriteOutcome::Written
    );
    assert!(is_valid("alice").await && is_valid("bob").await && is_valid("app").await);
    assert!(store.code(hashed_secret("code of alice")).await.unwrap().is_some());

    assert_eq!(
        store
            .set_password(&any_events(), 7, "newer", ExistingAccess::RevokeAt(timestamp(10)))
            .await
            .unwrap(),
        WriteOutcome::Written
    );
    assert!(!is_valid("alice").await && is_valid("bob").await && is_valid("app").await);
    assert!(store.code(hashed_secret("code of alice")).await.unwrap().is_none());
    assert!(store.code(hashed_secret("code of bob")).await.unwrap().is_some());
    assert_eq!(
        store
            .set_password(&any_events(), 9, "new", ExistingAccess::RevokeAt(timestamp(10)))
            .await
            .unwrap(),
        WriteOutcome::NotFound
    );
}

pub(crate) async fn rehashing_a_password_replaces_only_the_same_hash_and_preserves_sessions(
    store: Store,
) {
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let session = session(7, 100);
    add_session(&store, hashed_secret("s"), &session).await;
    let old_hash = store.account(7).await.unwrap().unwrap().password_hash;

    assert_eq!(
        store.rehash_password(7, &old_hash, "stronger").await.unwrap(),
        WriteOutcome::Written
    );
    assert_eq!(store.account(7).await.unwrap().unwrap().password_hash, "stronger");
    assert_eq!(store.session(hashed_secret("s"), timestamp(60)).await.unwrap(), Some(session));
    assert_eq!(store.rehash_password(7, &old_hash, "late").await.unwrap(), WriteOutcome::NotFound);
    assert_eq!(store.rehash_password(8, &old_hash, "late").await.unwrap(), WriteOutcome::NotFound);
    assert_eq!(store.account(7).await.unwrap().unwrap().password_hash, "stronger");
    // The password was verified before the rehash; the session is stored after it.
    add_session(&store, hashed_secret("later"), &super::session(7, 100)).await;
}

pub(crate) async fn no_session_or_token_is_added_if_the_password_was_changed_after_its_verification(
    store: Store,
) {
    add_alice_and_app(&store).await;
    let alice = store.account(7).await.unwrap().unwrap();
    let sign_in = async |name: &str, version| {
        let session = session(7, 100);
        let token = token(name, Some(7));
        let session_outcome =
            store.add_session(&any_events(), hashed_secret(name), &session, version).await;
        let token_outcome = store.add_token_for_password(&any_events(), &token, version).await;
        assert_eq!(session_outcome.unwrap(), token_outcome.unwrap());
        let session = store.session(hashed_secret(name), timestamp(60)).await.unwrap();
        let is_stored = session.is_some();
        assert_eq!(store.token(hashed_secret(name)).await.unwrap().is_some(), is_stored);
        is_stored
    };
    // The last password has the same hash as the first password.
    for (version, password) in [(1, "new"), (2, "new"), (3, PASSWORD_HASH)] {
        store.set_password(&any_events(), 7, password, ExistingAccess::Keep).await.unwrap();
        assert_eq!(store.account(7).await.unwrap().unwrap().credential_version, version);
        for old_version in 0..version {
            assert!(!sign_in(&format!("{version} {old_version}"), old_version).await);
        }
    }
    assert!(sign_in("current", 3).await);
    let current_session = hashed_secret("current").lookup_key;
    let change_password = async |account| {
        store
            .change_password(&any_events(), account, "newer", current_session, timestamp(20))
            .await
            .unwrap()
    };
    assert_eq!(change_password(&alice).await, WriteOutcome::NotFound);
    let alice = Account { credential_version: 3, ..alice.clone() };
    assert_eq!(change_password(&alice).await, WriteOutcome::Written);
    assert!(!sign_in("outdated", 3).await);
    assert!(
        store.session(hashed_secret("current"), timestamp(60)).await.unwrap().is_some(),
        "the current session remains"
    );
    assert!(sign_in("newest", 4).await);
}

pub(crate) async fn no_sign_in_concurrent_with_a_password_change_survives_it(store: Store) {
    add_alice_and_app(&store).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        let session = session(7, 100);
        let secret = hashed_secret(&format!("s{index}"));
        if index == CONCURRENT_TASKS / 2 {
            assert_eq!(
                store
                    .set_password(&any_events(), 7, "new", ExistingAccess::RevokeAt(timestamp(10)))
                    .await
                    .unwrap(),
                WriteOutcome::Written
            );
        } else if index % 2 == 0 {
            let _ = store.add_session(&any_events(), secret, &session, 0).await.unwrap();
        } else {
            let token = token(&format!("s{index}"), Some(7));
            let outcome = store.add_token_for_password(&any_events(), &token, 0).await.unwrap();
            if outcome == WriteOutcome::Written {
                // Fills the cache concurrently with the invalidation.
                store.token(secret).await.unwrap();
            }
        }
    })
    .await;
    for index in 0..CONCURRENT_TASKS {
        let secret = hashed_secret(&format!("s{index}"));
        assert_eq!(store.session(secret, timestamp(20)).await.unwrap(), None, "{index}");
        let token = store.token(secret).await.unwrap();
        assert!(token.is_none_or(|token| token.revoked_at.is_some()), "{index}");
    }
}
