//! The delivery queue of a restored database: receivers are in a backup, deliveries are not.

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_store::test::{TestDatabase, options};
use belfry_store::{Backup, ExistingFile, RestoredTokens, Store, create_backup, restore_backup};

use super::cases::deliveries::{
    EXPIRY, NOW, claim, claimed_event_id, deliver, delivery, enqueue, failed, record, totals,
};
use super::cases::receivers::{add_accounts_and_token, add_receiver, pusher};
use super::cases::timestamp;

/// Backs up receivers of which one is claimed, one pauses, and one waits.
async fn assert_receivers_wait_for_nothing_after_a_restore(
    source: TestDatabase,
    target: TestDatabase,
) {
    let store = source.open().await;
    add_accounts_and_token(&store).await;
    for id in [5, 6, 7] {
        add_receiver(&store, &pusher(7, id, &format!("key {id}"))).await;
        enqueue(&store, &[delivery(7, id, "$old")]).await;
        let claimed = if id < 7 { claim(&store, "c", NOW).await } else { Vec::new() };
        if id == 5 {
            record(&store, &claimed, NOW, |claimed| failed(claimed, NOW + 60)).await;
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let now = timestamp(EXPIRY);
    create_backup(&source.database, &options(), &file, ExistingFile::Reject, now).await.unwrap();
    // The target has a schema, whose tables are replaced.
    drop(target.open().await);
    let event = NewAuditEvent::for_command(now, AuditKind::Restore);
    let backup = Backup::open(&file).unwrap();
    restore_backup(&backup, &target.database, &options(), RestoredTokens::Keep, &event)
        .await
        .unwrap();

    let store: Store = target.open().await;
    assert_eq!(totals(&store, "gateway").await, [0; 6]);
    assert_eq!(claim(&store, "d", NOW + 1000).await, []);
    enqueue(&store, &[5, 6, 7].map(|id| delivery(7, id, "$new"))).await;
    let claimed = claim(&store, "e", NOW).await;
    assert_eq!(claimed.iter().map(|next| next.receiver.id).collect::<Vec<_>>(), [6, 7]);
    let claimed = claim(&store, "f", NOW + 60).await;
    assert_eq!(claimed.iter().map(claimed_event_id).collect::<Vec<_>>(), ["$new"]);
    store.release_all_claims(timestamp(NOW + 60)).await.unwrap();
    assert_eq!(deliver(&store, NOW + 60).await, 3);
    assert_eq!(totals(&store, "gateway").await, [3, 0, 3, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_wait_for_nothing_after_a_restore_on_sqlite() {
    let [source, target] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    assert_receivers_wait_for_nothing_after_a_restore(source, target).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_wait_for_nothing_after_a_restore_on_postgres() {
    let Some(source) = TestDatabase::postgres().await else { return };
    let Some(target) = TestDatabase::postgres().await else { return };
    assert_receivers_wait_for_nothing_after_a_restore(source, target).await;
}
