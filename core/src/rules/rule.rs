//! A push rule, as it is stored and returned.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Action, Condition, Extra, RuleError, RuleExpiry, RuleId};
use crate::json::{self, Fields, Location, read_array};

/// A rule of any kind. Its optional fields are determined when it is created, so serialization does
/// not depend on the kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// Id, unique in its scope and kind.
    pub rule_id: String,
    pub enabled: bool,
    pub actions: Vec<Action>,
    /// Conditions that must all be met. Always present for override and underride rules.
    pub conditions: Option<Vec<Condition>>,
    /// Glob to search in the message text. Always present for content rules.
    pub pattern: Option<String>,
    /// The time at which the rule expires, or `enabled` of a built-in rule returns to its default.
    pub until: Option<RuleExpiry>,
    /// Other members, stored and returned unchanged.
    pub extra: Extra,
}

impl Rule {
    /// Returns true for a built-in rule (`default` in the API).
    pub fn is_builtin(&self) -> bool {
        RuleId::is_reserved(&self.rule_id)
    }

    /// Returns the JSON size of everything but `rule_id`, `default` and `enabled`: the minimum size
    /// of a body that creates the rule.
    pub fn body_bytes(&self) -> usize {
        json::to_bytes(&BodyMembers(self)).len()
    }

    fn serialize_body<M: SerializeMap>(&self, object: &mut M) -> Result<(), M::Error> {
        object.serialize_entry("actions", &self.actions)?;
        if let Some(conditions) = &self.conditions {
            object.serialize_entry("conditions", conditions)?;
        }
        if let Some(pattern) = &self.pattern {
            object.serialize_entry("pattern", pattern)?;
        }
        if let Some(until) = &self.until {
            object.serialize_entry("until", until)?;
        }
        self.extra.iter().try_for_each(|(key, value)| object.serialize_entry(key, value))
    }

    fn from_stored(value: Value) -> Result<Self, RuleError> {
        let mut fields = Fields::new(value, Location::Body)?;
        fields.take("default");
        let until = fields.take_if("until", RuleExpiry::from_stored);
        Ok(Self {
            rule_id: fields.require_string("rule_id")?,
            enabled: fields.require_bool("enabled")?,
            actions: read_array("actions", fields.require("actions")?, Action::from_json)?,
            conditions: fields
                .take("conditions")
                .map(|value| read_array("conditions", value, Condition::from_stored))
                .transpose()?,
            pattern: fields.take_string("pattern")?,
            until,
            extra: fields.into_remaining(),
        })
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("rule_id", &self.rule_id)?;
        object.serialize_entry("default", &self.is_builtin())?;
        object.serialize_entry("enabled", &self.enabled)?;
        self.serialize_body(&mut object)?;
        object.end()
    }
}

struct BodyMembers<'a>(&'a Rule);

impl Serialize for BodyMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        self.0.serialize_body(&mut object)?;
        object.end()
    }
}

/// Parses a stored rule. Bodies of requests are validated by [`NewRule`](super::NewRule) instead.
impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_stored(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_is_parsed_from_its_serialized_form() {
        for wire_json in [
            json!({"rule_id": "a", "default": false, "enabled": true, "actions": []}),
            json!({
                "rule_id": ".m.x", "default": true, "enabled": false, "conditions": [],
                "actions": ["notify", {"set_tweak": "highlight"}],
            }),
            json!({
                "rule_id": "b", "default": false, "enabled": true, "pattern": "", "actions": [],
                "conditions": [{"kind": "contains_display_name"}], "org.x": [null, 1],
                "until": 1_800_000_000_000_i64,
            }),
        ] {
            let rule: Rule = serde_json::from_value(wire_json.clone()).unwrap();
            assert_eq!(json!(rule), wire_json);
        }
    }

    #[test]
    fn a_stored_until_with_a_different_type_is_an_unknown_member() {
        for until in [json!("tomorrow"), json!(-1), json!(1.5), json!(null), json!({"a": 1})] {
            let mut wire_json = json!({"rule_id": "a", "enabled": true, "actions": []});
            wire_json["until"] = until.clone();
            let rule: Rule = serde_json::from_value(wire_json).unwrap();
            assert_eq!((rule.until, rule.extra.get("until")), (None, Some(&until)));
            assert_eq!(json!(rule)["until"], until);
        }
    }

    #[test]
    fn default_and_enabled_are_always_serialized() {
        let rule: Rule =
            serde_json::from_value(json!({"rule_id": "a", "enabled": true, "actions": []}))
                .unwrap();
        assert_eq!(
            serde_json::to_string(&rule).unwrap(),
            r#"{"rule_id":"a","default":false,"enabled":true,"actions":[]}"#
        );
    }

    #[test]
    fn an_incomplete_or_malformed_rule_is_rejected() {
        for wire_json in [
            json!([]),
            json!({"rule_id": "a", "enabled": true}),
            json!({"rule_id": "a", "actions": []}),
            json!({"enabled": true, "actions": []}),
            json!({"rule_id": "a", "enabled": "true", "actions": []}),
            json!({"rule_id": "a", "enabled": true, "actions": ["ring"]}),
        ] {
            assert!(serde_json::from_value::<Rule>(wire_json.clone()).is_err(), "{wire_json}");
        }
    }
}
