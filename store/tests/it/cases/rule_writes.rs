//! Conformance cases for changes to several rulesets together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belfry_core::rules::{
    Document, Documents, NewRule, NewRuleLimits, Position, RuleError, RuleKind, RuleLimits,
    RuleScope,
};
use belfry_store::test_support::any_events;
use belfry_store::{RuleWriteError, RuleWriter, SaveOutcome, SerializedDocument, Store};
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, block_in_place};

use super::rulesets::{save, with_rule};
use super::{MANY, at, ensure_account, run_concurrently};

const SCOPES: [&str; 3] = ["device/a", "device/b", "global"];

fn scope(text: &str) -> RuleScope {
    text.parse().unwrap()
}

/// Returns the ids of the room rules of each scope, in order.
async fn rules(store: &Store) -> Vec<(String, Vec<String>)> {
    let rulesets = store.rulesets(7, at(5)).await.unwrap();
    let ids = |document: &Document| {
        let rules = document.user_rules()[RuleKind::Room].iter();
        (document.scope().to_string(), rules.map(|rule| rule.rule_id.clone()).collect())
    };
    let mut all: Vec<_> = rulesets.documents().map(ids).collect();
    all.sort();
    all
}

/// Returns the expected result of [`rules`].
fn expected<const N: usize>(scopes: [(&str, &[&str]); N]) -> Vec<(String, Vec<String>)> {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    scopes.into_iter().map(|(scope, ids)| (scope.to_owned(), owned(ids))).collect()
}

fn empty_document(scope_text: &str) -> SerializedDocument {
    SerializedDocument::new(Document::new(scope(scope_text)))
}

pub(crate) async fn several_documents_are_saved_together(store: Store) {
    ensure_account(&store, 7).await;
    assert!(save(&store, "device/a", Some("one")).await);
    assert!(save(&store, "global", Some("two")).await);
    let base = store.rulesets_for_update(7, at(5)).await.unwrap();
    let documents = vec![
        with_rule(&base, "global", "three"),
        with_rule(&base, "device/b", "four"),
        empty_document("device/a"),
        empty_document("device/unknown"),
    ];
    assert_eq!(store.save_rulesets(&base, documents).await.unwrap(), SaveOutcome::Saved);
    let saved = expected([("device/b", &["four"]), ("global", &["three", "two"])]);
    assert_eq!(rules(&store).await, saved, "from the cache");
    let cached = store.rulesets_for_update(7, at(5)).await.unwrap();
    let reloaded = store.reload_rulesets_for_update(7, at(5)).await.unwrap();
    assert_eq!(rules(&store).await, saved, "from the database");
    assert_eq!(cached.rulesets.bytes(), reloaded.rulesets.bytes());
    // The cached versions are those of the database.
    let document = with_rule(&cached, "device/b", "five");
    assert_eq!(store.save_ruleset(&cached, document).await.unwrap(), SaveOutcome::Saved);
}

