//! What must hold of an event for a rule to match.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::fields::{At, Fields};
use super::member_count::MemberCount;
use super::{Extra, RuleError};

/// One item of a rule's `conditions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// What is tested.
    pub kind: ConditionKind,
    /// Members of the object that the test does not use, kept as they came.
    pub extra: Extra,
}

/// What a condition tests, by its `kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionKind {
    /// A string of the event matches a glob.
    EventMatch {
        /// The dotted path of the event's field.
        key: String,
        /// The glob.
        pattern: String,
    },
    /// The text of the message has the user's display name in it.
    ContainsDisplayName,
    /// The room has that many members.
    RoomMemberCount {
        /// The count expression: `2`, `<10`.
        is: String,
    },
    /// The sender may notify the whole room.
    SenderNotificationPermission {
        /// The key of the power level that the sender needs.
        key: String,
    },
    /// A field of the event is exactly this value.
    EventPropertyIs {
        /// The dotted path of the event's field.
        key: String,
        /// The value.
        value: Scalar,
    },
    /// An array of the event holds exactly this value.
    EventPropertyContains {
        /// The dotted path of the event's field.
        key: String,
        /// The value.
        value: Scalar,
    },
    /// A kind that this version does not know. It never holds; its other members are all extra.
    Unknown {
        /// What the client called it.
        kind: String,
    },
}

/// A value that can be compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A string; case matters.
    String(String),
    /// An integer of at most 2^53 - 1 in size.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// The `null` that stands in an event, which is not the same as an absent field.
    Null,
}

impl Scalar {
    /// An integer, if it is one that a double, and so every reader of JSON, holds exactly.
    pub(super) fn integer(integer: i64) -> Option<Self> {
        const LARGEST: i64 = (1 << 53) - 1;
        (-LARGEST..=LARGEST).contains(&integer).then_some(Self::Integer(integer))
    }

    fn from_json(fields: &mut Fields) -> Result<Self, RuleError> {
        match fields.need("value")? {
            Value::String(text) => Ok(Self::String(text)),
            Value::Bool(value) => Ok(Self::Boolean(value)),
            Value::Null => Ok(Self::Null),
            Value::Number(number) => number
                .as_i64()
                .and_then(Self::integer)
                .ok_or_else(|| RuleError::Number(fields.place("value"))),
            Value::Array(_) | Value::Object(_) => {
                Err(fields.wrong_type("value", "a string, an integer, a boolean or null"))
            }
        }
    }
}

impl From<ConditionKind> for Condition {
    fn from(kind: ConditionKind) -> Self {
        Self { kind, extra: Extra::new() }
    }
}

impl Condition {
    pub(super) fn from_json(value: Value, at: At) -> Result<Self, RuleError> {
        let mut fields = Fields::of(value, at)?;
        let name = fields.need_string("kind")?;
        let kind = match name.as_str() {
            "event_match" => ConditionKind::EventMatch {
                key: fields.need_string("key")?,
                pattern: fields.need_string("pattern")?,
            },
            "contains_display_name" => ConditionKind::ContainsDisplayName,
            "room_member_count" => {
                let is = fields.need_string("is")?;
                // Kept as it came, once it is known to be one.
                match is.parse::<MemberCount>() {
                    Ok(_) => ConditionKind::RoomMemberCount { is },
                    Err(_) => return Err(RuleError::MemberCount(fields.place("is"))),
                }
            }
            "sender_notification_permission" => {
                ConditionKind::SenderNotificationPermission { key: fields.need_string("key")? }
            }
            "event_property_is" => ConditionKind::EventPropertyIs {
                key: fields.need_string("key")?,
                value: Scalar::from_json(&mut fields)?,
            },
            "event_property_contains" => ConditionKind::EventPropertyContains {
                key: fields.need_string("key")?,
                value: Scalar::from_json(&mut fields)?,
            },
            _ => ConditionKind::Unknown { kind: name },
        };
        Ok(Self { kind, extra: fields.rest() })
    }

    /// Reads a condition that was stored. One that would be refused today was of an unknown kind
    /// when it was put, and stays unknown, so that no new kind makes an old document unreadable.
    pub(super) fn from_stored(value: Value, at: At) -> Result<Self, RuleError> {
        Self::from_json(value.clone(), at).or_else(|_| {
            let mut fields = Fields::of(value, at)?;
            let kind = fields.need_string("kind")?;
            Ok(Self { kind: ConditionKind::Unknown { kind }, extra: fields.rest() })
        })
    }
}

