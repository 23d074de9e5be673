//! Tests of timed rules: user rules, and overrides of built-in rules, that expire.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::rules::{Rule, RuleExpiry};

fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn expiry(millis: i64) -> RuleExpiry {
    RuleExpiry::from_timestamp(timestamp(millis))
}

fn put_until(document: &mut RuleDocument, kind: RuleKind, id: &str, until: Option<i64>) {
    let mut body = json!({"actions": [], "pattern": "p"});
    if let Some(until) = until {
        body["until"] = json!(until);
    }
    let new_rule =
        NewRule::from_json(kind, body, NewRuleLimits::default(), Timestamp::UNIX_EPOCH).unwrap();
    document.put(kind, id.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
}

/// Enables or disables the master rule, optionally until a time.
fn set_master(document: &mut RuleDocument, enabled: bool, until: Option<i64>) {
    let change = EnabledChange { enabled, until: until.map(expiry) };
    document.set_enabled(RuleKind::Override, builtin::MASTER, change).unwrap();
}

fn master(document: &RuleDocument) -> Rule {
    document.rule(RuleKind::Override, builtin::MASTER, alice()).unwrap().into_owned()
}

#[test]
fn an_expired_rule_is_removed_and_others_stay() {
    let mut document = global_document();
    for (id, until) in [("c", None), ("b", Some(2_000)), ("a", Some(1_000))] {
        put_until(&mut document, RuleKind::Room, id, until);
    }
    for (now, ids, next_expiry) in [
        (0, "abc", Some(1_000)),
        (999, "abc", Some(1_000)),
        (1_000, "bc", Some(2_000)),
        (1_999, "bc", Some(2_000)),
        (2_000, "c", None),
        (i64::from(u32::MAX), "c", None),
    ] {
        document.remove_expired(timestamp(now));
        assert_eq!(user_rule_ids(&document, RuleKind::Room).concat(), ids, "at {now}");
        assert_eq!(document.next_expiry(), next_expiry.map(expiry), "at {now}");
        assert_eq!((document.rule_count(), document.is_empty()), (ids.len(), false), "at {now}");
    }
}

#[test]
fn a_document_whose_last_rule_has_expired_is_empty() {
    let mut document = global_document();
    put_until(&mut document, RuleKind::Room, "a", Some(1_000));
    set_master(&mut document, true, Some(500));
    document.remove_expired(timestamp(999));
    assert!(!document.is_empty());
    document.remove_expired(timestamp(1_000));
    assert!(document.is_empty());
    assert_eq!(document, global_document());
}

#[test]
fn a_timed_rule_is_returned_and_stored_with_its_expiry() {
    let mut document = global_document();
    put_until(&mut document, RuleKind::Room, "a", Some(1_000));
    set_master(&mut document, true, Some(2_000));
    assert_eq!(
        json!(document.rule(RuleKind::Room, "a", alice()).unwrap()),
        json!({
            "rule_id": "a", "default": false, "enabled": true, "actions": [], "pattern": "p",
            "until": 1_000,
        })
    );
    assert_eq!(
        json!(master(&document)),
        json!({
            "rule_id": ".m.rule.master", "default": true, "enabled": true, "actions": [],
            "conditions": [], "until": 2_000,
        })
    );
    assert_eq!(
        document.to_text(),
        concat!(
            r#"{"version":"1","rules":{"override":[],"content":[],"room":[{"rule_id":"a","#,
            r#""default":false,"enabled":true,"actions":[],"pattern":"p","until":1000}],"#,
            r#""sender":[],"underride":[]},"changes":{".m.rule.master":{"enabled":true,"#,
            r#""until":2000}}}"#
        )
    );
    assert_eq!(RuleDocument::from_text(RuleScope::Global, &document.to_text()).unwrap(), document);
}

#[test]
fn a_rule_recreated_after_its_expiry_is_first_and_enabled() {
    let mut document = document_with_rooms(["b"]);
    put_until(&mut document, RuleKind::Room, "a", Some(1_000));
    put_rule(&mut document, RuleKind::Room, "a", after("b")).unwrap();
    assert_eq!(user_rule_ids(&document, RuleKind::Room), ["b", "a"]);
    put_until(&mut document, RuleKind::Room, "a", Some(1_000));
    document.set_enabled(RuleKind::Room, "a", false).unwrap();
    document.remove_expired(timestamp(1_000));
    put_rule(&mut document, RuleKind::Room, "a", RulePosition::default()).unwrap();
    assert_eq!(user_rule_ids(&document, RuleKind::Room), ["a", "b"]);
    assert!(document.rule(RuleKind::Room, "a", alice()).unwrap().enabled);
}

#[test]
fn only_putting_a_timed_rule_again_changes_until() {
    let mut document = global_document();
    let until = |document: &RuleDocument| document.user_rules()[RuleKind::Room][0].until;
    put_until(&mut document, RuleKind::Room, "a", Some(1_000));
    document.set_enabled(RuleKind::Room, "a", false).unwrap();
    document
        .set_actions(RuleKind::Room, "a", vec![Action::Notify], NewRuleLimits::default())
        .unwrap();
    assert_eq!(until(&document), Some(expiry(1_000)));
    put_until(&mut document, RuleKind::Room, "a", Some(2_000));
    assert_eq!(until(&document), Some(expiry(2_000)));
    put_until(&mut document, RuleKind::Room, "a", None);
    assert_eq!(until(&document), None);
    document.remove_expired(timestamp(3_000));
    assert_eq!(document.rule_count(), 1);
}

#[test]
fn an_expired_builtin_change_resets_enabled_and_keeps_the_actions() {
    let mut document = global_document();
    document
        .set_actions(
            RuleKind::Override,
            builtin::MASTER,
            vec![Action::Notify],
            NewRuleLimits::default(),
        )
        .unwrap();
    set_master(&mut document, true, Some(1_000));
    assert_eq!((master(&document).enabled, master(&document).until), (true, Some(expiry(1_000))));
    document.remove_expired(timestamp(1_000));
    let rule = master(&document);
    assert_eq!((rule.enabled, rule.until, rule.actions), (false, None, vec![Action::Notify]));

    // A later change that does not expire replaces the timed one.
    set_master(&mut document, true, Some(2_000));
    set_master(&mut document, true, None);
    document.remove_expired(timestamp(2_000));
    assert_eq!((master(&document).enabled, master(&document).until), (true, None));
}

#[test]
fn a_user_rule_expiry_cannot_be_set_with_enabled() {
    let mut document = document_with_rooms(["a"]);
    let original = document.clone();
    let change = EnabledChange { enabled: false, until: Some(expiry(1_000)) };
    let error = document.set_enabled(RuleKind::Room, "a", change).unwrap_err();
    assert_eq!(error.code(), MatrixErrorCode::InvalidParam);
    assert_eq!(
        error.to_string(),
        "until can be given with enabled for built-in rules only; for your own rule \"a\", put \
         the rule with until"
    );
    let error = document.set_enabled(RuleKind::Room, "b", change).unwrap_err();
    assert_eq!(error.code(), MatrixErrorCode::NotFound);
    assert_eq!(document, original);
}

#[test]
fn an_expiry_must_be_in_the_future_when_it_is_set() {
    let body = br#"{"actions":[],"enabled":true,"until":1000}"#;
    let read_rule = |now| {
        NewRule::parse(RuleKind::Room, body, NewRuleLimits::default(), timestamp(now)).map(|_| ())
    };
    let read_change = |now| EnabledChange::parse(body, timestamp(now)).map(|_| ());
    assert_eq!((read_rule(999), read_change(999)), (Ok(()), Ok(())));
    let error = RuleError::PastExpiry { until: 1_000, now: 1_000 };
    assert_eq!((read_rule(1_000), read_change(1_000)), (Err(error.clone()), Err(error)));
}

/// A change to the rules. `until` is relative to the time of the change.
#[derive(Debug, Clone)]
enum Edit {
    Put { kind: RuleKind, id: &'static str, until: Option<i64> },
    Remove { kind: RuleKind, id: &'static str },
    SetEnabled { kind: RuleKind, id: &'static str, enabled: bool },
    SetMaster { enabled: bool, until: Option<i64> },
}

/// Generates edits, each with the time since the previous edit.
fn any_timed_edit() -> impl Strategy<Value = (i64, Edit)> {
    let kind = || prop::sample::select(&[RuleKind::Override, RuleKind::Room][..]);
    let id = || prop::sample::select(&["a", "b", "c", "d"][..]);
    let until = || prop::option::of(1..8i64);
    let edit = prop_oneof![
        4 => (kind(), id(), until()).prop_map(|(kind, id, until)| Edit::Put { kind, id, until }),
        1 => (kind(), id()).prop_map(|(kind, id)| Edit::Remove { kind, id }),
        2 => (kind(), id(), any::<bool>())
            .prop_map(|(kind, id, enabled)| Edit::SetEnabled { kind, id, enabled }),
        1 => (any::<bool>(), until())
            .prop_map(|(enabled, until)| Edit::SetMaster { enabled, until }),
    ];
    (0..4i64, edit)
}

/// A document without timed rules, from which a client deletes each rule when it expires.
struct Model {
    document: RuleDocument,
    expiries: BTreeMap<(RuleKind, String), i64>,
    master_expiry: Option<i64>,
}

impl Model {
    fn delete_expired(&mut self, now: i64) {
        for ((kind, id), _) in self.expiries.extract_if(.., |_, expiry| *expiry <= now) {
            self.document.remove(kind, &id).unwrap();
        }
        if self.master_expiry.take_if(|expiry| *expiry <= now).is_some() {
            set_master(&mut self.document, false, None);
        }
    }

    fn apply(&mut self, edit: &Edit, now: i64) -> Result<(), RuleError> {
        match edit {
            Edit::Put { kind, id, until } => {
                put_until(&mut self.document, *kind, id, None);
                let key = (*kind, (*id).to_owned());
                match until {
                    Some(until) => drop(self.expiries.insert(key, now + until)),
                    None => drop(self.expiries.remove(&key)),
                }
            }
            Edit::Remove { kind, id } => {
                self.document.remove(*kind, id)?;
                self.expiries.remove(&(*kind, (*id).to_owned()));
            }
            Edit::SetEnabled { kind, id, enabled } => {
                self.document.set_enabled(*kind, id, *enabled)?;
            }
            Edit::SetMaster { enabled, until } => {
                set_master(&mut self.document, *enabled, None);
                self.master_expiry = until.map(|until| now + until);
            }
        }
        Ok(())
    }
}

fn apply_edit(document: &mut RuleDocument, edit: &Edit, now: i64) -> Result<(), RuleError> {
    match edit {
        Edit::Put { kind, id, until } => {
            put_until(document, *kind, id, until.map(|until| now + until));
        }
        Edit::Remove { kind, id } => document.remove(*kind, id)?,
        Edit::SetEnabled { kind, id, enabled } => document.set_enabled(*kind, id, *enabled)?,
        Edit::SetMaster { enabled, until } => {
            set_master(document, *enabled, until.map(|until| now + until));
        }
    }
    Ok(())
}

fn rules_without_until(document: &RuleDocument) -> Vec<Rule> {
    let rules = document.ruleset(alice());
    rules.iter().map(|(_, rule)| Rule { until: None, ..rule.clone().into_owned() }).collect()
}

proptest! {
    #[test]
    fn an_expired_rule_is_equivalent_to_a_deleted_one(
        edits in prop::collection::vec(any_timed_edit(), 0..30),
        delay in 0..10i64,
    ) {
        let mut document = global_document();
        let mut model =
            Model { document: global_document(), expiries: BTreeMap::new(), master_expiry: None };
        let mut now = 0;
        for (wait, edit) in &edits {
            now += wait;
            document.remove_expired(timestamp(now));
            model.delete_expired(now);
            prop_assert_eq!(apply_edit(&mut document, edit, now), model.apply(edit, now));
            // Documents are stored and read again between changes.
            document = RuleDocument::from_text(RuleScope::Global, &document.to_text()).unwrap();
        }
        let next_expiry = model.expiries.values().copied().chain(model.master_expiry).min();
        prop_assert_eq!(document.next_expiry(), next_expiry.map(expiry));
        document.remove_expired(timestamp(now + delay));
        model.delete_expired(now + delay);
        prop_assert_eq!(rules_without_until(&document), rules_without_until(&model.document));
    }
}
