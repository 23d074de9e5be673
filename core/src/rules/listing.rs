//! A user's rules in evaluation order, for the account pages.

use std::borrow::Cow;

use super::evaluate::split_scopes;
use super::{Rule, RuleDocument, RuleKind, RuleRef, RuleScope, Ruleset, User};

/// A user's rules in evaluation order.
#[derive(Debug)]
pub struct RuleListing<'a> {
    /// The master rule, which disables all notifications and precedes all others.
    pub master: Cow<'a, Rule>,
    /// The other rules: the rules of device profiles, ordered by tag, then the global rules.
    pub scopes: Vec<ScopeListing<'a>>,
}

/// The rules of one scope.
#[derive(Debug)]
pub struct ScopeListing<'a> {
    /// `global`, or a device.
    pub scope: &'a RuleScope,
    /// Built-in and user rules in evaluation order, by kind.
    pub rules: Ruleset<Cow<'a, Rule>>,
}

impl<'a> RuleListing<'a> {
    /// Lists the rules in a user's documents. Devices without user rules are omitted.
    pub fn new(documents: impl IntoIterator<Item = &'a RuleDocument>, user: User<'_>) -> Self {
        let (global, mut devices) = split_scopes(documents);
        devices.retain(|document| document.user_rules().iter().next().is_some());
        devices.sort_by_key(|document| document.scope());
        let list_scope = |document: &'a RuleDocument| ScopeListing {
            scope: document.scope(),
            rules: document.ruleset(user),
        };
        let mut global_listing = list_scope(global.unwrap_or(RuleDocument::without_rules()));
        let master = global_listing.rules[RuleKind::Override].remove(0);
        Self {
            master,
            scopes: devices.into_iter().map(list_scope).chain([global_listing]).collect(),
        }
    }

    /// Returns the number of rules other than the master rule.
    pub fn rule_count(&self) -> usize {
        self.scopes.iter().map(|listing| listing.rules.iter().count()).sum()
    }

    /// Returns whether a rule is listed.
    pub fn contains(&self, rule: &RuleRef) -> bool {
        let scope = &RuleScope::Global;
        let kind = RuleKind::Override;
        let is_master = (&rule.scope, rule.kind, &rule.id) == (scope, kind, &self.master.rule_id);
        is_master || self.index_of(rule).is_some()
    }

    /// Returns the index of a rule among the rules other than the master rule.
    pub fn index_of(&self, rule: &RuleRef) -> Option<usize> {
        let mut rules = self.scopes.iter().flat_map(|listing| {
            listing.rules.iter().map(move |(kind, rule)| (listing.scope, kind, &rule.rule_id))
        });
        rules.position(|listed_rule| listed_rule == (&rule.scope, rule.kind, &rule.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, RulePosition, builtin};
    use jiff::Timestamp;

    fn document_with_rules(scope: &str, rules: &[(RuleKind, &str)]) -> RuleDocument {
        let mut document = RuleDocument::new(scope.parse().unwrap());
        for (kind, id) in rules.iter().rev() {
            let new_rule = NewRule::parse(
                *kind,
                br#"{"actions":[],"pattern":"p"}"#,
                NewRuleLimits::default(),
                Timestamp::UNIX_EPOCH,
            )
            .unwrap();
            document.put(*kind, id.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
        }
        document
    }

    fn user_rule_ids(listing: &ScopeListing<'_>) -> Vec<(RuleKind, String)> {
        let user_rules = listing.rules.iter().filter(|(_, rule)| !rule.is_builtin());
        user_rules.map(|(kind, rule)| (kind, rule.rule_id.clone())).collect()
    }

    #[test]
    fn the_master_rule_precedes_device_rules_which_precede_global_rules() {
        use RuleKind::{Content, Override, Room};
        let documents = [
            document_with_rules("global", &[(Override, "o"), (Room, "r")]),
            document_with_rules("device/phone", &[(Content, "c")]),
            document_with_rules("device/empty", &[]),
            document_with_rules("device/desk", &[(Room, "r")]),
        ];
        let listing = RuleListing::new(&documents, User::new("@alice:x"));
        assert_eq!(listing.master.rule_id, builtin::MASTER);
        let scopes: Vec<String> =
            listing.scopes.iter().map(|listing| listing.scope.to_string()).collect();
        assert_eq!(scopes, ["device/desk", "device/phone", "global"]);
        assert_eq!(user_rule_ids(&listing.scopes[1]), [(Content, "c".to_owned())]);
        let global_listing = &listing.scopes[2];
        assert_eq!(
            user_rule_ids(global_listing),
            [(Override, "o".to_owned()), (Room, "r".to_owned())]
        );
        let rule_count = builtin::all().iter().count() + 2;
        assert_eq!(
            global_listing.rules.iter().count(),
            rule_count - 1,
            "all rules except the master rule are listed"
        );
        assert_eq!(global_listing.rules[Override][0].rule_id, "o");
        assert_eq!(listing.rule_count(), rule_count + 1);
        for (path, index) in [
            ("device/desk/room/r", Some(0)),
            ("global/override/o", Some(2)),
            ("global/override/.m.rule.suppress_notices", Some(3)),
            ("device/phone/room/r", None),
            ("global/override/.m.rule.master", None),
        ] {
            let rule = RuleRef::from_path(path).unwrap();
            assert_eq!(listing.index_of(&rule), index, "{path}");
            assert_eq!(listing.contains(&rule), index.is_some() || path.ends_with("master"));
        }
    }

    #[test]
    fn a_user_without_rules_has_the_builtin_rules() {
        let listing = RuleListing::new([], User::new("@alice:x"));
        assert_eq!(listing.scopes.len(), 1);
        assert!(user_rule_ids(&listing.scopes[0]).is_empty());
    }
}
