//! Conformance cases for changes to several rule documents together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belfry_core::rules::{
    NewRule, NewRuleLimits, RuleDocument, RuleError, RuleKind, RuleLimits, RulePosition, RuleScope,
    UserRuleDocuments,
};
use belfry_store::test::any_events;
use belfry_store::{RuleWriteError, RuleWriter, SaveOutcome, SerializedDocument, Store};
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, block_in_place};

use super::rulesets::{save_rule, with_rule};
use super::{CONCURRENT_TASKS, ensure_account, run_concurrently, timestamp};

const SCOPES: [&str; 3] = ["device/a", "device/b", "global"];

/// The tasks of [`run_concurrently`] that write, if every fourth one reads.
const WRITERS: usize = 48;

fn scope(text: &str) -> RuleScope {
    text.parse().unwrap()
}

/// Returns the ids of the room rules of each scope, in order.
async fn rule_ids_by_scope(store: &Store) -> Vec<(String, Vec<String>)> {
    let rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
    let ids = |document: &RuleDocument| {
        let rules = document.user_rules()[RuleKind::Room].iter();
        (document.scope().to_string(), rules.map(|rule| rule.rule_id.clone()).collect())
    };
    let mut ids_by_scope: Vec<_> = rulesets.documents().map(ids).collect();
    ids_by_scope.sort();
    ids_by_scope
}

fn expected_ids<const N: usize>(scopes: [(&str, &[&str]); N]) -> Vec<(String, Vec<String>)> {
    let to_strings = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    scopes.into_iter().map(|(scope, ids)| (scope.to_owned(), to_strings(ids))).collect()
}

fn empty_document(scope_text: &str) -> SerializedDocument {
    SerializedDocument::new(RuleDocument::new(scope(scope_text)))
}

pub(crate) async fn several_documents_are_saved_together(store: Store) {
    ensure_account(&store, 7).await;
    assert!(save_rule(&store, "device/a", Some("one")).await);
    assert!(save_rule(&store, "global", Some("two")).await);
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    let documents = vec![
        with_rule(&base, "global", "three"),
        with_rule(&base, "device/b", "four"),
        empty_document("device/a"),
        empty_document("device/unknown"),
    ];
    assert_eq!(store.save_documents(&base, documents).await.unwrap(), SaveOutcome::Saved);
    let saved_ids = expected_ids([("device/b", &["four"]), ("global", &["three", "two"])]);
    assert_eq!(rule_ids_by_scope(&store).await, saved_ids, "rules read from the cache");
    let cached_rulesets = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    let reloaded_rulesets = store.reload_rulesets_for_update(7, timestamp(5)).await.unwrap();
    assert_eq!(rule_ids_by_scope(&store).await, saved_ids, "rules read from the database");
    assert_eq!(cached_rulesets.rulesets.bytes(), reloaded_rulesets.rulesets.bytes());
    // The cached versions are those of the database.
    let document = with_rule(&cached_rulesets, "device/b", "five");
    assert_eq!(store.save_document(&cached_rulesets, document).await.unwrap(), SaveOutcome::Saved);
}

pub(crate) async fn a_conflict_in_one_of_several_documents_saves_none(store: Store) {
    ensure_account(&store, 7).await;
    for conflicting_scope in SCOPES {
        for scope_exists in [true, false] {
            for scope in SCOPES {
                if scope_exists || scope != conflicting_scope {
                    assert!(save_rule(&store, scope, Some("old")).await);
                }
            }
            let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
            assert!(save_rule(&store, conflicting_scope, Some("other")).await);
            let ids_before = rule_ids_by_scope(&store).await;
            let mut documents = SCOPES.map(|scope| with_rule(&base, scope, "new")).to_vec();
            documents.push(with_rule(&base, "device/c", "new"));
            let outcome = store.save_documents(&base, documents).await.unwrap();
            assert_eq!(outcome, SaveOutcome::Conflict, "{conflicting_scope} {scope_exists}");
            assert_eq!(
                rule_ids_by_scope(&store).await,
                ids_before,
                "{conflicting_scope} {scope_exists}"
            );
            store.reload_rulesets_for_update(7, timestamp(5)).await.unwrap();
            assert_eq!(
                rule_ids_by_scope(&store).await,
                ids_before,
                "in the database: {conflicting_scope} {scope_exists}"
            );

            if scope_exists {
                let documents = SCOPES.map(empty_document).to_vec();
                let outcome = store.save_documents(&base, documents).await.unwrap();
                assert_eq!(outcome, SaveOutcome::Conflict, "{conflicting_scope}");
            }
            let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
            let outcome =
                store.save_documents(&base, SCOPES.map(empty_document).to_vec()).await.unwrap();
            assert_eq!(outcome, SaveOutcome::Saved, "{conflicting_scope} {scope_exists}");
            assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
        }
    }
}

