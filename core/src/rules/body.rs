//! The bodies of requests that change rules.

use serde_json::Value;

use super::fields::{At, Fields, list};
use super::{Action, Condition, Extra, Rule, RuleError, RuleId, RuleKind};
use crate::json;

/// What a user says of a rule when making or replacing it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRule {
    actions: Vec<Action>,
    conditions: Option<Vec<Condition>>,
    pattern: Option<String>,
    extra: Extra,
}

impl NewRule {
    /// Reads the body of a `PUT` of a rule.
    ///
    /// Members that a body cannot set (`rule_id`, `default`, `enabled`) have no effect, so that a
    /// client may send back a rule that it was shown.
    ///
    /// # Errors
    /// When it is no JSON object, lacks what its kind needs, or has a field of no meaning.
    pub fn read(kind: RuleKind, body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::of(json::read(body)?, At::Body)?;
        let actions = list("actions", fields.need("actions")?, Action::from_json)?;
        let conditions = match fields.take("conditions") {
            Some(value) => Some(list("conditions", value, Condition::from_json)?),
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

    pub(super) fn named(self, id: RuleId, enabled: bool) -> Rule {
        let Self { actions, conditions, pattern, extra } = self;
        Rule { rule_id: id.into(), enabled, actions, conditions, pattern, extra }
    }
}

/// Reads the body of a `PUT` of `enabled`: a bare boolean, or `{"enabled":true}`.
///
/// # Errors
/// When it is neither.
pub fn read_enabled(body: &[u8]) -> Result<bool, RuleError> {
    match json::read(body)? {
        Value::Bool(enabled) => Ok(enabled),
        object @ Value::Object(_) => Fields::of(object, At::Body)?.need_bool("enabled"),
        _ => Err(At::Body.wrong_type("true, false, or an object with enabled")),
    }
}

/// Reads the body of a `PUT` of `actions`: `{"actions":[…]}`.
///
/// # Errors
/// When it is anything else, or an action has no meaning.
pub fn read_actions(body: &[u8]) -> Result<Vec<Action>, RuleError> {
    let mut fields = Fields::of(json::read(body)?, At::Body)?;
    list("actions", fields.need("actions")?, Action::from_json)
}

#[cfg(test)]
mod tests;
