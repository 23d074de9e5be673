//! A user's changes to a built-in rule.

use serde::{Deserialize, Serialize};

use super::{Action, Rule};

/// The attributes of a built-in rule that a user has changed. The others follow the definition of
/// the rule, also when a later version changes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RulePatch {
    /// Whether the rule is evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Actions of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
}

impl RulePatch {
    /// Adds the attributes of a later change.
    pub(super) fn merge(&mut self, later: Self) {
        self.enabled = later.enabled.or(self.enabled);
        self.actions = later.actions.or_else(|| self.actions.take());
    }

    pub(super) fn apply(&self, rule: &mut Rule) {
        if let Some(enabled) = self.enabled {
            rule.enabled = enabled;
        }
        if let Some(actions) = &self.actions {
            rule.actions.clone_from(actions);
        }
    }
}
