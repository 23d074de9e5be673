//! Conditions of a push rule.

use serde::Serialize;
use serde_json::Value;

use super::time_and_day::{self, TimeAndDay};
use super::{Extra, RuleError};
use crate::json::{Fields, Location};

/// One item of a rule's `conditions`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    #[serde(flatten)]
    pub kind: ConditionKind,
    /// Other members of the object, stored and returned unchanged.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConditionKind {
    /// A string property of the event matches a glob.
    EventMatch {
        /// Dotted path of the property.
        key: String,
        /// The glob, which ignores case.
        pattern: String,
    },
    /// The message text contains the user's display name.
    ContainsDisplayName,
    /// Number of room members satisfies a comparison.
    RoomMemberCount {
        /// The comparison, such as `2` or `<10`.
        is: String,
    },
    /// The sender has the power level required for a notification, such as `@room`.
    SenderNotificationPermission {
        /// Key of the required power level in `notifications`.
        key: String,
    },
    EventPropertyIs {
        /// Dotted path of the property.
        key: String,
        value: Scalar,
    },
    EventPropertyContains {
        /// Dotted path of the array.
        key: String,
        value: Scalar,
    },
    /// The local time is in one of the intervals. Boxed to keep other conditions small.
    #[serde(untagged)]
    TimeAndDay(Box<TimeAndDay>),
    /// A related event, such as the one that is replied to, meets a condition. Boxed, too.
    #[serde(untagged)]
    RelatedEventMatch(Box<RelatedEventMatch>),
    /// A kind that this version does not support. It never matches.
    #[serde(untagged)]
    Unknown {
        /// Name of the kind. All other members are in [`Condition::extra`].
        kind: String,
    },
}

/// A `related_event_match` condition of MSC3664: the event has a relation, and a string property of
/// the related event matches a glob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedEventMatch {
    /// The name of the kind that the client used.
    kind: &'static str,
    /// The relation type. `m.in_reply_to` stands for replies.
    pub rel_type: String,
    /// True if a reply also counts if it is the fallback of a thread. False by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_fallbacks: Option<bool>,
    /// `None` if every related event meets the condition.
    #[serde(flatten)]
    pub property: Option<PropertyMatch>,
}

/// The property of the related event, as in `event_match`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PropertyMatch {
    pub key: String,
    pub pattern: String,
}

/// The names of the condition kind. Clients use the second until the proposal is accepted.
const RELATED_EVENT_MATCH: [&str; 2] =
    ["related_event_match", "im.nheko.msc3664.related_event_match"];

impl RelatedEventMatch {
    /// Reads the fields. `key` and `pattern` require each other.
    fn take_from(fields: &mut Fields, kind: &'static str) -> Result<Self, RuleError> {
        let rel_type = fields.require_string("rel_type")?;
        let include_fallbacks = fields.take_bool("include_fallbacks")?;
        let property = match (fields.take_string("key")?, fields.take_string("pattern")?) {
            (None, None) => None,
            (Some(key), Some(pattern)) => Some(PropertyMatch { key, pattern }),
            (Some(_), None) => return Err(fields.missing("pattern").into()),
            (None, Some(_)) => return Err(fields.missing("key").into()),
        };
        Ok(Self { kind, rel_type, include_fallbacks, property })
    }
}

/// A JSON value that can be compared for equality.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A string, compared case-sensitively.
    String(String),
    /// An integer between -(2^53 - 1) and 2^53 - 1.
    Integer(i64),
    Boolean(bool),
    /// An explicit `null`, which differs from an absent property.
    Null,
}

impl Scalar {
    /// Returns the integer as a scalar if it is in the range that doubles represent exactly, so
    /// that every JSON parser reads the same value.
    pub(super) fn from_integer(integer: i64) -> Option<Self> {
        const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
        (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&integer).then_some(Self::Integer(integer))
    }

