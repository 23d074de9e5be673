//! Bodies of requests that create or change rules.

use serde_json::Value;

use super::{Action, Condition, Extra, Rule, RuleError, RuleId, RuleKind};
use crate::json::{self, Fields, Location, read_array};

/// Body of `PUT` of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRule {
    actions: Vec<Action>,
    conditions: Option<Vec<Condition>>,
    pattern: Option<String>,
    extra: Extra,
}

impl NewRule {
    /// Parses the body of `PUT` of a rule.
    ///
    /// `rule_id`, `default` and `enabled` are accepted and ignored, so that a client can send back
    /// a rule as it received it.
    ///
    /// # Errors
    /// If the body is not a JSON object, lacks a field required by the kind, or has an invalid
    /// field.
    pub fn read(kind: RuleKind, body: &[u8]) -> Result<Self, RuleError> {
        Self::from_json(kind, json::parse(body)?)
    }

    /// Reads the same from a parsed body.
    ///
    /// # Errors
    /// As [`NewRule::read`].
    pub fn from_json(kind: RuleKind, body: Value) -> Result<Self, RuleError> {
        let mut fields = Fields::new(body, Location::Body)?;
        let actions = read_array("actions", fields.need("actions")?, Action::from_json)?;
        let conditions = match fields.take("conditions") {
            Some(value) => Some(read_array("conditions", value, Condition::from_json)?),
            None => matches!(kind, RuleKind::Override | RuleKind::Underride).then(Vec::new),
        };
        let pattern = match kind {
            RuleKind::Content => Some(fields.need_string("pattern")?),
            _ => fields.take_string("pattern")?,
        };
        for name in ["rule_id", "default", "enabled"] {
            fields.take(name);
        }
        Ok(Self { actions, conditions, pattern, extra: fields.rest() })
    }

    /// Checks the number of conditions.
    ///
    /// # Errors
    /// If there are more than `max`.
    pub fn check_conditions(&self, max: usize) -> Result<(), RuleError> {
        let count = self.conditions.as_ref().map_or(0, Vec::len);
        if count <= max { Ok(()) } else { Err(RuleError::TooManyConditions(max)) }
    }

    pub(super) fn into_rule(self, id: RuleId, enabled: bool) -> Rule {
        self.into_rule_named(id.into(), enabled)
    }

    /// The rule with an id that has been validated before.
    pub(super) fn into_rule_named(self, rule_id: String, enabled: bool) -> Rule {
        let Self { actions, conditions, pattern, extra } = self;
        Rule { rule_id, enabled, actions, conditions, pattern, extra }
    }
}

/// Parses the body of `PUT` of `enabled`: a boolean, or `{"enabled":true}`.
///
/// # Errors
/// If the body is neither.
pub fn read_enabled(body: &[u8]) -> Result<bool, RuleError> {
    Ok(match json::parse(body)? {
        Value::Bool(enabled) => enabled,
        object @ Value::Object(_) => Fields::new(object, Location::Body)?.need_bool("enabled")?,
        _ => {
            return Err(Location::Body.wrong_type("true, false, or an object with enabled").into());
        }
    })
}

/// Parses the body of `PUT` of `actions`: `{"actions":[…]}`.
///
/// # Errors
/// If the body has another form, or an action is invalid.
pub fn read_actions(body: &[u8]) -> Result<Vec<Action>, RuleError> {
    read_array("actions", Fields::read(body)?.need("actions")?, Action::from_json)
}

#[cfg(test)]
mod tests;
