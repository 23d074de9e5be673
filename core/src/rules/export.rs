//! Response of `GET /pushrules/export`: the user rules of all scopes, and the overrides of
//! built-in rules.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::{Rule, RuleDocument, RulePatch, RuleScope, Ruleset};

/// Version of the export format. [`read_import`](super::read_import) accepts this version, and
/// bodies without a version.
pub(super) const EXPORT_VERSION: &str = "1";

/// The user rules of all scopes, and the overrides of built-in rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesetsExport<'a> {
    version: &'static str,
    /// Time of the export, as Unix time in milliseconds.
    exported_ts: i64,
    global: Ruleset<&'a Rule>,
    builtin_changes: BTreeMap<&'a str, &'a RulePatch>,
    /// The user rules of devices, by profile tag.
    device: BTreeMap<&'a str, Ruleset<&'a Rule>>,
}

impl<'a> RulesetsExport<'a> {
    /// Builds the export from the user's stored documents.
    pub fn new(documents: impl IntoIterator<Item = &'a RuleDocument>, now: Timestamp) -> Self {
        let mut export = Self {
            version: EXPORT_VERSION,
            exported_ts: now.as_millisecond(),
            global: Ruleset::default(),
            builtin_changes: BTreeMap::new(),
            device: BTreeMap::new(),
        };
        for document in documents {
            let rules = Ruleset::from_fn(|kind| document.user_rules()[kind].iter().collect());
            match document.scope() {
                RuleScope::Global => {
                    export.global = rules;
                    export.builtin_changes = document.patches().collect();
                }
                RuleScope::Device(_) if document.is_empty() => {}
                RuleScope::Device(tag) => drop(export.device.insert(tag.as_str(), rules)),
            }
        }
        export
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, RuleKind, RulePosition, builtin};

    #[test]
    fn an_export_has_user_rules_in_order_and_changes_to_builtin_rules() {
        let mut global = RuleDocument::new(RuleScope::Global);
        let mut phone = RuleDocument::new("device/phone".parse().unwrap());
        for (document, id) in [(&mut global, "b"), (&mut phone, "c")] {
            let new_rule = NewRule::parse(
                RuleKind::Content,
                br#"{"actions":[],"pattern":"p","x":1}"#,
                NewRuleLimits::default(),
                Timestamp::UNIX_EPOCH,
            );
            let id = id.parse().unwrap();
            document
                .put(RuleKind::Content, id, new_rule.unwrap(), RulePosition::default())
                .unwrap();
        }
        let new_rule = NewRule::parse(
            RuleKind::Content,
            br#"{"actions":["notify"],"pattern":"q"}"#,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        );
        let id = "a".parse().unwrap();
        global.put(RuleKind::Content, id, new_rule.unwrap(), RulePosition::default()).unwrap();
        global.set_enabled(RuleKind::Content, "a", false).unwrap();
        global.set_enabled(RuleKind::Override, builtin::MASTER, true).unwrap();
        let empty_document = RuleDocument::new("device/empty".parse().unwrap());

        let now = Timestamp::from_millisecond(1_800_000_000_123).unwrap();
        let exported_rule = |id: &str| json!({"rule_id": id, "default": false, "enabled": true, "actions": [], "pattern": "p", "x": 1});
        assert_eq!(
            json!(RulesetsExport::new([&phone, &global, &empty_document], now)),
            json!({
                "version": "1",
                "exported_ts": 1_800_000_000_123_i64,
                "global": {
                    "override": [], "room": [], "sender": [], "underride": [],
                    "content": [
                        {"rule_id": "a", "default": false, "enabled": false,
                         "actions": ["notify"], "pattern": "q"},
                        exported_rule("b"),
                    ],
                },
                "builtin_changes": {".m.rule.master": {"enabled": true}},
                "device": {"phone": {
                    "override": [], "content": [exported_rule("c")], "room": [], "sender": [],
                    "underride": [],
                }},
            })
        );
    }

    #[test]
    fn an_export_without_rules_has_all_keys() {
        let empty_ruleset =
            json!({"override": [], "content": [], "room": [], "sender": [], "underride": []});
        assert_eq!(
            json!(RulesetsExport::new([], Timestamp::UNIX_EPOCH)),
            json!({
                "version": "1", "exported_ts": 0, "global": empty_ruleset, "builtin_changes": {},
                "device": {},
            })
        );
    }
}