    /// Reads the required field `value`.
    fn take_from(fields: &mut Fields) -> Result<Self, RuleError> {
        match fields.require("value")? {
            Value::String(text) => Ok(Self::String(text)),
            Value::Bool(boolean) => Ok(Self::Boolean(boolean)),
            Value::Null => Ok(Self::Null),
            Value::Number(number) => {
                number.as_i64().and_then(Self::from_integer).ok_or_else(|| {
                    let requirement = "be an integer from -9007199254740991 to 9007199254740991";
                    RuleError::invalid_value(fields.path("value"), requirement)
                })
            }
            Value::Array(_) | Value::Object(_) => {
                Err(fields.wrong_type("value", "a string, an integer, a boolean or null").into())
            }
        }
    }
}

impl PartialEq<Value> for Scalar {
    fn eq(&self, value: &Value) -> bool {
        match self {
            Self::String(text) => value.as_str() == Some(text),
            Self::Integer(integer) => value.as_i64() == Some(*integer),
            Self::Boolean(boolean) => value.as_bool() == Some(*boolean),
            Self::Null => value.is_null(),
        }
    }
}

impl From<ConditionKind> for Condition {
    fn from(kind: ConditionKind) -> Self {
        Self { kind, extra: Extra::new() }
    }
}

impl Condition {
    pub(super) fn from_json(value: Value, location: Location) -> Result<Self, RuleError> {
        let mut fields = Fields::new(value, location)?;
        let name = fields.require_string("kind")?;
        let kind = match name.as_str() {
            "event_match" => ConditionKind::EventMatch {
                key: fields.require_string("key")?,
                pattern: fields.require_string("pattern")?,
            },
            "contains_display_name" => ConditionKind::ContainsDisplayName,
            "room_member_count" => {
                let is = fields.require_string("is")?;
                // Stored as text, so that it is returned as it was sent.
                if MemberCountRange::parse(&is).is_none() {
                    let requirement = "be a number, optionally preceded by ==, <, >, <= or >=";
                    return Err(RuleError::invalid_value(fields.path("is"), requirement));
                }
                ConditionKind::RoomMemberCount { is }
            }
            "sender_notification_permission" => {
                ConditionKind::SenderNotificationPermission { key: fields.require_string("key")? }
            }
            "event_property_is" => ConditionKind::EventPropertyIs {
                key: fields.require_string("key")?,
                value: Scalar::take_from(&mut fields)?,
            },
            "event_property_contains" => ConditionKind::EventPropertyContains {
                key: fields.require_string("key")?,
                value: Scalar::take_from(&mut fields)?,
            },
            _ => {
                if let Some(name) = find_name(&time_and_day::NAMES, &name) {
                    let condition = TimeAndDay::take_from(&mut fields, name, location)?;
                    ConditionKind::TimeAndDay(Box::new(condition))
                } else if let Some(name) = find_name(&RELATED_EVENT_MATCH, &name) {
                    let condition = RelatedEventMatch::take_from(&mut fields, name)?;
                    ConditionKind::RelatedEventMatch(Box::new(condition))
                } else {
                    ConditionKind::Unknown { kind: name }
                }
            }
        };
        Ok(Self { kind, extra: fields.into_remaining() })
    }

    /// Parses a stored condition. A condition that this version rejects was stored by an earlier
    /// version, which did not support its kind and therefore did not validate it. It is read as
    /// unknown, so that support for a new kind does not make old documents unreadable.
    pub(super) fn from_stored(value: Value, location: Location) -> Result<Self, RuleError> {
        Self::from_json(value.clone(), location).or_else(|_| {
            let mut fields = Fields::new(value, location)?;
            let kind = fields.require_string("kind")?;
            Ok(Self { kind: ConditionKind::Unknown { kind }, extra: fields.into_remaining() })
        })
    }
}

