//! Responses of `GET /pushrules/` and `GET /pushrules/export`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::Serialize;

use super::builtin::{LOCALPART_PLACEHOLDER, USER_ID_PLACEHOLDER};
use super::{Rule, RuleDocument, RulePatch, RuleScope, Ruleset, User};
use crate::json;

/// All rulesets of a user, built-in rules included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesetsResponse<'a> {
    /// The rulesets of devices that have at least one rule, by profile tag.
    pub device: BTreeMap<&'a str, Ruleset<Cow<'a, Rule>>>,
    pub global: Ruleset<Cow<'a, Rule>>,
}

impl<'a> RulesetsResponse<'a> {
    /// Builds the response from the user's stored documents.
    pub fn new(documents: impl IntoIterator<Item = &'a RuleDocument>, user: User<'_>) -> Self {
        let mut global = RuleDocument::without_rules();
        let mut device = BTreeMap::new();
        for document in documents {
            match document.scope() {
                RuleScope::Global => global = document,
                RuleScope::Device(_) if document.is_empty() => {}
                RuleScope::Device(tag) => {
                    device.insert(tag.as_str(), document.ruleset(user));
                }
            }
        }
        Self { device, global: global.ruleset(user) }
    }
}

/// Serializes the response for a user without stored documents.
///
/// Most users have none. Serializing the built-in rules takes longer than all other work of such a
/// request, and caching the response would take 3 KB per user. So it is serialized once, with
/// placeholders that are replaced by each user's id and localpart.
pub fn default_response(user: User<'_>) -> Vec<u8> {
    static TEMPLATE: LazyLock<String> = LazyLock::new(|| {
        serialize_default_rules(User { id: USER_ID_PLACEHOLDER, localpart: LOCALPART_PLACEHOLDER })
    });
    let quote = |text: &str| format!("\"{text}\"");
    let [id, localpart] = [user.id, user.localpart]
        .map(|name| String::from_utf8(json::to_bytes(&name)).expect("UTF-8"));
    TEMPLATE
        .replace(&quote(USER_ID_PLACEHOLDER), &id)
        .replace(&quote(LOCALPART_PLACEHOLDER), &localpart)
        .into_bytes()
}

fn serialize_default_rules(user: User<'_>) -> String {
    String::from_utf8(json::to_bytes(&RulesetsResponse::new([], user))).expect("UTF-8")
}

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
    fn the_response_has_the_global_ruleset_and_devices_with_a_rule() {
        let body = br#"{"actions":[]}"#;
        let documents = ["device/b", "device/a", "global", "device/empty"].map(|scope| {
            let mut document = RuleDocument::new(scope.parse().unwrap());
            if scope != "device/empty" {
                let new_rule = NewRule::parse(
                    RuleKind::Room,
                    body,
                    NewRuleLimits::default(),
                    Timestamp::UNIX_EPOCH,
                )
                .unwrap();
                document
                    .put(RuleKind::Room, "r".parse().unwrap(), new_rule, RulePosition::default())
                    .unwrap();
            }
            document
        });
        let user = User::new("@alice:x");
        let response = json!(RulesetsResponse::new(&documents, user));
        let tags: Vec<&String> = response["device"].as_object().unwrap().keys().collect();
        assert_eq!(tags, ["a", "b"]);
        for ruleset in [&response["global"], &response["device"]["a"]] {
            assert_eq!(ruleset["room"][0]["rule_id"], "r");
            assert_eq!(ruleset.as_object().unwrap().len(), 5);
        }
        assert_eq!(response["device"]["a"]["override"], json!([]));
        assert_eq!(response["global"]["override"][0]["rule_id"], ".m.rule.master");
    }

    #[test]
    fn the_default_response_equals_the_serialized_rules() {
        for id in
            ["@alice:ring.example", "@a:[::1]:8448", "@\"\\:x", "@<user id>:x", "@<localpart>:x"]
        {
            let user = User::new(id);
            let response = String::from_utf8(default_response(user)).unwrap();
            assert_eq!(response, serialize_default_rules(user), "{id}");
        }
    }

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
