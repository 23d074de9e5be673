//! What a user changed of a built-in rule.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::fields::{At, Fields, list};
use super::{Action, Rule, RuleError};

/// Laid over a built-in rule; what the user did not say stays as it is built in, also when a
/// later version builds it in differently.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RulePatch {
    /// Whether the rule is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What it does when it wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
}

impl RulePatch {
    pub(super) fn apply(&self, rule: &mut Rule) {
        if let Some(enabled) = self.enabled {
            rule.enabled = enabled;
        }
        if let Some(actions) = &self.actions {
            rule.actions.clone_from(actions);
        }
    }

    fn from_stored(value: Value) -> Result<Self, RuleError> {
        let mut fields = Fields::of(value, At::Body)?;
        Ok(Self {
            enabled: fields.take_bool("enabled")?,
            actions: fields
                .take("actions")
                .map(|value| list("actions", value, Action::from_json))
                .transpose()?,
        })
    }
}

impl<'de> Deserialize<'de> for RulePatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_stored(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
