//! Conformance cases for rulesets.

use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};
use belfry_store::test::any_events;
use belfry_store::{RulesetsForUpdate, SaveOutcome, SerializedDocument, Store, StoredRulesets};
use jiff::Timestamp;

use super::{CONCURRENT_TASKS, account, ensure_account, run_concurrently, timestamp};

pub(crate) async fn an_account_without_rules_has_no_documents(store: Store) {
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());
}

pub(crate) async fn documents_are_read_back_by_scope(store: Store) {
    for (account, scope, rule) in
        [(7, "global", "one"), (7, "device/phone", "two"), (8, "global", "other")]
    {
        ensure_account(&store, account).await;
        let base = store.rulesets_for_update(account, timestamp(5)).await.unwrap();
        assert_eq!(
            store.save_document(&base, with_rule(&base, scope, rule)).await.unwrap(),
            SaveOutcome::Saved
        );
    }
    for reading in ["from the cache", "from the cache again"] {
        let rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
        assert_eq!(rulesets.documents().count(), 2, "{reading}");
        assert_eq!(rulesets.rule_count(), 2, "{reading}");
        assert_eq!(rule_ids(&rulesets, "global"), ["one"], "{reading}");
        assert_eq!(rule_ids(&rulesets, "device/phone"), ["two"], "{reading}");
        assert!(rulesets.document(&scope("device/tablet")).is_none(), "{reading}");
        assert!(rulesets.bytes() > rulesets.scope_bytes(&RuleScope::Global), "{reading}");
    }
}

pub(crate) async fn a_saved_document_equals_the_one_in_the_database(store: Store) {
    ensure_account(&store, 7).await;
    for rule in ["one", "two"] {
        let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
        assert_eq!(
            store.save_document(&base, with_rule(&base, "global", rule)).await.unwrap(),
            SaveOutcome::Saved
        );
    }
    let saved_rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
    // Invalidates the cached rules.
    store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
    let stored_rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
    let first_document =
        |rulesets: &StoredRulesets| std::ptr::from_ref(rulesets.documents().next().unwrap());
    assert_ne!(first_document(&saved_rulesets), first_document(&stored_rulesets));
    assert!(saved_rulesets.documents().eq(stored_rulesets.documents()));
    assert_eq!(saved_rulesets.bytes(), stored_rulesets.bytes());
}

pub(crate) async fn a_write_over_a_newer_version_is_a_conflict(store: Store) {
    ensure_account(&store, 7).await;
    assert!(save_rule(&store, "global", Some("one")).await);
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();

    assert_eq!(
        store.save_document(&base, with_rule(&base, "global", "two")).await.unwrap(),
        SaveOutcome::Saved
    );
    assert_eq!(
        store.save_document(&base, with_rule(&base, "global", "three")).await.unwrap(),
        SaveOutcome::Conflict
    );
    assert_eq!(
        store
            .save_document(&base, SerializedDocument::new(RuleDocument::new(RuleScope::Global)))
            .await
            .unwrap(),
        SaveOutcome::Conflict
    );

    assert_eq!(rule_ids(&store.rulesets(7, timestamp(5)).await.unwrap(), "global"), ["two", "one"]);
}

pub(crate) async fn a_second_write_of_a_new_document_is_a_conflict(store: Store) {
    ensure_account(&store, 7).await;
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    assert_eq!(
        store.save_document(&base, with_rule(&base, "global", "one")).await.unwrap(),
        SaveOutcome::Saved
    );
    assert_eq!(
        store.save_document(&base, with_rule(&base, "global", "two")).await.unwrap(),
        SaveOutcome::Conflict
    );
    assert_eq!(rule_ids(&store.rulesets(7, timestamp(5)).await.unwrap(), "global"), ["one"]);
}

pub(crate) async fn a_write_to_one_scope_does_not_affect_other_scopes(store: Store) {
    ensure_account(&store, 7).await;
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    assert_eq!(
        store.save_document(&base, with_rule(&base, "global", "one")).await.unwrap(),
        SaveOutcome::Saved
    );
    assert_eq!(
        store.save_document(&base, with_rule(&base, "device/a", "two")).await.unwrap(),
        SaveOutcome::Saved
    );
    let rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
    assert_eq!(rule_ids(&rulesets, "global"), ["one"]);
    assert_eq!(rule_ids(&rulesets, "device/a"), ["two"]);
}

pub(crate) async fn a_deleted_document_is_not_found_and_its_version_is_not_reused(store: Store) {
    ensure_account(&store, 7).await;
    assert!(save_rule(&store, "device/a", Some("one")).await);
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    assert!(save_rule(&store, "device/a", None).await);
    assert!(store.rulesets(7, timestamp(5)).await.unwrap().is_empty());

    assert!(save_rule(&store, "device/a", Some("two")).await);
    assert_eq!(
        store.save_document(&base, with_rule(&base, "device/a", "stale")).await.unwrap(),
        SaveOutcome::Conflict
    );
    assert_eq!(rule_ids(&store.rulesets(7, timestamp(5)).await.unwrap(), "device/a"), ["two"]);
}

pub(crate) async fn no_concurrent_change_to_a_ruleset_is_lost(store: Store) {
    ensure_account(&store, 7).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        while !save_rule(&store, "global", Some(&index.to_string())).await {}
    })
    .await;

    let rulesets = store.rulesets(7, timestamp(5)).await.unwrap();
    let mut numbers: Vec<i64> =
        rule_ids(&rulesets, "global").into_iter().map(|number| number.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..CONCURRENT_TASKS).collect::<Vec<_>>());
}

