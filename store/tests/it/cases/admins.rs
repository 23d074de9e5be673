//! Conformance cases for roles, and for the rule that the last enabled admin is not disabled,
//! demoted or deleted.

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    Account, AccountDeletionOutcome, AccountUpdateOutcome, DeletedRows, NewToken, Store,
};

use super::{
    CONCURRENT_TASKS, account, add_alice_and_app, add_session, hashed_secret, run_concurrently,
    session, timestamp, token,
};

async fn add_admin(store: &Store, id: i64, name: &str) {
    let admin = Account { role: Role::Admin, ..account(id, name) };
    store.add_account(&any_events(), &admin).await.unwrap();
}

/// Returns the number of enabled admins among these accounts.
async fn count_admins(store: &Store, ids: impl IntoIterator<Item = i64>) -> usize {
    let mut count = 0;
    for id in ids {
        let account = store.account(id).await.unwrap();
        let admin = account.filter(|account| account.role == Role::Admin);
        count += usize::from(admin.is_some_and(|admin| admin.disabled_at.is_none()));
    }
    count
}

async fn event_kinds(store: &Store) -> Vec<String> {
    let events = store.audit_events(recorded_events(), 100).await.unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

fn audit_event(kind: AuditKind) -> NewAuditEvents {
    NewAuditEvent::for_command(timestamp(1), kind).into()
}

pub(crate) async fn a_role_is_stored_and_reported_by_tokens_immediately(store: Store) {
    add_alice_and_app(&store).await;
    add_admin(&store, 8, "root").await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let role = async || {
        let token = store.token(hashed_secret("t")).await.unwrap().unwrap();
        token.account.as_ref().unwrap().role
    };
    assert_eq!(role().await, Role::User);
    for new_role in [Role::Admin, Role::User] {
        let role_change = audit_event(AuditKind::RoleChange);
        assert_eq!(
            store.set_account_role(&role_change, 7, new_role).await.unwrap(),
            AccountUpdateOutcome::Updated
        );
        assert_eq!(role().await, new_role);
        assert_eq!(store.account(7).await.unwrap().unwrap().role, new_role);
    }
    let role_change = audit_event(AuditKind::RoleChange);
    assert_eq!(
        store.set_account_role(&role_change, 7, Role::User).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    let outcome = store.set_account_role(&role_change, 9, Role::Admin).await.unwrap();
    assert_eq!(outcome, AccountUpdateOutcome::NotFound);
    assert_eq!(
        event_kinds(&store).await,
        ["role_change", "role_change"],
        "only changes are recorded"
    );
}

pub(crate) async fn the_last_enabled_admin_is_not_removed(store: Store) {
    add_alice_and_app(&store).await;
    add_admin(&store, 8, "root").await;
    let disabled_admin =
        Account { role: Role::Admin, disabled_at: Some(timestamp(1)), ..account(9, "off") };
    store.add_account(&any_events(), &disabled_admin).await.unwrap();
    store.add_token(&any_events(), &NewToken { app_id: 1, ..token("t", Some(8)) }).await.unwrap();
    add_session(&store, hashed_secret("s"), &session(8, 100)).await;
    let original_account = store.account(8).await.unwrap();

    let disabling = audit_event(AuditKind::AccountDisable);
    let outcome = store.set_account_disabled_at(&disabling, 8, Some(timestamp(50))).await.unwrap();
    assert_eq!(outcome, AccountUpdateOutcome::LastAdmin);
    let demotion = audit_event(AuditKind::RoleChange);
    assert_eq!(
        store.set_account_role(&demotion, 8, Role::User).await.unwrap(),
        AccountUpdateOutcome::LastAdmin
    );
    let deletion = audit_event(AuditKind::AccountDelete);
    assert_eq!(
        store.delete_account(&deletion, 8, timestamp(50)).await.unwrap(),
        AccountDeletionOutcome::LastAdmin
    );

    assert_eq!(store.account(8).await.unwrap(), original_account);
    assert!(store.session(hashed_secret("s"), timestamp(60)).await.unwrap().is_some());
    assert!(store.token(hashed_secret("t")).await.unwrap().is_some());
    assert_eq!(event_kinds(&store).await, [""; 0]);
    // These change nothing for the last admin, and others are not protected.
    assert_eq!(
        store.set_account_disabled_at(&any_events(), 8, None).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    assert_eq!(
        store.set_account_role(&any_events(), 8, Role::Admin).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    assert_eq!(
        store.set_account_disabled_at(&any_events(), 7, Some(timestamp(50))).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    assert_eq!(
        store.set_account_role(&any_events(), 9, Role::User).await.unwrap(),
        AccountUpdateOutcome::Updated
    );
    let outcome = store.delete_account(&any_events(), 9, timestamp(50)).await.unwrap();
    assert_eq!(outcome, AccountDeletionOutcome::Deleted(DeletedRows::default()));

    // A second enabled admin replaces the first.
    add_admin(&store, 10, "next").await;
    let outcome = store.delete_account(&any_events(), 8, timestamp(50)).await.unwrap();
    let rows = DeletedRows { sessions: 1, tokens: 1, ..DeletedRows::default() };
    assert_eq!(outcome, AccountDeletionOutcome::Deleted(rows));
    let outcome =
        store.set_account_disabled_at(&any_events(), 10, Some(timestamp(50))).await.unwrap();
    assert_eq!(outcome, AccountUpdateOutcome::LastAdmin);
}

/// Removes an admin by one of three methods, and returns whether that succeeded.
async fn remove_admin(store: &Store, id: i64, method: i64) -> bool {
    match method % 3 {
        0 => {
            store.set_account_role(&any_events(), id, Role::User).await.unwrap()
                == AccountUpdateOutcome::Updated
        }
        1 => {
            let outcome = store
                .set_account_disabled_at(&any_events(), id, Some(timestamp(50)))
                .await
                .unwrap();
            outcome == AccountUpdateOutcome::Updated
        }
        _ => {
            store.delete_account(&any_events(), id, timestamp(50)).await.unwrap()
                != AccountDeletionOutcome::LastAdmin
        }
    }
}

pub(crate) async fn one_of_several_concurrent_removals_of_all_admins_fails(store: Store) {
    for id in 0..CONCURRENT_TASKS {
        add_admin(&store, id, &format!("admin_{id}")).await;
    }
    let (store, outcomes) =
        run_concurrently(store, |store, id| async move { remove_admin(&store, id, id).await })
            .await;
    assert_eq!(outcomes.iter().filter(|is_removed| !**is_removed).count(), 1);
    assert_eq!(count_admins(&store, 0..CONCURRENT_TASKS).await, 1);
}

pub(crate) async fn two_admins_who_remove_each_other_do_not_both_succeed(store: Store) {
    let mut remaining_admin = None;
    for round in 0..30 {
        let first_id = 2 * round;
        let second_id = 2 * round + 1;
        for id in [first_id, second_id] {
            add_admin(&store, id, &format!("admin_{id}")).await;
        }
        if let Some(id) = remaining_admin {
            assert!(remove_admin(&store, id, 2).await);
        }
        let (is_first_removed, is_second_removed) = tokio::join!(
            remove_admin(&store, first_id, round),
            remove_admin(&store, second_id, round / 3)
        );
        assert_ne!(is_first_removed, is_second_removed, "round {round}");
        assert_eq!(count_admins(&store, [first_id, second_id]).await, 1, "round {round}");
        remaining_admin = Some(if is_first_removed { second_id } else { first_id });
    }
}
