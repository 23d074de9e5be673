//! Tests of the built-in rules.

use serde_json::{Value, json};

use super::*;
use crate::rules::{RuleDocument, RuleScope};

/// The rules of the Matrix specification v1.17 to v1.19, with the three legacy mention rules at
/// the positions that they had until v1.16.
const SPECIFICATION: &str = r#"{
"override": [
 {"rule_id":".m.rule.master","default":true,"enabled":false,"conditions":[],"actions":[]},
 {"rule_id":".m.rule.suppress_notices","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"content.msgtype","pattern":"m.notice"}],"actions":[]},
 {"rule_id":".m.rule.invite_for_me","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.member"},{"kind":"event_match","key":"content.membership","pattern":"invite"},{"kind":"event_match","key":"state_key","pattern":"@alice:x.org:8448"}],"actions":["notify",{"set_tweak":"sound","value":"default"}]},
 {"rule_id":".m.rule.member_event","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.member"}],"actions":[]},
 {"rule_id":".m.rule.is_user_mention","default":true,"enabled":true,"conditions":[{"kind":"event_property_contains","key":"content.m\\.mentions.user_ids","value":"@alice:x.org:8448"}],"actions":["notify",{"set_tweak":"sound","value":"default"},{"set_tweak":"highlight"}]},
 {"rule_id":".m.rule.contains_display_name","default":true,"enabled":true,"conditions":[{"kind":"contains_display_name"}],"actions":["notify",{"set_tweak":"sound","value":"default"},{"set_tweak":"highlight"}]},
 {"rule_id":".m.rule.is_room_mention","default":true,"enabled":true,"conditions":[{"kind":"event_property_is","key":"content.m\\.mentions.room","value":true},{"kind":"sender_notification_permission","key":"room"}],"actions":["notify",{"set_tweak":"highlight"}]},
 {"rule_id":".m.rule.roomnotif","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"content.body","pattern":"@room"},{"kind":"sender_notification_permission","key":"room"}],"actions":["notify",{"set_tweak":"highlight"}]},
 {"rule_id":".m.rule.tombstone","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.tombstone"},{"kind":"event_match","key":"state_key","pattern":""}],"actions":["notify",{"set_tweak":"highlight"}]},
 {"rule_id":".m.rule.reaction","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.reaction"}],"actions":[]},
 {"rule_id":".m.rule.room.server_acl","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.server_acl"},{"kind":"event_match","key":"state_key","pattern":""}],"actions":[]},
 {"rule_id":".m.rule.suppress_edits","default":true,"enabled":true,"conditions":[{"kind":"event_property_is","key":"content.m\\.relates_to.rel_type","value":"m.replace"}],"actions":[]}
],
"content": [
 {"rule_id":".m.rule.contains_user_name","default":true,"enabled":true,"pattern":"alice","actions":["notify",{"set_tweak":"sound","value":"default"},{"set_tweak":"highlight"}]}
],
"room": [],
"sender": [],
"underride": [
 {"rule_id":".m.rule.call","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.call.invite"}],"actions":["notify",{"set_tweak":"sound","value":"ring"}]},
 {"rule_id":".m.rule.encrypted_room_one_to_one","default":true,"enabled":true,"conditions":[{"kind":"room_member_count","is":"2"},{"kind":"event_match","key":"type","pattern":"m.room.encrypted"}],"actions":["notify",{"set_tweak":"sound","value":"default"}]},
 {"rule_id":".m.rule.room_one_to_one","default":true,"enabled":true,"conditions":[{"kind":"room_member_count","is":"2"},{"kind":"event_match","key":"type","pattern":"m.room.message"}],"actions":["notify",{"set_tweak":"sound","value":"default"}]},
 {"rule_id":".m.rule.message","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.message"}],"actions":["notify"]},
 {"rule_id":".m.rule.encrypted","default":true,"enabled":true,"conditions":[{"kind":"event_match","key":"type","pattern":"m.room.encrypted"}],"actions":["notify"]}
]
}"#;

#[test]
fn the_builtin_rules_match_the_specification() {
    let expected: Value = serde_json::from_str(SPECIFICATION).unwrap();
    let document = RuleDocument::new(RuleScope::Global);
    assert_eq!(json!(document.ruleset(User::new("@alice:x.org:8448"))), expected);
}

#[test]
fn only_rules_with_placeholders_are_copied() {
    let alice = User::new("@alice:x");
    let owned_rule_ids: Vec<&str> = all()
        .iter()
        .filter(|(_, rule)| matches!(replace_placeholders(rule, alice), Cow::Owned(_)))
        .map(|(_, rule)| rule.rule_id.as_str())
        .collect();
    assert_eq!(
        owned_rule_ids,
        [".m.rule.invite_for_me", ".m.rule.is_user_mention", ".m.rule.contains_user_name"]
    );
}

#[test]
fn builtin_rule_ids_are_reserved_and_unique() {
    let mut ids: Vec<&str> = all().iter().map(|(_, rule)| rule.rule_id.as_str()).collect();
    assert!(ids.iter().all(|id| id.starts_with('.')));
    assert!(LEGACY_MENTION_RULES.iter().all(|id| ids.contains(id)));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn the_localpart_is_between_the_at_sign_and_the_first_colon() {
    for (id, localpart) in [
        ("@alice:x.org", "alice"),
        ("@alice:x.org:8448", "alice"),
        ("@a.b=c/d:[::1]:80", "a.b=c/d"),
        ("@:x", ""),
        ("alice", "alice"),
        ("", ""),
    ] {
        assert_eq!(User::new(id).localpart, localpart, "{id}");
    }
}