/// Readers fill the cache concurrently with a writer. After an acknowledged write, every read must
/// return it.
pub(crate) async fn a_reader_never_sees_an_older_ruleset_than_the_last_write(store: Store) {
    ensure_account(&store, 7).await;
    let (_, counts) = run_concurrently(store, |store, index| async move {
        if index > 0 {
            let mut last_count = 0;
            while last_count < 100 {
                let count = store.rulesets(7, timestamp(5)).await.unwrap().rule_count();
                assert!(count >= last_count, "{count} after {last_count}");
                last_count = count;
                tokio::task::yield_now().await;
            }
            return last_count;
        }
        for count in 1..=100_usize {
            assert!(save_rule(&store, "global", Some(&count.to_string())).await);
            assert_eq!(store.rulesets(7, timestamp(5)).await.unwrap().rule_count(), count);
        }
        100
    })
    .await;
    assert_eq!(counts, [100; 64]);
}

/// Adds a rule to a scope of account 7, or removes the document. Returns false after a conflict.
pub(crate) async fn save_rule(store: &Store, scope_text: &str, rule: Option<&str>) -> bool {
    let base = store.rulesets_for_update(7, timestamp(5)).await.unwrap();
    let document = match rule {
        Some(rule) => with_rule(&base, scope_text, rule),
        None => SerializedDocument::new(RuleDocument::new(scope(scope_text))),
    };
    store.save_document(&base, document).await.unwrap() == SaveOutcome::Saved
}

/// Returns a scope's document with one more rule.
pub(crate) fn with_rule(
    base: &RulesetsForUpdate,
    scope_text: &str,
    rule: &str,
) -> SerializedDocument {
    let scope = scope(scope_text);
    let mut document = match base.rulesets.document(&scope) {
        Some(document) => document.clone(),
        None => RuleDocument::new(scope),
    };
    let new_rule = NewRule::parse(
        RuleKind::Room,
        br#"{"actions":["notify"]}"#,
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Room, rule.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
    SerializedDocument::new(document)
}

fn rule_ids<'a>(rulesets: &'a StoredRulesets, scope_text: &str) -> Vec<&'a str> {
    let document = rulesets.document(&scope(scope_text)).unwrap();
    document.user_rules()[RuleKind::Room].iter().map(|rule| rule.rule_id.as_str()).collect()
}

fn scope(text: &str) -> RuleScope {
    text.parse().unwrap()
}

/// Returns the ids of accounts' global rules by account name; `None` for an unknown name.
async fn rule_ids_by_name(store: &Store, names: &[&str]) -> Vec<Option<Vec<String>>> {
    let ids = store.account_ids(names).await.unwrap();
    let accounts: Vec<i64> = ids.iter().copied().flatten().collect();
    let snapshots = store.rulesets_for_accounts(&accounts, timestamp(5)).await.unwrap();
    let global_rule_ids = |rulesets: &StoredRulesets| {
        let documents =
            rulesets.documents().filter(|document| *document.scope() == RuleScope::Global);
        let rules = documents.flat_map(|document| &document.user_rules()[RuleKind::Room]);
        rules.map(|rule| rule.rule_id.clone()).collect()
    };
    ids.iter().map(|id| id.map(|id| global_rule_ids(&snapshots[&id].rulesets))).collect()
}

pub(crate) async fn rulesets_of_many_accounts_are_read_by_name(store: Store) {
    // More than fit into one statement, with and without rules, mixed with unknown names.
    let names: Vec<String> = (0..120).map(|number| format!("person_{number}")).collect();
    for (id, name) in (0..).zip(&names) {
        store.add_account(&any_events(), &account(id, name)).await.unwrap();
        if id % 3 == 0 {
            for scope in ["global", "device/phone"] {
                let base = store.rulesets_for_update(id, timestamp(5)).await.unwrap();
                assert_eq!(
                    store.save_document(&base, with_rule(&base, scope, name)).await.unwrap(),
                    SaveOutcome::Saved
                );
            }
        }
    }
    store.set_account_disabled_at(&any_events(), 6, Some(timestamp(1))).await.unwrap();
    let mut requested_names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
    requested_names.extend(["nobody", "person_3", "a\0b", "person_3", "", "O'Hara"]);
    for reading in ["from the database", "from the cache"] {
        let rule_ids = rule_ids_by_name(&store, &requested_names).await;
        assert_eq!(rule_ids.len(), requested_names.len(), "{reading}");
        for (id, rule_ids) in (0..120).rev().zip(&rule_ids) {
            let expected = match id {
                6 => None,
                id if id % 3 == 0 => Some(vec![format!("person_{id}")]),
                _ => Some(Vec::new()),
            };
            assert_eq!(*rule_ids, expected, "{reading}: {id}");
        }
        let third_rule = Some(vec!["person_3".to_owned()]);
        assert_eq!(
            rule_ids[120..],
            [None, third_rule.clone(), None, third_rule, None, None],
            "{reading}"
        );
    }
    assert!(rule_ids_by_name(&store, &[]).await.is_empty());
}

pub(crate) async fn rulesets_of_many_accounts_include_the_last_write(store: Store) {
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let names = ["alice", "bob"];
    assert_eq!(rule_ids_by_name(&store, &names).await, [Some(vec![]), None]);
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    assert!(save_rule(&store, "global", Some("one")).await);
    let one_rule = Some(vec!["one".to_owned()]);
    assert_eq!(rule_ids_by_name(&store, &names).await, [one_rule.clone(), Some(vec![])]);
    store.set_account_disabled_at(&any_events(), 8, Some(timestamp(1))).await.unwrap();
    assert_eq!(rule_ids_by_name(&store, &names).await, [one_rule.clone(), None]);
    store.set_account_disabled_at(&any_events(), 8, None).await.unwrap();
    assert!(save_rule(&store, "global", None).await);
    assert_eq!(rule_ids_by_name(&store, &names).await, [Some(vec![]), Some(vec![])]);
}