pub(crate) async fn a_conflict_in_one_of_several_documents_saves_none(store: Store) {
    ensure_account(&store, 7).await;
    for conflicting in SCOPES {
        for exists in [true, false] {
            for scope in SCOPES {
                if exists || scope != conflicting {
                    assert!(save(&store, scope, Some("old")).await);
                }
            }
            let base = store.rulesets_for_update(7, at(5)).await.unwrap();
            assert!(save(&store, conflicting, Some("other")).await);
            let before = rules(&store).await;
            let mut documents = SCOPES.map(|scope| with_rule(&base, scope, "new")).to_vec();
            documents.push(with_rule(&base, "device/c", "new"));
            let outcome = store.save_rulesets(&base, documents).await.unwrap();
            assert_eq!(outcome, SaveOutcome::Conflict, "{conflicting} {exists}");
            assert_eq!(rules(&store).await, before, "{conflicting} {exists}");
            store.reload_rulesets_for_update(7, at(5)).await.unwrap();
            assert_eq!(rules(&store).await, before, "in the database: {conflicting} {exists}");

            if exists {
                let all = SCOPES.map(empty_document).to_vec();
                let outcome = store.save_rulesets(&base, all).await.unwrap();
                assert_eq!(outcome, SaveOutcome::Conflict, "{conflicting}");
            }
            let base = store.rulesets_for_update(7, at(5)).await.unwrap();
            let outcome =
                store.save_rulesets(&base, SCOPES.map(empty_document).to_vec()).await.unwrap();
            assert_eq!(outcome, SaveOutcome::Saved, "{conflicting} {exists}");
            assert!(store.rulesets(7, at(5)).await.unwrap().is_empty());
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
                    rules(&store).await.iter().map(|(_, ids)| ids.len()).collect();
                assert!(counts.is_empty() || counts == [counts[0]; 3], "{counts:?}");
                if counts.first() == Some(&48) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        loop {
            let base = store.rulesets_for_update(7, at(5)).await.unwrap();
            let mut documents = SCOPES.map(|scope| with_rule(&base, scope, &format!("r{index}")));
            documents.rotate_left(usize::try_from(index).unwrap() % 3);
            if store.save_rulesets(&base, documents.into()).await.unwrap() == SaveOutcome::Saved {
                return;
            }
        }
    })
    .await;
    store.reload_rulesets_for_update(7, at(5)).await.unwrap();
    for (_, ids) in rules(&store).await {
        assert_eq!(ids.len(), 48);
    }
}

const LIMITS: RuleLimits = RuleLimits { rules: 1000, bytes: 1 << 20 };

fn writer(store: &Store) -> RuleWriter {
    RuleWriter::new(store.clone(), LIMITS)
}

fn add(document: &mut Document, id: &str) -> Result<(), RuleError> {
    let new = NewRule::read(
        RuleKind::Room,
        br#"{"actions":[]}"#,
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Room, id.parse().unwrap(), new, Position::default())
}

/// Wraps a change so that `between` runs when it is applied for the first time, which is between
/// its read and its save. Also returns a counter of the times that it was applied.
fn interleave(
    between: impl Future<Output = ()> + Send + 'static,
    change: impl Fn(&mut Documents<'_>) -> Result<(), RuleError> + Send + Sync + 'static,
) -> (Arc<AtomicUsize>, impl Fn(&mut Documents<'_>) -> Result<(), RuleError> + Send + Sync) {
    let (count, between) =
        (Arc::<AtomicUsize>::default(), std::sync::Mutex::new(Some(Box::pin(between))));
    let counter = Arc::clone(&count);
    let change = move |documents: &mut Documents<'_>| {
        counter.fetch_add(1, Ordering::SeqCst);
        if let Some(between) = between.lock().unwrap().take() {
            block_in_place(|| Handle::current().block_on(between));
        }
        change(documents)
    };
    (count, change)
}

/// A second node changes one of the documents between the read and the save of a change.
pub(crate) async fn a_change_to_all_documents_is_applied_again_after_a_conflict(store: Store) {
    ensure_account(&store, 7).await;
    for scope in SCOPES {
        assert!(save(&store, scope, Some("old")).await);
    }
    let (one, other) = (writer(&store), writer(&store));
    let put = async move {
        other.change(7, scope("device/b"), at(5), |document| add(document, "put")).await.unwrap();
    };
    let (applied, change) = interleave(put, |documents| {
        SCOPES.iter().try_for_each(|text| add(documents.get_mut(&scope(text)), "bulk"))
    });
    one.change_all(7, at(5), change).await.unwrap();
    assert_eq!(applied.load(Ordering::SeqCst), 2);
    assert_eq!(
        rules(&store).await,
        expected([
            ("device/a", &["bulk", "old"]),
            ("device/b", &["bulk", "put", "old"]),
            ("global", &["bulk", "old"]),
        ])
    );

    // A reset deletes the rules that were written before its save.
    let other = writer(&store);
    let put = async move {
        other.change(7, scope("device/b"), at(5), |document| add(document, "late")).await.unwrap();
    };
    let (applied, reset) = interleave(put, |documents| {
        documents.reset_all();
        Ok(())
    });
    one.change_all(7, at(5), reset).await.unwrap();
    assert_eq!(applied.load(Ordering::SeqCst), 2);
    assert!(store.rulesets(7, at(5)).await.unwrap().is_empty());
}

pub(crate) async fn a_rejected_change_to_all_documents_is_undone(store: Store) {
    ensure_account(&store, 7).await;
    let writer = writer(&store);
    let mut changes = JoinSet::new();
    for number in 0..MANY {
        let writer = writer.clone();
        changes.spawn(async move {
            let id = format!("r{number}");
            if number % 2 == 0 {
                return writer
                    .change(7, RuleScope::Global, at(5), move |document| add(document, &id))
                    .await
                    .unwrap();
            }
            let result = writer.change_all(7, at(5), move |documents| {
                SCOPES.iter().try_for_each(|text| add(documents.get_mut(&scope(text)), &id))?;
                documents.get_mut(&scope("device/b")).remove(RuleKind::Room, "none")
            });
            let error = result.await.unwrap_err();
            assert!(matches!(error, RuleWriteError::Rejected(RuleError::NoSuchRule { .. })));
        });
    }
    changes.join_all().await;
    store.reload_rulesets_for_update(7, at(5)).await.unwrap();
    let stored = rules(&store).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].1.len(), 32);
    assert!(stored[0].1.iter().all(|id| id[1..].parse::<i64>().unwrap() % 2 == 0));
}

