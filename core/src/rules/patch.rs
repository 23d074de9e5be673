//! A user's changes to a built-in rule.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Action, EnabledChange, Rule, RuleExpiry};

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
    /// When `enabled` returns to its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<RuleExpiry>,
}

impl RulePatch {
    pub(super) fn set_enabled(&mut self, change: EnabledChange) {
        self.enabled = Some(change.enabled);
        self.until = change.until;
    }

    /// Whether `enabled` has returned to its default.
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until.is_reached(now))
    }

    /// Removes the change of `enabled`.
    pub(super) fn reset_enabled(&mut self) {
        (self.enabled, self.until) = (None, None);
    }

    /// Whether nothing is changed.
    pub(super) fn is_empty(&self) -> bool {
        self.enabled.is_none() && self.actions.is_none()
    }

    pub(super) fn apply(&self, rule: &mut Rule) {
        if let Some(enabled) = self.enabled {
            rule.enabled = enabled;
            rule.until = self.until;
        }
        if let Some(actions) = &self.actions {
            rule.actions.clone_from(actions);
        }
    }
}
