//! Random sequences of changes to a document, compared with a model that orders rules by a number.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::rules::{RuleChange, RuleRef};

/// A change to the rules. There are few ids, so that changes affect each other.
#[derive(Debug, Clone)]
enum Edit {
    Put { kind: RuleKind, id: String, before: Option<String>, after: Option<String> },
    Remove { kind: RuleKind, id: String },
    SetEnabled { kind: RuleKind, id: String, enabled: bool },
}

fn any_kind() -> impl Strategy<Value = RuleKind> {
    prop::sample::select(&[RuleKind::Override, RuleKind::Content, RuleKind::Room][..])
}

fn any_user_rule_id() -> impl Strategy<Value = String> {
    "[a-f]"
}

fn any_rule_id() -> impl Strategy<Value = String> {
    prop_oneof![8 => any_user_rule_id(), 1 => Just(builtin::MASTER.to_owned())]
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let neighbour = || prop::option::weighted(0.4, any_rule_id());
    prop_oneof![
        5 => (any_kind(), any_user_rule_id(), neighbour(), neighbour())
            .prop_map(|(kind, id, before, after)| Edit::Put { kind, id, before, after }),
        1 => (any_kind(), any_rule_id()).prop_map(|(kind, id)| Edit::Remove { kind, id }),
        2 => (any_kind(), any_rule_id(), any::<bool>())
            .prop_map(|(kind, id, enabled)| Edit::SetEnabled { kind, id, enabled }),
    ]
}

/// Orders rules by height. A rule placed between two others gets the mean of their heights, a rule
/// placed on top gets one more than the highest.
#[derive(Default)]
struct Model {
    heights: BTreeMap<(RuleKind, String), f64>,
    disabled_rules: Vec<(RuleKind, String)>,
    is_master_enabled: bool,
}

impl Model {
    /// Returns the ids of a kind's rules, highest first.
    fn ordered_ids(&self, kind: RuleKind) -> Vec<String> {
        let rules_of_kind = self.heights.iter().filter(|((other, _), _)| *other == kind);
        let mut ids: Vec<_> =
            rules_of_kind.map(|((_, id), height)| (*height, id.clone())).collect();
        ids.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns a height directly above or below a rule, ignoring the rule that is placed there.
    fn height_next_to(&self, kind: RuleKind, id: &str, neighbour: &str, is_above: bool) -> f64 {
        let height = self.heights[&(kind, neighbour.to_owned())];
        let other_heights = self
            .heights
            .iter()
            .filter(|((other_kind, other_id), _)| *other_kind == kind && other_id != id)
            .map(|(_, height)| *height);
        if is_above {
            let next_height =
                other_heights.filter(|other| *other > height).fold(f64::INFINITY, f64::min);
            if next_height.is_finite() { f64::midpoint(height, next_height) } else { height + 1.0 }
        } else {
            let next_height =
                other_heights.filter(|other| *other < height).fold(f64::NEG_INFINITY, f64::max);
            if next_height.is_finite() { f64::midpoint(height, next_height) } else { height - 1.0 }
        }
    }

    /// Applies a change, if it is allowed. Returns whether it is allowed.
    fn apply(&mut self, edit: &Edit) -> bool {
        match edit {
            Edit::Put { kind, id, before, after } => {
                let key = (*kind, id.clone());
                let is_valid_neighbour = |neighbour: &String| {
                    neighbour != id && self.heights.contains_key(&(*kind, neighbour.clone()))
                };
                if !before.iter().chain(after).all(is_valid_neighbour) {
                    return false;
                }
                let height = match (before, after) {
                    (Some(neighbour), _) => self.height_next_to(*kind, id, neighbour, true),
                    (None, Some(neighbour)) => self.height_next_to(*kind, id, neighbour, false),
                    (None, None) => self.heights.get(&key).copied().unwrap_or_else(|| {
                        let rules_of_kind =
                            self.heights.iter().filter(|((other, _), _)| other == kind);
                        rules_of_kind.fold(0.0, |top, (_, height)| height.max(top)) + 1.0
                    }),
                };
                self.heights.insert(key, height);
                true
            }
            Edit::Remove { kind, id } => {
                let key = (*kind, id.clone());
                self.disabled_rules.retain(|other| *other != key);
                self.heights.remove(&key).is_some()
            }
            Edit::SetEnabled { kind: RuleKind::Override, id, enabled } if id == builtin::MASTER => {
                self.is_master_enabled = *enabled;
                true
            }
            Edit::SetEnabled { kind, id, enabled } => {
                let key = (*kind, id.clone());
                self.disabled_rules.retain(|other| *other != key);
                let exists = self.heights.contains_key(&key);
                if exists && !enabled {
                    self.disabled_rules.push(key);
                }
                exists
            }
        }
    }
}

fn apply_edit(document: &mut RuleDocument, edit: &Edit) -> Result<(), RuleError> {
    match edit {
        Edit::Put { kind, id, before, after } => {
            let position = RulePosition { before: before.as_deref(), after: after.as_deref() };
            put_rule(document, *kind, id, position)
        }
        Edit::Remove { kind, id } => document.remove(*kind, id),
        Edit::SetEnabled { kind, id, enabled } => document.set_enabled(*kind, id, *enabled),
    }
}

proptest! {
    #[test]
    fn a_document_agrees_with_the_model_after_any_changes(
        edits in prop::collection::vec(any_edit(), 0..40),
    ) {
        let mut document = global_document();
        let mut model = Model::default();
        for edit in &edits {
            let original = document.clone();
            let result = apply_edit(&mut document, edit);
            prop_assert_eq!(result.is_ok(), model.apply(edit), "{:?}: {:?}", edit, result);
            if result.is_err() {
                prop_assert_eq!(&document, &original);
            }
        }
        for &kind in RuleKind::ALL {
            prop_assert_eq!(user_rule_ids(&document, kind), model.ordered_ids(kind));
            for rule in &document.user_rules()[kind] {
                let key = (kind, rule.rule_id.clone());
                prop_assert_eq!(rule.enabled, !model.disabled_rules.contains(&key));
            }
        }
        prop_assert_eq!(document.rule_count(), model.heights.len());

        let rules = document.rules(RuleKind::Override, alice());
        prop_assert_eq!(&rules[0].rule_id, builtin::MASTER);
        prop_assert_eq!(rules[0].enabled, model.is_master_enabled);
        let ids: Vec<&String> = rules.iter().map(|rule| &rule.rule_id).collect();
        let mut expected = vec![builtin::MASTER.to_owned()];
        expected.extend(model.ordered_ids(RuleKind::Override));
        let other_builtin_rules = &builtin::all()[RuleKind::Override][1..];
        expected.extend(other_builtin_rules.iter().map(|rule| rule.rule_id.clone()));
        prop_assert_eq!(ids, expected.iter().collect::<Vec<_>>());

        let parsed_document = RuleDocument::from_text(RuleScope::Global, &document.to_text()).unwrap();
        prop_assert_eq!(parsed_document, document);
    }

    #[test]
    fn parsing_does_not_panic(bytes in any::<Vec<u8>>(), kind in any_kind()) {
        let _ = NewRule::parse(kind, &bytes, NewRuleLimits::default(), Timestamp::UNIX_EPOCH);
        let _ = EnabledChange::parse(&bytes, Timestamp::UNIX_EPOCH);
        let rule = RuleRef { scope: RuleScope::Global, kind, id: "a".to_owned() };
        let _ = RuleChange::set_actions(rule, &bytes, NewRuleLimits::default());
        let _ = RuleDocument::from_text(RuleScope::Global, &String::from_utf8_lossy(&bytes));
    }
}