/// Two writers are like two nodes: each has its own queue.
pub(crate) async fn all_changes_of_two_writers_are_saved(store: Store) {
    ensure_account(&store, 7).await;
    let writers = [writer(&store), writer(&store)];
    let mut changes = JoinSet::new();
    for number in 0..MANY {
        let writer = writers[usize::try_from(number).unwrap() % 2].clone();
        changes.spawn(async move {
            let id = format!("r{number}");
            if number % 4 < 2 {
                let scope = scope(SCOPES[usize::try_from(number).unwrap() % 3]);
                return writer
                    .change(7, scope, at(5), move |document| add(document, &id))
                    .await
                    .unwrap();
            }
            let change = writer.change_all(7, at(5), move |documents| {
                SCOPES.iter().try_for_each(|text| add(documents.get_mut(&scope(text)), &id))
            });
            change.await.unwrap();
        });
    }
    changes.join_all().await;
    store.reload_rulesets_for_update(7, at(5)).await.unwrap();
    let stored = rules(&store).await;
    for number in 0..MANY {
        let id = format!("r{number}");
        let count = stored.iter().filter(|(_, ids)| ids.contains(&id)).count();
        assert_eq!(count, if number % 4 < 2 { 1 } else { 3 }, "{id}");
    }
}

/// The account is deleted between the read and the save of a change that adds its first rule or a
/// later one.
pub(crate) async fn no_rules_are_saved_for_a_deleted_account(store: Store) {
    for (account, old) in [(7, None), (8, Some("old"))] {
        ensure_account(&store, account).await;
        let writer = writer(&store);
        if let Some(old) = old {
            writer
                .change(account, RuleScope::Global, at(5), |document| add(document, old))
                .await
                .unwrap();
        }
        let deleter = store.clone();
        let delete = async move {
            assert!(deleter.delete_account(&any_events(), account, at(5)).await.is_ok());
        };
        let (applied, change) =
            interleave(delete, |documents| add(documents.get_mut(&RuleScope::Global), "new"));
        let error = writer.change_all(account, at(5), change).await.unwrap_err();
        assert!(matches!(error, RuleWriteError::NoAccount), "{error}");
        assert_eq!(applied.load(Ordering::SeqCst), 1);
        let stored = store.reload_rulesets_for_update(account, at(5)).await.unwrap();
        assert!(stored.rulesets.is_empty());
    }
}

pub(crate) async fn no_first_rule_is_saved_for_a_disabled_account(store: Store) {
    ensure_account(&store, 7).await;
    store.set_account_disabled_at(&any_events(), 7, Some(at(1))).await.unwrap();
    let saved =
        writer(&store).change(7, RuleScope::Global, at(5), |document| add(document, "new")).await;
    assert!(matches!(saved, Err(RuleWriteError::NoAccount)));
    assert!(store.rulesets(7, at(5)).await.unwrap().is_empty());
}
