//! Token families of a restored database, whose clients may have newer tokens than the backup.

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::oauth::token::TokenError;
use belfry_store::test::{TestDatabase, options};
use belfry_store::{Backup, ExistingFile, RestoredTokens, create_backup, restore_backup};

use super::cases::families::{
    Refreshed, START, access, is_revoked, refresh, refresh_token, set_key, sign_in, state,
};
use super::cases::{add_alice_and_app, timestamp};

async fn assert_clients_continue_after_a_restore(
    [source, target, other_target]: [TestDatabase; 3],
) {
    let store = source.open().await;
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    assert!(refresh(&store, refresh_token(&key, "f", 0), START).await.is_advanced());
    assert!(store.token(access(&key, "f", 1)).await.unwrap().is_some());
    store.flush_uses().await.unwrap();
    let backed_up_state = state(&store, &key, "f").await;
    assert!(backed_up_state.is_used);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let now = timestamp(START);
    create_backup(&source.database, &options(), &file, ExistingFile::Reject, now).await.unwrap();
    for generation in 1..=2 {
        let secret = refresh_token(&key, "f", generation);
        assert!(refresh(&store, secret, START + i64::from(generation)).await.is_advanced());
    }
    let restore = async |target: &TestDatabase, tokens| {
        let event = NewAuditEvent::for_command(now, AuditKind::Restore);
        let backup = Backup::open(&file).unwrap();
        restore_backup(&backup, &target.database, &options(), tokens, &event).await.unwrap();
        let store = target.open().await;
        store.set_family_key(key.clone());
        store
    };

    let store = restore(&target, RestoredTokens::Keep).await;

    assert_eq!(state(&store, &key, "f").await, backed_up_state);
    for source in ["from the database", "while the row is cached"] {
        let token = store.token(access(&key, "f", 3)).await.unwrap().unwrap();
        assert_eq!(token.check_validity(timestamp(START + 299)), Ok(()), "{source}");
    }
    let present = async |generation| {
        let outcome = refresh(&store, refresh_token(&key, "f", generation), START + 60).await;
        (outcome.is_advanced(), outcome.state().map(|state| (state.base, state.newest)))
    };
    assert_eq!(present(0).await, (false, None), "used before the backup");
    assert_eq!(present(3).await, (true, Some((3, 4))), "issued after the backup");
    for generation in 0..3 {
        assert_eq!(present(generation).await, (false, None), "{generation}");
    }
    assert_eq!(present(3).await, (false, Some((3, 4))), "the response was lost");

    let store = restore(&other_target, RestoredTokens::Revoke).await;
    assert!(is_revoked(&store, &key, "f").await);
    let token = store.token(access(&key, "f", 3)).await.unwrap().unwrap();
    assert_eq!(token.check_validity(now), Err(TokenError::Revoked));
    let outcome = refresh(&store, refresh_token(&key, "f", 0), START + 60).await;
    assert_eq!(outcome, Refreshed::Reused);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_continue_with_newer_tokens_after_a_restore_on_sqlite() {
    assert_clients_continue_after_a_restore([(); 3].map(|()| TestDatabase::sqlite())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_continue_with_newer_tokens_after_a_restore_on_postgres() {
    let Some(source) = TestDatabase::postgres().await else { return };
    let Some(target) = TestDatabase::postgres().await else { return };
    let Some(other_target) = TestDatabase::postgres().await else { return };
    assert_clients_continue_after_a_restore([source, target, other_target]).await;
}