/// Writers add a rule to three scopes in one change, in different orders. Readers never see it in
/// only some of them.
pub(crate) async fn no_concurrent_change_to_several_documents_is_lost_or_partial(store: Store) {
    ensure_account(&store, 7).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index % 4 == 0 {
            loop {
                let counts: Vec<usize> =
                    rule_ids_by_scope(&store).await.iter().map(|(_, ids)| ids.len()).collect();
                assert!(counts.is_empty() || counts == [counts[0]; 3], "{counts:?}");
                if counts.first() == Some(&WRITERS) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        loop {
            let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
            let mut documents = SCOPES.map(|scope| with_rule(&base, scope, &format!("r{index}")));
            documents.rotate_left(usize::try_from(index).unwrap() % 3);
            if store.save_documents(&base, documents.into()).await.unwrap() == SaveOutcome::Saved {
                return;
            }
        }
    })
    .await;
    store.reload_rulesets_for_update(7, timestamp(5)).await.unwrap();
    for (_, ids) in rule_ids_by_scope(&store).await {
        assert_eq!(ids.len(), WRITERS);
    }
}

const LIMITS: RuleLimits = RuleLimits { rules: 1000, bytes: 1 << 20 };

fn new_writer(store: &Store) -> RuleWriter {
    RuleWriter::new(store.clone(), LIMITS)
}

fn add_rule(document: &mut RuleDocument, id: &str) -> Result<(), RuleError> {
    let new_rule = NewRule::parse(
        RuleKind::Room,
        br#"{"actions":[]}"#,
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Room, id.parse().unwrap(), new_rule, RulePosition::default())
}

