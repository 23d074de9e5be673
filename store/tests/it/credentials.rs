//! A session that was added while its account's password was changed.

use belfry_store::test::{TestDatabase, any_events, execute_sql};
use belfry_store::{Consent, WriteOutcome};

use super::cases::{add_alice_and_app, ensure_session, grant, hashed_secret, timestamp};

async fn assert_earlier_session_is_invalid(database: TestDatabase) {
    let store = database.open().await;
    add_alice_and_app(&store).await;
    let session = ensure_session(&store, 7).await;
    assert!(store.session(session, timestamp(1)).await.unwrap().is_some());
    // Simulates a password change whose transaction did not see the new session.
    execute_sql(&database, "update accounts set credential_version = credential_version + 1").await;
    assert_eq!(store.session(session, timestamp(1)).await.unwrap(), None);
    let consent = Consent { session: session.lookup_key, at: timestamp(1), is_implied: false };
    let outcome =
        store.add_code(&any_events(), hashed_secret("c"), &grant(), consent).await.unwrap();
    assert_ne!(outcome, WriteOutcome::Written);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_an_earlier_credential_version_is_invalid_on_sqlite() {
    assert_earlier_session_is_invalid(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_an_earlier_credential_version_is_invalid_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_earlier_session_is_invalid(database).await;
}