/// Returns the name as a constant if it is one of the names of a kind.
fn find_name(kind_names: &[&'static str], name: &str) -> Option<&'static str> {
    kind_names.iter().copied().find(|kind_name| *kind_name == name)
}

/// The member counts that satisfy a comparison: `2`, `==2`, `<10`, `>=3`. A number beyond `u64` is
/// clamped to its maximum.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberCountRange {
    compare: Comparison,
    count: u64,
}

type Comparison = fn(&u64, &u64) -> bool;

/// Ordered so that no operator is a prefix of a later one.
const OPERATORS: [(&str, Comparison); 6] = [
    ("==", u64::eq),
    ("<=", u64::le),
    (">=", u64::ge),
    ("<", u64::lt),
    (">", u64::gt),
    ("", u64::eq),
];

impl MemberCountRange {
    /// Parses an expression; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let split_operator = |(operator, compare)| Some((compare, text.strip_prefix(operator)?));
        let (compare, digits) = OPERATORS.into_iter().find_map(split_operator)?;
        // Checked here because `u64::from_str` accepts a leading `+`.
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Self { compare, count: digits.parse().unwrap_or(u64::MAX) })
    }

    /// Returns whether a number of members satisfies the comparison.
    pub(super) fn includes(self, members: u64) -> bool {
        (self.compare)(&members, &self.count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matrix::MatrixErrorCode;

    fn parse_condition(value: Value) -> Result<Condition, RuleError> {
        Condition::from_json(value, Location::Item("conditions", 0))
    }

    #[test]
    fn a_condition_is_serialized_as_it_was_parsed() {
        for wire_json in [
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
            json!({"kind": "related_event_match", "rel_type": "m.thread"}),
            json!({
                "kind": "im.nheko.msc3664.related_event_match", "rel_type": "m.in_reply_to",
                "include_fallbacks": false, "key": "sender", "pattern": "@a:x", "org.x": 1,
            }),
            json!({"kind": "contains_display_name", "key": "unused", "org.x": {"a": [1.5]}}),
            json!({"kind": "org.x.moon", "phase": "full", "is": 7}),
            json!({"kind": ""}),
        ] {
            let condition = parse_condition(wire_json.clone()).unwrap();
            assert_eq!(json!(condition), wire_json);
        }
    }

    #[test]
    fn an_unknown_kind_preserves_all_its_members() {
        let condition = parse_condition(json!({"kind": "device", "profile_tag": "x"})).unwrap();
        assert_eq!(condition.kind, ConditionKind::Unknown { kind: "device".into() });
        assert_eq!(condition.extra["profile_tag"], "x");
    }

    #[test]
    fn a_known_kind_with_missing_or_malformed_fields_is_rejected_with_their_path() {
        let count_message =
            "conditions[0].is must be a number, optionally preceded by ==, <, >, <=";
        let number_message =
            "conditions[0].value must be an integer from -9007199254740991 to 9007";
        let scalar_message = "conditions[0].value must be a string, an integer, a boolean or null";
        for (wire_json, code, message) in [
            (json!("event_match"), MatrixErrorCode::BadJson, "conditions[0] must be a JSON object"),
            (json!({}), MatrixErrorCode::MissingParam, "conditions[0].kind is missing"),
            (json!({"kind": 1}), MatrixErrorCode::BadJson, "conditions[0].kind must be a string"),
            (
                json!({"kind": "event_match", "pattern": "x"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].key is missing",
            ),
            (
                json!({"kind": "event_match", "key": "x"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].pattern is missing",
            ),
            (
                json!({"kind": "event_match", "key": "x", "pattern": null}),
                MatrixErrorCode::BadJson,
                "conditions[0].pattern must be a string",
            ),
            (
                json!({"kind": "room_member_count"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].is is missing",
            ),
            (
                json!({"kind": "room_member_count", "is": 2}),
                MatrixErrorCode::BadJson,
                "conditions[0].is must be a string",
            ),
            (
                json!({"kind": "room_member_count", "is": "=2"}),
                MatrixErrorCode::InvalidParam,
                count_message,
            ),
            (
                json!({"kind": "sender_notification_permission"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].key is missing",
            ),
            (
                json!({"kind": "event_property_is", "key": "x"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].value is missing",
            ),
            (
                json!({"kind": "event_property_is", "key": "x", "value": 1.0}),
                MatrixErrorCode::InvalidParam,
                number_message,
            ),
            (
                json!({"kind": "event_property_is", "key": "x", "value": 1_u64 << 53}),
                MatrixErrorCode::InvalidParam,
                number_message,
            ),
            (
                json!({"kind": "event_property_contains", "key": "x", "value": u64::MAX}),
                MatrixErrorCode::InvalidParam,
                number_message,
            ),
            (
                json!({"kind": "event_property_is", "key": "x", "value": {}}),
                MatrixErrorCode::BadJson,
                scalar_message,
            ),
            (
                json!({"kind": "event_property_contains", "key": "x", "value": ["a"]}),
                MatrixErrorCode::BadJson,
                scalar_message,
            ),
        ] {
            let error = parse_condition(wire_json.clone()).unwrap_err();
            assert_eq!(error.code(), code, "{wire_json}");
            assert!(error.to_string().starts_with(message), "{wire_json}: {error}");
        }
    }

    #[test]
    fn a_related_event_match_needs_a_type_and_a_key_with_its_pattern() {
        for (fields, code, message) in [
            (json!({}), MatrixErrorCode::MissingParam, "conditions[0].rel_type is missing"),
            (
                json!({"rel_type": ["x"]}),
                MatrixErrorCode::BadJson,
                "conditions[0].rel_type must be a string",
            ),
            (
                json!({"rel_type": "x", "include_fallbacks": 1}),
                MatrixErrorCode::BadJson,
                "conditions[0].include_fallbacks must be a boolean",
            ),
            (
                json!({"rel_type": "x", "key": "sender"}),
                MatrixErrorCode::MissingParam,
                "conditions[0].pattern is missing",
            ),
            (
                json!({"rel_type": "x", "pattern": ""}),
                MatrixErrorCode::MissingParam,
                "conditions[0].key is missing",
            ),
        ] {
            for kind in RELATED_EVENT_MATCH {
                let mut wire_json = fields.clone();
                wire_json["kind"] = kind.into();
                let error = parse_condition(wire_json.clone()).unwrap_err();
                assert_eq!((error.code(), error.to_string().as_str()), (code, message));
                // Earlier versions stored it without validation.
                let stored =
                    Condition::from_stored(wire_json.clone(), Location::Item("conditions", 0));
                assert_eq!(json!(stored.unwrap()), wire_json);
            }
        }
    }

    #[test]
    fn a_stored_condition_that_is_now_invalid_is_read_as_unknown() {
        let wire_json = json!({"kind": "event_match", "moon": "full"});
        let condition =
            Condition::from_stored(wire_json.clone(), Location::Item("conditions", 0)).unwrap();
        assert_eq!(condition.kind, ConditionKind::Unknown { kind: "event_match".into() });
        assert_eq!(json!(condition), wire_json);
    }

    #[test]
    fn operators_compare_the_number_of_members_with_the_count() {
        for (text, below, equal, above) in [
            ("2", false, true, false),
            ("==2", false, true, false),
            ("<2", true, false, false),
            (">2", false, false, true),
            ("<=2", true, true, false),
            (">=2", false, true, true),
            (">=0002", false, true, true),
        ] {
            let range = MemberCountRange::parse(text).unwrap();
            assert_eq!(
                [1, 2, 3].map(|members| range.includes(members)),
                [below, equal, above],
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        for text in [
            "", "=2", "=>2", "=<2", "!=2", "<>2", "===2", "<", "==", " 2", "2 ", "< 2", "+2", "-2",
            "2.0", "two", "٢", "2<", "0x2", "==+2",
        ] {
            assert!(MemberCountRange::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_count_beyond_u64_is_larger_than_any_room() {
        let huge = "9".repeat(1000);
        let includes = |text: String| MemberCountRange::parse(&text).unwrap().includes(1 << 40);
        assert!(includes(format!("<{huge}")));
        assert!(!includes(format!(">{huge}")));
        assert!(!includes(huge));
        assert!(includes(format!("{}{}", "0".repeat(100), 1u64 << 40)));
    }
}
