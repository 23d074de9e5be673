//! One rule, as it is kept and as it is shown.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::fields::{At, Fields, list};
use super::{Action, Condition, Extra, RuleError, RuleId};

/// A rule of any kind. Which of `conditions` and `pattern` it has is settled when it is made, so
/// that showing it needs no look at its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name, unique in its scope and kind.
    pub rule_id: String,
    /// Whether it is asked at all.
    pub enabled: bool,
    /// What it does when it wins.
    pub actions: Vec<Action>,
    /// What must hold for it to match: always there for override and underride rules.
    pub conditions: Option<Vec<Condition>>,
    /// The words to look for: always there for content rules.
    pub pattern: Option<String>,
    /// Other members, kept as the user gave them.
    pub extra: Extra,
}

impl Rule {
    /// Whether this is a built-in rule, which the wire calls `default`.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        RuleId::is_reserved(&self.rule_id)
    }

    fn from_stored(value: Value) -> Result<Self, RuleError> {
        let mut fields = Fields::of(value, At::Body)?;
        fields.take("default");
        Ok(Self {
            rule_id: fields.need_string("rule_id")?,
            enabled: fields.need_bool("enabled")?,
            actions: list("actions", fields.need("actions")?, Action::from_json)?,
            conditions: fields
                .take("conditions")
                .map(|value| list("conditions", value, Condition::from_stored))
                .transpose()?,
            pattern: fields.take_string("pattern")?,
            extra: fields.rest(),
        })
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("rule_id", &self.rule_id)?;
        object.serialize_entry("default", &self.is_builtin())?;
        object.serialize_entry("enabled", &self.enabled)?;
        object.serialize_entry("actions", &self.actions)?;
        if let Some(conditions) = &self.conditions {
            object.serialize_entry("conditions", conditions)?;
        }
        if let Some(pattern) = &self.pattern {
            object.serialize_entry("pattern", pattern)?;
        }
        for (key, value) in &self.extra {
            object.serialize_entry(key, value)?;
        }
        object.end()
    }
}

/// Reads a rule as it was shown or stored; a body that makes a rule is read with more care.
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
    fn a_rule_is_read_back_as_it_was_shown() {
        for wire in [
            json!({"rule_id": "a", "default": false, "enabled": true, "actions": []}),
            json!({
                "rule_id": ".m.x", "default": true, "enabled": false, "conditions": [],
                "actions": ["notify", {"set_tweak": "highlight"}],
            }),
            json!({
                "rule_id": "b", "default": false, "enabled": true, "pattern": "", "actions": [],
                "conditions": [{"kind": "contains_display_name"}], "org.x": [null, 1],
            }),
        ] {
            let rule: Rule = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(json!(rule), wire);
        }
    }

    #[test]
    fn default_and_enabled_are_always_shown() {
        let rule = json!({"rule_id": "a", "enabled": true, "actions": []});
        let rule: Rule = serde_json::from_value(rule).unwrap();
        assert_eq!(
            serde_json::to_string(&rule).unwrap(),
            r#"{"rule_id":"a","default":false,"enabled":true,"actions":[]}"#
        );
    }

    #[test]
    fn half_a_rule_is_not_read() {
        for wire in [
            json!([]),
            json!({"rule_id": "a", "enabled": true}),
            json!({"rule_id": "a", "actions": []}),
            json!({"enabled": true, "actions": []}),
            json!({"rule_id": "a", "enabled": "true", "actions": []}),
            json!({"rule_id": "a", "enabled": true, "actions": ["ring"]}),
        ] {
            assert!(serde_json::from_value::<Rule>(wire.clone()).is_err(), "{wire}");
        }
    }
}