impl ConditionKind {
    /// The kind as it stands in JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::EventMatch { .. } => "event_match",
            Self::ContainsDisplayName => "contains_display_name",
            Self::RoomMemberCount { .. } => "room_member_count",
            Self::SenderNotificationPermission { .. } => "sender_notification_permission",
            Self::EventPropertyIs { .. } => "event_property_is",
            Self::EventPropertyContains { .. } => "event_property_contains",
            Self::Unknown { kind } => kind,
        }
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("kind", self.kind.name())?;
        match &self.kind {
            ConditionKind::EventMatch { key, pattern } => {
                object.serialize_entry("key", key)?;
                object.serialize_entry("pattern", pattern)?;
            }
            ConditionKind::RoomMemberCount { is } => object.serialize_entry("is", is)?,
            ConditionKind::SenderNotificationPermission { key } => {
                object.serialize_entry("key", key)?
            }
            ConditionKind::EventPropertyIs { key, value }
            | ConditionKind::EventPropertyContains { key, value } => {
                object.serialize_entry("key", key)?;
                object.serialize_entry("value", value)?;
            }
            ConditionKind::ContainsDisplayName | ConditionKind::Unknown { .. } => {}
        }
        for (key, value) in &self.extra {
            object.serialize_entry(key, value)?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Class;

    fn read(value: Value) -> Result<Condition, RuleError> {
        Condition::from_json(value, At::Item("conditions", 0))
    }

    #[test]
    fn a_condition_is_returned_as_it_came() {
        for wire in [
            json!({"kind": "event_match", "key": "content.body", "pattern": "cake*"}),
            json!({"kind": "event_match", "key": "", "pattern": ""}),
            json!({"kind": "contains_display_name"}),
            json!({"kind": "room_member_count", "is": "==007"}),
            json!({"kind": "sender_notification_permission", "key": "room"}),
            json!({"kind": "event_property_is", "key": "a", "value": "x"}),
            json!({"kind": "event_property_is", "key": "a", "value": null}),
            json!({"kind": "event_property_is", "key": "a", "value": 9_007_199_254_740_991_i64}),
            json!({"kind": "event_property_contains", "key": "a", "value": false}),
            json!({"kind": "event_property_contains", "key": "a", "value": -9_007_199_254_740_991_i64}),
            json!({"kind": "contains_display_name", "key": "unused", "org.x": {"a": [1.5]}}),
            json!({"kind": "org.x.moon", "phase": "full", "is": 7}),
            json!({"kind": ""}),
        ] {
            let condition = read(wire.clone()).unwrap();
            assert_eq!(json!(condition), wire);
        }
    }

    #[test]
    fn an_unknown_kind_is_kept_with_all_its_members() {
        let condition = read(json!({"kind": "device", "profile_tag": "x"})).unwrap();
        assert_eq!(condition.kind, ConditionKind::Unknown { kind: "device".into() });
        assert_eq!(condition.extra["profile_tag"], "x");
    }

    #[test]
    fn a_known_kind_with_missing_or_malformed_fields_is_refused_by_name() {
        let count = "conditions[0].is must be a number, with ==, <, >, <= or >= before it if";
        let number = "conditions[0].value must be an integer from -9007199254740991 to 9007";
        let scalar = "conditions[0].value must be a string, an integer, a boolean or null";
        for (wire, class, text) in [
            (json!("event_match"), Class::BadJson, "conditions[0] must be a JSON object"),
            (json!({}), Class::MissingParam, "conditions[0].kind is missing"),
            (json!({"kind": 1}), Class::BadJson, "conditions[0].kind must be a string"),
            (
                json!({"kind": "event_match", "pattern": "x"}),
                Class::MissingParam,
                "conditions[0].key is missing",
            ),
            (
                json!({"kind": "event_match", "key": "x"}),
                Class::MissingParam,
                "conditions[0].pattern is missing",
            ),
            (
                json!({"kind": "event_match", "key": "x", "pattern": null}),
                Class::BadJson,
                "conditions[0].pattern must be a string",
            ),
            (
                json!({"kind": "room_member_count"}),
                Class::MissingParam,
                "conditions[0].is is missing",
            ),
            (
                json!({"kind": "room_member_count", "is": 2}),
                Class::BadJson,
                "conditions[0].is must be a string",
            ),
            (json!({"kind": "room_member_count", "is": "=2"}), Class::InvalidParam, count),
            (
                json!({"kind": "sender_notification_permission"}),
                Class::MissingParam,
                "conditions[0].key is missing",
            ),
            (
                json!({"kind": "event_property_is", "key": "x"}),
                Class::MissingParam,
                "conditions[0].value is missing",
            ),
            (
                json!({"kind": "event_property_is", "key": "x", "value": 1.0}),
                Class::InvalidParam,
                number,
            ),
            (
                json!({"kind": "event_property_is", "key": "x", "value": 1_u64 << 53}),
                Class::InvalidParam,
                number,
            ),
            (
                json!({"kind": "event_property_contains", "key": "x", "value": u64::MAX}),
                Class::InvalidParam,
                number,
            ),
            (json!({"kind": "event_property_is", "key": "x", "value": {}}), Class::BadJson, scalar),
            (
                json!({"kind": "event_property_contains", "key": "x", "value": ["a"]}),
                Class::BadJson,
                scalar,
            ),
        ] {
            let refusal = read(wire.clone()).unwrap_err();
            assert_eq!(refusal.class(), class, "{wire}");
            assert!(refusal.to_string().starts_with(text), "{wire}: {refusal}");
        }
    }

    #[test]
    fn a_stored_condition_that_would_be_refused_today_is_unknown() {
        let wire = json!({"kind": "event_match", "moon": "full"});
        let condition = Condition::from_stored(wire.clone(), At::Item("conditions", 0)).unwrap();
        assert_eq!(condition.kind, ConditionKind::Unknown { kind: "event_match".into() });
        assert_eq!(json!(condition), wire);
    }
}
