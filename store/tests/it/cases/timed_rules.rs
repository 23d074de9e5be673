//! Conformance cases for timed rules.

use belfry_core::rules::builtin::MASTER;
use belfry_core::rules::{
    EnabledChange, NewRule, NewRuleLimits, RuleDocument, RuleExpiry, RuleKind, RulePosition,
    RuleScope,
};
use belfry_store::test::any_events;
use belfry_store::{RetentionSettings, SaveOutcome, SerializedDocument, Store, SweepOutcome};
use jiff::Timestamp;
use serde_json::json;

use super::account_import::import_with_rulesets;
use super::rulesets::save_rule;
use super::{CONCURRENT_TASKS, ensure_account, run_concurrently, timestamp};

const START: i64 = 1_800_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Room rules with the second at which they expire.
type Rules<'a> = &'a [(&'a str, Option<i64>)];

fn document(rules: Rules<'_>) -> RuleDocument {
    let mut document = RuleDocument::new(RuleScope::Global);
    for (id, until) in rules.iter().rev() {
        let mut body = json!({"actions": ["notify"]});
        if let Some(until) = until {
            body["until"] = json!(until * 1000);
        }
        let new_rule = NewRule::from_json(
            RuleKind::Room,
            body,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document
            .put(RuleKind::Room, id.parse().unwrap(), new_rule, RulePosition::default())
            .unwrap();
    }
    document
}

async fn save_document(store: &Store, account: i64, document: RuleDocument) {
    ensure_account(store, account).await;
    let base = store.rulesets_for_update(account, timestamp(5)).await.unwrap();
    let outcome = store.save_document(&base, SerializedDocument::new(document)).await.unwrap();
    assert_eq!(outcome, SaveOutcome::Saved);
}

/// Returns an account's rules at a time; `None` if it has no document.
async fn rules_at(store: &Store, account: i64, now: Timestamp) -> Option<String> {
    let rulesets = store.rulesets(account, now).await.unwrap();
    let document = rulesets.documents().next()?;
    Some(document.user_rules()[RuleKind::Room].iter().map(|rule| &*rule.rule_id).collect())
}

/// Returns an account's rules in the database, including expired ones.
async fn stored_rules(store: &Store, account: i64) -> Option<String> {
    // Invalidates the cached rules.
    store.set_account_disabled_at(&any_events(), account, None).await.unwrap();
    rules_at(store, account, Timestamp::UNIX_EPOCH).await
}

/// Sweeps once at `now`, after the clock is trusted. Returns the number of changed rulesets.
async fn sweep_at(store: &Store, now: i64) -> usize {
    let settings = RetentionSettings::default();
    for count in (1..=12).rev() {
        store.sweep(&settings, timestamp(now - 5 * count * MINUTE)).await.unwrap();
    }
    match store.sweep(&settings, timestamp(now)).await.unwrap() {
        SweepOutcome::Swept(deleted_counts) => deleted_counts
            .iter()
            .filter(|(table, _)| *table == "rulesets")
            .map(|(_, count)| count)
            .sum(),
        outcome => panic!("{outcome:?}"),
    }
}

/// Sweeps every ten minutes. Returns the number of times that a ruleset was changed.
async fn sweep_between(store: &Store, start: i64, end: i64) -> usize {
    let mut changed_count = 0;
    for count in 1..=(end - start) / (10 * MINUTE) {
        let now = timestamp(start + count * 10 * MINUTE);
        let outcome = store.sweep(&RetentionSettings::default(), now).await.unwrap();
        if let SweepOutcome::Swept(deleted_counts) = outcome {
            changed_count +=
                deleted_counts.iter().find(|(table, _)| *table == "rulesets").unwrap().1;
        }
    }
    changed_count
}

pub(crate) async fn a_timed_rule_is_read_until_it_expires(store: Store) {
    let timed_document = document(&[("a", Some(10)), ("b", None), ("c", Some(20))]);
    save_document(&store, 7, timed_document).await;
    for reading in ["from the database", "from the cache"] {
        for (millisecond, rules) in
            [(9_999, "abc"), (10_000, "bc"), (19_999, "bc"), (20_000, "b"), (i64::MAX / 1000, "b")]
        {
            let now = Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX);
            if reading == "from the database" {
                store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
            }
            let expected = Some(rules.to_owned());
            assert_eq!(rules_at(&store, 7, now).await, expected, "{reading} at {millisecond}");
            let rulesets = store.rulesets_for_update(7, now).await.unwrap().rulesets;
            assert_eq!(rulesets.rule_count(), rules.len(), "{reading} at {millisecond}");
            let snapshots = store.rulesets_for_accounts(&[7, 8], now).await.unwrap();
            assert_eq!(
                snapshots[&7].rulesets.rule_count(),
                rules.len(),
                "{reading} at {millisecond}"
            );
            let user = belfry_core::rules::User::new("@alice:x");
            let response = String::from_utf8(rulesets.response(user).into()).unwrap();
            assert_eq!(response.matches("\"until\"").count(), rules.len() - 1, "{response}");
        }
        assert_eq!(stored_rules(&store, 7).await.as_deref(), Some("abc"), "{reading}");
    }
}

pub(crate) async fn the_next_save_deletes_expired_rules(store: Store) {
    save_document(&store, 7, document(&[("a", Some(10)), ("b", None), ("c", Some(20))])).await;
    let base = store.rulesets_for_update(7, timestamp(10)).await.unwrap();
    let unexpired_document = base.rulesets.documents().next().unwrap().clone();
    assert_eq!(unexpired_document, document(&[("b", None), ("c", Some(20))]));
    let outcome =
        store.save_document(&base, SerializedDocument::new(unexpired_document)).await.unwrap();
    assert_eq!(outcome, SaveOutcome::Saved);
    assert_eq!(stored_rules(&store, 7).await.as_deref(), Some("bc"));

    // All rules of the document have expired, so it is deleted.
    save_document(&store, 8, document(&[("a", Some(10))])).await;
    let base = store.rulesets_for_update(8, timestamp(10)).await.unwrap();
    let empty_document = base.rulesets.documents().next().unwrap().clone();
    assert!(empty_document.is_empty());
    let outcome =
        store.save_document(&base, SerializedDocument::new(empty_document)).await.unwrap();
    assert_eq!(outcome, SaveOutcome::Saved);
    assert_eq!(stored_rules(&store, 8).await, None);
}

pub(crate) async fn a_sweep_deletes_expired_rules_a_day_after_the_first_expiry(store: Store) {
    let [due_expiry, recent_expiry] = [START - DAY - 3 * MINUTE, START - 3 * MINUTE];
    for (account, rules) in [
        (1, &[("a", Some(due_expiry))][..]),
        (2, &[("a", Some(due_expiry + 2 * MINUTE)), ("b", Some(recent_expiry))]),
        (
            3,
            &[
                ("a", Some(due_expiry)),
                ("b", None),
                ("c", Some(recent_expiry)),
                ("d", Some(recent_expiry + 2 * MINUTE)),
            ],
        ),
        (4, &[("a", None)]),
        (5, &[("a", Some(START + MINUTE))]),
    ] {
        save_document(&store, account, document(rules)).await;
    }
    let mut timed_master_document = document(&[("a", None)]);
    let until = RuleExpiry::from_timestamp(timestamp(START - DAY - 4 * MINUTE));
    let body = serde_json::json!({ "enabled": true, "until": until }).to_string();
    let change = EnabledChange::parse(body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap();
    timed_master_document.set_enabled(RuleKind::Override, MASTER, change).unwrap();
    save_document(&store, 6, timed_master_document.clone()).await;

    assert_eq!(sweep_at(&store, START).await, 3);

    for (account, rules) in
        [(1, None), (2, Some("ab")), (3, Some("bd")), (4, Some("a")), (5, Some("a"))]
    {
        assert_eq!(stored_rules(&store, account).await.as_deref(), rules, "{account}");
    }
    let stored_rulesets = store.rulesets(6, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(stored_rulesets.documents().next().unwrap(), &document(&[("a", None)]));

    assert_eq!(sweep_at(&store, START + 5 * MINUTE).await, 1);
    for (account, rules) in [(2, None), (3, Some("bd")), (4, Some("a")), (5, Some("a"))] {
        assert_eq!(stored_rules(&store, account).await.as_deref(), rules, "{account}");
    }
    assert_eq!(sweep_at(&store, START + DAY + 5 * MINUTE).await, 2);
    for (account, rules) in [(3, Some("b")), (4, Some("a")), (5, None)] {
        assert_eq!(stored_rules(&store, account).await.as_deref(), rules, "{account}");
    }
    assert_eq!(sweep_at(&store, START + 3 * DAY).await, 0);
}

pub(crate) async fn a_ruleset_is_rewritten_once_a_day_however_many_rules_expire(store: Store) {
    const RULES: i64 = 1000;
    let ids: Vec<String> = (0..RULES).map(|index| format!("{index},")).collect();
    let expiry = |index| START + index * MINUTE;
    let rules: Vec<_> = (0..).zip(&ids).map(|(index, id)| (&**id, Some(expiry(index)))).collect();
    save_document(&store, 7, document(&rules)).await;
    let count_rules_at = async |time: i64| {
        let rules = rules_at(&store, 7, timestamp(time)).await.unwrap();
        i64::try_from(rules.matches(',').count()).unwrap()
    };

    // The clock is trusted when the first rule expires.
    assert_eq!(sweep_between(&store, START - 2 * HOUR, START).await, 0);
    for hour in 0..17 {
        let now = START + hour * HOUR;
        assert_eq!(count_rules_at(now).await, RULES - hour * 60 - 1, "{hour}");
        assert_eq!(sweep_between(&store, now, now + HOUR).await, 0, "{hour}");
    }
    assert_eq!(count_rules_at(START + 17 * HOUR).await, 0);
    assert_eq!(sweep_between(&store, START + 17 * HOUR, START + 30 * HOUR).await, 1);
    assert_eq!(stored_rules(&store, 7).await, None);

    // Rules that expire over two days are deleted in two steps.
    let start = START + 30 * HOUR;
    let rules: Vec<_> =
        (0..).zip(&ids[..48]).map(|(hour, id)| (&**id, Some(start + hour * HOUR))).collect();
    save_document(&store, 7, document(&rules)).await;
    assert_eq!(sweep_between(&store, start, start + 3 * DAY).await, 2);
    assert_eq!(stored_rules(&store, 7).await, None);
}

pub(crate) async fn a_sweep_changes_more_rulesets_than_fit_in_a_batch(store: Store) {
    const ACCOUNTS: i64 = 50;
    for account in 10..10 + ACCOUNTS {
        save_document(&store, account, document(&[("a", Some(account)), ("b", None)])).await;
    }
    assert_eq!(sweep_at(&store, START).await, 50);
    for account in 10..10 + ACCOUNTS {
        assert_eq!(stored_rules(&store, account).await.as_deref(), Some("b"), "{account}");
    }
}

pub(crate) async fn imported_timed_rules_are_deleted_by_a_sweep(store: Store) {
    let import = import_with_rulesets("alice", vec![document(&[("a", Some(10)), ("b", None)])]);
    assert!(
        store.import_accounts(&any_events(), timestamp(1), vec![import]).await.unwrap()[0].is_ok()
    );
    let id = store.account_by_name("alice").await.unwrap().unwrap().id;
    assert_eq!(sweep_at(&store, START).await, 1);
    assert_eq!(stored_rules(&store, id).await.as_deref(), Some("b"));
}

/// Every fourth task sweeps, while the others add rules.
pub(crate) async fn no_change_concurrent_with_a_sweep_is_lost(store: Store) {
    sweep_at(&store, START).await;
    save_document(&store, 7, document(&[("a", Some(10)), ("b", Some(11))])).await;
    let (store, _) = run_concurrently(store, |store, index| async move {
        if index % 4 == 0 {
            // At intervals of half a minute.
            let now = timestamp(START + 30 + 8 * index);
            store.sweep(&RetentionSettings::default(), now).await.unwrap();
        } else {
            while !save_rule(&store, "global", Some(&format!("r{index},"))).await {}
        }
    })
    .await;
    // The writers may have won each time, so a sweep follows.
    store.sweep(&RetentionSettings::default(), timestamp(START + 10 * MINUTE)).await.unwrap();
    let rules = stored_rules(&store, 7).await.unwrap();
    let mut ids: Vec<&str> = rules.split_terminator(',').collect();
    ids.sort_unstable();
    let mut expected: Vec<String> = (0..CONCURRENT_TASKS)
        .filter(|index| index % 4 != 0)
        .map(|index| format!("r{index}"))
        .collect();
    expected.sort_unstable();
    assert_eq!(ids, expected);
}
