//! Conformance cases for timed rules.

use belfry_core::rules::builtin::MASTER;
use belfry_core::rules::{
    Document, EnabledChange, NewRule, NewRuleLimits, Position, RuleExpiry, RuleKind, RuleScope,
};
use belfry_store::test_support::any_events;
use belfry_store::{RetentionSettings, SaveOutcome, SerializedDocument, Store, SweepOutcome};
use jiff::Timestamp;
use serde_json::json;

use super::account_import::import_with;
use super::rulesets::save;
use super::{MANY, at, ensure_account, run_concurrently};

const START: i64 = 1_800_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Room rules with the second at which they expire.
type Rules<'a> = &'a [(&'a str, Option<i64>)];

fn document(rules: Rules<'_>) -> Document {
    let mut document = Document::new(RuleScope::Global);
    for (id, until) in rules.iter().rev() {
        let mut body = json!({"actions": ["notify"]});
        if let Some(until) = until {
            body["until"] = json!(until * 1000);
        }
        let new = NewRule::from_json(
            RuleKind::Room,
            body,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document.put(RuleKind::Room, id.parse().unwrap(), new, Position::default()).unwrap();
    }
    document
}

async fn save_document(store: &Store, account: i64, document: Document) {
    ensure_account(store, account).await;
    let base = store.rulesets_for_update(account, at(5)).await.unwrap();
    let saved = store.save_ruleset(&base, SerializedDocument::new(document)).await.unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
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

/// Sweeps once at this time, after the clock is trusted. Returns the number of changed rulesets.
async fn sweep_at(store: &Store, now: i64) -> usize {
    let settings = RetentionSettings::default();
    for count in (1..=12).rev() {
        store.sweep(&settings, at(now - 5 * count * MINUTE)).await.unwrap();
    }
    match store.sweep(&settings, at(now)).await.unwrap() {
        SweepOutcome::Swept(deleted) => {
            deleted.iter().filter(|(table, _)| *table == "rulesets").map(|(_, rows)| rows).sum()
        }
        other => panic!("{other:?}"),
    }
}

/// Sweeps every ten minutes. Returns the number of times that a ruleset was changed.
async fn sweep_between(store: &Store, start: i64, end: i64) -> usize {
    let mut changed = 0;
    for count in 1..=(end - start) / (10 * MINUTE) {
        let now = at(start + count * 10 * MINUTE);
        let outcome = store.sweep(&RetentionSettings::default(), now).await.unwrap();
        if let SweepOutcome::Swept(deleted) = outcome {
            changed += deleted.iter().find(|(table, _)| *table == "rulesets").unwrap().1;
        }
    }
    changed
}

pub(crate) async fn a_timed_rule_is_read_until_it_expires(store: Store) {
    let timed = document(&[("a", Some(10)), ("b", None), ("c", Some(20))]);
    save_document(&store, 7, timed).await;
    for reading in ["from the database", "from the cache"] {
        for (millis, rules) in
            [(9_999, "abc"), (10_000, "bc"), (19_999, "bc"), (20_000, "b"), (i64::MAX / 1000, "b")]
        {
            let now = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
            if reading == "from the database" {
                store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
            }
            let expected = Some(rules.to_owned());
            assert_eq!(rules_at(&store, 7, now).await, expected, "{reading} at {millis}");
            let for_update = store.rulesets_for_update(7, now).await.unwrap().rulesets;
            assert_eq!(for_update.len(), rules.len(), "{reading} at {millis}");
            let snapshots = store.rulesets_for_accounts(&[7, 8], now).await.unwrap();
            assert_eq!(snapshots[0].rulesets.len(), rules.len(), "{reading} at {millis}");
            let user = belfry_core::rules::User::new("@alice:x");
            let response = String::from_utf8(for_update.response(user).into()).unwrap();
            assert_eq!(response.matches("\"until\"").count(), rules.len() - 1, "{response}");
        }
        assert_eq!(stored_rules(&store, 7).await.as_deref(), Some("abc"), "{reading}");
    }
}

pub(crate) async fn the_next_save_deletes_expired_rules(store: Store) {
    save_document(&store, 7, document(&[("a", Some(10)), ("b", None), ("c", Some(20))])).await;
    let base = store.rulesets_for_update(7, at(10)).await.unwrap();
    let same = base.rulesets.documents().next().unwrap().clone();
    assert_eq!(same, document(&[("b", None), ("c", Some(20))]));
    let saved = store.save_ruleset(&base, SerializedDocument::new(same)).await.unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
    assert_eq!(stored_rules(&store, 7).await.as_deref(), Some("bc"));

    // All rules of the document have expired, so it is deleted.
    save_document(&store, 8, document(&[("a", Some(10))])).await;
    let base = store.rulesets_for_update(8, at(10)).await.unwrap();
    let empty = base.rulesets.documents().next().unwrap().clone();
    assert!(empty.is_empty());
    let saved = store.save_ruleset(&base, SerializedDocument::new(empty)).await.unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
    assert_eq!(stored_rules(&store, 8).await, None);
}

pub(crate) async fn a_sweep_deletes_expired_rules_a_day_after_the_first_expiry(store: Store) {
    let [due, expired] = [START - DAY - 3 * MINUTE, START - 3 * MINUTE];
    for (account, rules) in [
        (1, &[("a", Some(due))][..]),
        (2, &[("a", Some(due + 2 * MINUTE)), ("b", Some(expired))]),
        (
            3,
            &[
                ("a", Some(due)),
                ("b", None),
                ("c", Some(expired)),
                ("d", Some(expired + 2 * MINUTE)),
            ],
        ),
        (4, &[("a", None)]),
        (5, &[("a", Some(START + MINUTE))]),
    ] {
        save_document(&store, account, document(rules)).await;
    }
    let mut paused = document(&[("a", None)]);
    let until = RuleExpiry::at(at(START - DAY - 4 * MINUTE));
    let body = serde_json::json!({ "enabled": true, "until": until }).to_string();
    let change = EnabledChange::read(body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap();
    paused.set_enabled(RuleKind::Override, MASTER, change).unwrap();
    save_document(&store, 6, paused.clone()).await;

    assert_eq!(sweep_at(&store, START).await, 3);

    for (account, rules) in
        [(1, None), (2, Some("ab")), (3, Some("bd")), (4, Some("a")), (5, Some("a"))]
    {
        assert_eq!(stored_rules(&store, account).await.as_deref(), rules, "{account}");
    }
    let stored = store.rulesets(6, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(stored.documents().next().unwrap(), &document(&[("a", None)]));

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
    let left_at = async |time: i64| {
        let rules = rules_at(&store, 7, at(time)).await.unwrap();
        i64::try_from(rules.matches(',').count()).unwrap()
    };

    // The clock is trusted when the first rule expires.
    assert_eq!(sweep_between(&store, START - 2 * HOUR, START).await, 0);
    for hour in 0..17 {
        let now = START + hour * HOUR;
        assert_eq!(left_at(now).await, RULES - hour * 60 - 1, "{hour}");
        assert_eq!(sweep_between(&store, now, now + HOUR).await, 0, "{hour}");
    }
    assert_eq!(left_at(START + 17 * HOUR).await, 0);
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

pub(crate) async fn a_sweep_changes_more_rulesets_than_a_batch(store: Store) {
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
    let import = import_with("alice", vec![document(&[("a", Some(10)), ("b", None)])]);
    assert!(store.import_accounts(&any_events(), at(1), vec![import]).await.unwrap()[0].is_ok());
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
            let now = at(START + 30 + 8 * index);
            store.sweep(&RetentionSettings::default(), now).await.unwrap();
        } else {
            while !save(&store, "global", Some(&format!("r{index},"))).await {}
        }
    })
    .await;
    // The writers may have won each time, so a sweep follows.
    store.sweep(&RetentionSettings::default(), at(START + 10 * MINUTE)).await.unwrap();
    let rules = stored_rules(&store, 7).await.unwrap();
    let mut ids: Vec<&str> = rules.split_terminator(',').collect();
    ids.sort_unstable();
    let mut expected: Vec<String> =
        (0..MANY).filter(|index| index % 4 != 0).map(|index| format!("r{index}")).collect();
    expected.sort_unstable();
    assert_eq!(ids, expected);
}
