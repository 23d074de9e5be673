//! Built-in push rules, which every user has and none can delete.
//!
//! All users share the same definitions. Three rules contain placeholders for the user's id or
//! localpart, which are replaced when the rules are read.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{ConditionKind, Rule, Ruleset, Scalar};

/// The rule that disables all notifications. It precedes all other rules.
pub const MASTER: &str = ".m.rule.master";

/// The rules that search the message text for mentions. They are not evaluated for events with
/// `m.mentions`, which replaced them.
pub const LEGACY_MENTION_RULES: [&str; 3] =
    [".m.rule.contains_display_name", ".m.rule.roomnotif", ".m.rule.contains_user_name"];

/// Placeholder for the user id. Only a value that equals it is replaced.
pub const USER_ID_PLACEHOLDER: &str = "<user id>";

/// Placeholder for the localpart of the user id. Only a value that equals it is replaced.
pub const LOCALPART_PLACEHOLDER: &str = "<localpart>";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User<'a> {
    /// The user id: `@alice:example.org`.
    pub id: &'a str,
    /// The localpart of the id: `alice`.
    pub localpart: &'a str,
}

impl<'a> User<'a> {
    /// Splits a user id `@localpart:server`.
    pub fn new(id: &'a str) -> Self {
        let name = id.strip_prefix('@').unwrap_or(id);
        Self { id, localpart: name.split_once(':').map_or(name, |(localpart, _)| localpart) }
    }

    /// Returns the value of a placeholder, or `None` if the text is not one.
    fn placeholder_value(self, text: &str) -> Option<&'a str> {
        match text {
            USER_ID_PLACEHOLDER => Some(self.id),
            LOCALPART_PLACEHOLDER => Some(self.localpart),
            _ => None,
        }
    }
}

/// The rules in the format of the API, in evaluation order, with placeholders.
const RULES_JSON: &str = r#"{
"override": [
  {"rule_id": ".m.rule.master", "enabled": false, "conditions": [], "actions": []},
  {"rule_id": ".m.rule.suppress_notices", "enabled": true, "actions": [], "conditions": [
    {"kind": "event_match", "key": "content.msgtype", "pattern": "m.notice"}]},
  {"rule_id": ".m.rule.invite_for_me", "enabled": true, "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.member"},
    {"kind": "event_match", "key": "content.membership", "pattern": "invite"},
    {"kind": "event_match", "key": "state_key", "pattern": "<user id>"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}]},
  {"rule_id": ".m.rule.member_event", "enabled": true, "actions": [], "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.member"}]},
  {"rule_id": ".m.rule.is_user_mention", "enabled": true, "conditions": [
    {"kind": "event_property_contains",
      "key": "content.m\\.mentions.user_ids", "value": "<user id>"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]},
  {"rule_id": ".m.rule.contains_display_name", "enabled": true, "conditions": [
    {"kind": "contains_display_name"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]},
  {"rule_id": ".m.rule.is_room_mention", "enabled": true, "conditions": [
    {"kind": "event_property_is", "key": "content.m\\.mentions.room", "value": true},
    {"kind": "sender_notification_permission", "key": "room"}],
    "actions": ["notify", {"set_tweak": "highlight"}]},
  {"rule_id": ".m.rule.roomnotif", "enabled": true, "conditions": [
    {"kind": "event_match", "key": "content.body", "pattern": "@room"},
    {"kind": "sender_notification_permission", "key": "room"}],
    "actions": ["notify", {"set_tweak": "highlight"}]},
  {"rule_id": ".m.rule.tombstone", "enabled": true, "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.tombstone"},
    {"kind": "event_match", "key": "state_key", "pattern": ""}],
    "actions": ["notify", {"set_tweak": "highlight"}]},
  {"rule_id": ".m.rule.reaction", "enabled": true, "actions": [], "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.reaction"}]},
  {"rule_id": ".m.rule.room.server_acl", "enabled": true, "actions": [], "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.server_acl"},
    {"kind": "event_match", "key": "state_key", "pattern": ""}]},
  {"rule_id": ".m.rule.suppress_edits", "enabled": true, "actions": [], "conditions": [
    {"kind": "event_property_is",
      "key": "content.m\\.relates_to.rel_type", "value": "m.replace"}]}
],
"content": [
  {"rule_id": ".m.rule.contains_user_name", "enabled": true, "pattern": "<localpart>",
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]}
],
"underride": [
  {"rule_id": ".m.rule.call", "enabled": true, "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.call.invite"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "ring"}]},
  {"rule_id": ".m.rule.encrypted_room_one_to_one", "enabled": true, "conditions": [
    {"kind": "room_member_count", "is": "2"},
    {"kind": "event_match", "key": "type", "pattern": "m.room.encrypted"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}]},
  {"rule_id": ".m.rule.room_one_to_one", "enabled": true, "conditions": [
    {"kind": "room_member_count", "is": "2"},
    {"kind": "event_match", "key": "type", "pattern": "m.room.message"}],
    "actions": ["notify", {"set_tweak": "sound", "value": "default"}]},
  {"rule_id": ".m.rule.message", "enabled": true, "actions": ["notify"], "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.message"}]},
  {"rule_id": ".m.rule.encrypted", "enabled": true, "actions": ["notify"], "conditions": [
    {"kind": "event_match", "key": "type", "pattern": "m.room.encrypted"}]}
]}"#;

/// Returns the built-in rules in evaluation order, with placeholders (see
/// [`replace_placeholders`]).
pub fn all() -> &'static Ruleset {
    static ALL: LazyLock<Ruleset> =
        LazyLock::new(|| serde_json::from_str(RULES_JSON).expect("the definitions are valid"));
    &ALL
}

/// Replaces the placeholders of a built-in rule. A rule without placeholders is borrowed.
pub fn replace_placeholders<'r>(rule: &'r Rule, user: User<'_>) -> Cow<'r, Rule> {
    let mut personal_rule = Cow::Borrowed(rule);
    if let Some(value) = rule.pattern.as_deref().and_then(|pattern| user.placeholder_value(pattern))
    {
        personal_rule.to_mut().pattern = Some(value.to_owned());
    }
    for (index, condition) in rule.conditions.iter().flatten().enumerate() {
        let kind = match &condition.kind {
            ConditionKind::EventMatch { key, pattern } => {
                user.placeholder_value(pattern).map(|value| ConditionKind::EventMatch {
                    key: key.clone(),
                    pattern: value.to_owned(),
                })
            }
            ConditionKind::EventPropertyContains { key, value: Scalar::String(value) } => {
                user.placeholder_value(value).map(|value| ConditionKind::EventPropertyContains {
                    key: key.clone(),
                    value: Scalar::String(value.to_owned()),
                })
            }
            _ => None,
        };
        if let Some(kind) = kind
            && let Some(conditions) = &mut personal_rule.to_mut().conditions
        {
            conditions[index] = kind.into();
        }
    }
    personal_rule
}

#[cfg(test)]
mod tests;
