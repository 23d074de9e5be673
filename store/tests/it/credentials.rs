//! A session that was added while its account's password was changed.

use belfry_store::test_support::{TestDatabase, any_events, execute_sql};
use belfry_store::{CodeOutcome, Consent};

use super::cases::{add_alice_and_app, ensure_session, grant, hashed, timestamp};

async fn assert_older_session_is_not_used(database: TestDatabase) {
    let store = database.open().await;
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    assert!(store.session(session, timestamp(1)).await.unwrap().is_some());
    // Simulates a password change whose transaction did not see the new session.
    execute_sql(&database, "update accounts set credential_version = credential_version + 1").await;
    assert_eq!(store.session(session, timestamp(1)).await.unwrap(), None);
    let consent = Consent { session: session.lookup_key, at: timestamp(1), is_implied: false };
    let outcome = store.add_code(&any_events(), hashed("c"), &grant(), consent).await.unwrap();
    assert_ne!(outcome, CodeOutcome::Issued);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_an_older_credential_version_is_not_used_on_sqlite() {
    assert_older_session_is_not_used(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_an_older_credential_version_is_not_used_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_older_session_is_not_used(database).await;
}