/// Wraps a change so that `concurrent_write` runs when the change is applied for the first time,
/// which is between its read and its save. Also returns how often the change was applied.
fn interleave(
    concurrent_write: impl Future<Output = ()> + Send + 'static,
    change: impl Fn(&mut UserRuleDocuments<'_>) -> Result<(), RuleError> + Send + Sync + 'static,
) -> (Arc<AtomicUsize>, impl Fn(&mut UserRuleDocuments<'_>) -> Result<(), RuleError> + Send + Sync)
{
    let apply_count = Arc::<AtomicUsize>::default();
    let concurrent_write = std::sync::Mutex::new(Some(Box::pin(concurrent_write)));
    let shared_count = Arc::clone(&apply_count);
    let change = move |documents: &mut UserRuleDocuments<'_>| {
        shared_count.fetch_add(1, Ordering::SeqCst);
        if let Some(write) = concurrent_write.lock().unwrap().take() {
            block_in_place(|| Handle::current().block_on(write));
        }
        change(documents)
    };
    (apply_count, change)
}

/// A second node changes one of the documents between the read and the save of a change.
pub(crate) async fn a_change_to_all_documents_is_applied_again_after_a_conflict(store: Store) {
    ensure_account(&store, 7).await;
    for scope in SCOPES {
        assert!(save_rule(&store, scope, Some("old")).await);
    }
    let writer = new_writer(&store);
    let other_writer = new_writer(&store);
    let add_concurrently = async move {
        other_writer
            .change_document(7, scope("device/b"), timestamp(5), |document| {
                add_rule(document, "put")
            })
            .await
            .unwrap();
    };
    let (apply_count, change) = interleave(add_concurrently, |documents| {
        SCOPES.iter().try_for_each(|text| add_rule(documents.get_mut(&scope(text)), "bulk"))
    });
    writer.change_documents(7, timestamp(5), change).await.unwrap();
    assert_eq!(apply_count.load(Ordering::SeqCst), 2);
    assert_eq!(
        rule_ids_by_scope(&store).await,
        expected_ids([
            ("device/a", &["bulk", "old"]),
            ("device/b", &["bulk", "put", "old"]),
            ("global", &["bulk", "old"]),
        ])
    );

    // A reset deletes the rules that were written before its save.
    let other_writer = new_writer(&store);
    let add_concurrently = async move {
        other_writer
            .change_document(7, scope("device/b"), timestamp(5), |document| {
                add_rule(document, "late")
            })
            .await
            .unwrap();
    };
    let (apply_count, reset) = interleave(add_concurrently, |documents| {
        documents.reset_all();
        Ok(())
    });
    writer.change_documents(7, timestamp(5), reset).await.unwrap();
    assert_eq!(apply_count.load(Ordering::SeqCst), 2);
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
}

pub(crate) async fn a_rejected_change_to_all_documents_is_undone(store: Store) {
    ensure_account(&store, 7).await;
    let writer = new_writer(&store);
    let mut changes = JoinSet::new();
    for number in 0..CONCURRENT_TASKS {
        let writer = writer.clone();
        changes.spawn(async move {
            let id = format!("r{number}");
            if number % 2 == 0 {
                return writer
                    .change_document(7, RuleScope::Global, timestamp(5), move |document| {
                        add_rule(document, &id)
                    })
                    .await
                    .unwrap();
            }
            let result = writer.change_documents(7, timestamp(5), move |documents| {
                SCOPES
                    .iter()
                    .try_for_each(|text| add_rule(documents.get_mut(&scope(text)), &id))?;
                documents.get_mut(&scope("device/b")).remove(RuleKind::Room, "none")
            });
            let error = result.await.unwrap_err();
            assert!(matches!(error, RuleWriteError::Rejected(RuleError::NoSuchRule { .. })));
        });
    }
    changes.join_all().await;
    store.reload_rulesets_for_update(7, timestamp(5)).await.unwrap();
    let stored_ids = rule_ids_by_scope(&store).await;
    assert_eq!(stored_ids.len(), 1);
    assert_eq!(stored_ids[0].1.len(), 32);
    assert!(stored_ids[0].1.iter().all(|id| id[1..].parse::<i64>().unwrap() % 2 == 0));
}

/// Two writers are like two nodes: each has its own queue.
pub(crate) async fn all_changes_by_two_writers_are_saved(store: Store) {
    ensure_account(&store, 7).await;
    let writers = [new_writer(&store), new_writer(&store)];
    let mut changes = JoinSet::new();
    for number in 0..CONCURRENT_TASKS {
        let writer = writers[usize::try_from(number).unwrap() % 2].clone();
        changes.spawn(async move {
            let id = format!("r{number}");
            if number % 4 < 2 {
                let scope = scope(SCOPES[usize::try_from(number).unwrap() % 3]);
                return writer
                    .change_document(7, scope, timestamp(5), move |document| {
                        add_rule(document, &id)
                    })
                    .await
                    .unwrap();
            }
            let change = writer.change_documents(7, timestamp(5), move |documents| {
                SCOPES.iter().try_for_each(|text| add_rule(documents.get_mut(&scope(text)), &id))
            });
            change.await.unwrap();
        });
    }
    changes.join_all().await;
    store.reload_rulesets_for_update(7, timestamp(5)).await.unwrap();
    let stored_ids = rule_ids_by_scope(&store).await;
    for number in 0..CONCURRENT_TASKS {
        let id = format!("r{number}");
        let count = stored_ids.iter().filter(|(_, ids)| ids.contains(&id)).count();
        assert_eq!(count, if number % 4 < 2 { 1 } else { 3 }, "{id}");
    }
}

/// The account is deleted between the read and the save of a change that adds its first rule or a
/// later one.
pub(crate) async fn no_rules_are_saved_for_a_deleted_account(store: Store) {
    for (account, old_rule) in [(7, None), (8, Some("old"))] {
        ensure_account(&store, account).await;
        let writer = new_writer(&store);
        if let Some(id) = old_rule {
            writer
                .change_document(account, RuleScope::Global, timestamp(5), |document| {
                    add_rule(document, id)
                })
                .await
                .unwrap();
        }
        let deleting_store = store.clone();
        let delete = async move {
            assert!(
                deleting_store.delete_account(&any_events(), account, timestamp(5)).await.is_ok()
            );
        };
        let (apply_count, change) =
            interleave(delete, |documents| add_rule(documents.get_mut(&RuleScope::Global), "new"));
        let error = writer.change_documents(account, timestamp(5), change).await.unwrap_err();
        assert!(matches!(error, RuleWriteError::NoAccount), "{error}");
        assert_eq!(apply_count.load(Ordering::SeqCst), 1);
        let stored_rulesets =
            store.reload_rulesets_for_update(account, timestamp(5)).await.unwrap();
        assert!(stored_rulesets.rulesets.is_empty());
    }
}

pub(crate) async fn no_first_rule_is_saved_for_a_disabled_account(store: Store) {
    ensure_account(&store, 7).await;
    store.set_account_disabled_at(&any_events(), 7, Some(timestamp(1))).await.unwrap();
    let outcome = new_writer(&store)
        .change_document(7, RuleScope::Global, timestamp(5), |document| add_rule(document, "new"))
        .await;
    assert!(matches!(outcome, Err(RuleWriteError::NoAccount)));
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
}
