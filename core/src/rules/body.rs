//! Bodies of requests that create or change rules.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Action, Condition, Extra, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleId, RuleKind,
    RuleScope,
};
use crate::json::{self, Fields, Location, read_array};

/// Body of `PUT` of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRule {
    actions: Vec<Action>,
    conditions: Option<Vec<Condition>>,
    pattern: Option<String>,
    until: Option<RuleExpiry>,
    extra: Extra,
}

/// Body of `PUT` of `enabled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledChange {
    /// Whether the rule is evaluated.
    pub enabled: bool,
    /// When the change of a built-in rule ends.
    pub until: Option<RuleExpiry>,
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
        let actions = need_actions(&mut fields)?;
        let conditions = match fields.take("conditions") {
            Some(value) => Some(read_array("conditions", value, Condition::from_json)?),
            None => matches!(kind, RuleKind::Override | RuleKind::Underride).then(Vec::new),
        };
        let pattern = match kind {
            RuleKind::Content => Some(fields.need_string("pattern")?),
            _ => fields.take_string("pattern")?,
        };
        let until = read_until(&mut fields)?;
        for name in ["rule_id", "default", "enabled"] {
            fields.take(name);
        }
        Ok(Self { actions, conditions, pattern, until, extra: fields.rest() })
    }

    /// Reads the same from a part of a body, within the limits of a body of its own.
    ///
    /// # Errors
    /// As [`NewRule::read`], and if the rule exceeds a limit.
    pub(super) fn read_within(
        kind: RuleKind,
        rule: Value,
        limits: NewRuleLimits,
    ) -> Result<Self, RuleError> {
        if json::to_bytes(&rule).len() > limits.bytes {
            return Err(RuleError::RuleTooLarge(limits.bytes));
        }
        let new = Self::from_json(kind, rule)?;
        new.check_conditions(limits.conditions)?;
        Ok(new)
    }

    /// Checks the number of conditions.
    ///
    /// # Errors
    /// If there are more than `max`.
    pub fn check_conditions(&self, max: usize) -> Result<(), RuleError> {
        let count = self.conditions.as_ref().map_or(0, Vec::len);
        if count <= max { Ok(()) } else { Err(RuleError::TooManyConditions(max)) }
    }

    /// Checks that a timed rule ends in the future.
    ///
    /// # Errors
    /// If it would be absent at once.
    pub fn check_until(&self, now: Timestamp) -> Result<(), RuleError> {
        self.until.map_or(Ok(()), |until| until.check(now))
    }

    pub(super) fn into_rule(self, id: RuleId, enabled: bool) -> Rule {
        let Self { actions, conditions, pattern, until, extra } = self;
        Rule { rule_id: id.into(), enabled, actions, conditions, pattern, until, extra }
    }
}

impl EnabledChange {
    /// Parses the body of `PUT` of `enabled`: a boolean, or `{"enabled":true}`, for a built-in rule
    /// also with `until`.
    ///
    /// # Errors
    /// If the body is neither, or `until` is not a time.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        Self::from_json(json::parse(body)?)
    }

    /// Reads the same from a parsed body.
    ///
    /// # Errors
    /// As [`EnabledChange::read`].
    pub fn from_json(body: Value) -> Result<Self, RuleError> {
        match body {
            Value::Bool(enabled) => Ok(enabled.into()),
            object @ Value::Object(_) => {
                let mut fields = Fields::new(object, Location::Body)?;
                Ok(Self { enabled: fields.need_bool("enabled")?, until: read_until(&mut fields)? })
            }
            _ => Err(Location::Body.wrong_type("true, false, or an object with enabled").into()),
        }
    }

    /// Checks that a timed change ends in the future.
    ///
    /// # Errors
    /// If it would end at once.
    pub fn check_until(self, now: Timestamp) -> Result<(), RuleError> {
        self.until.map_or(Ok(()), |until| until.check(now))
    }
}

/// A change without an end.
impl From<bool> for EnabledChange {
    fn from(enabled: bool) -> Self {
        Self { enabled, until: None }
    }
}

/// Reads the optional field `until`.
pub(super) fn read_until(fields: &mut Fields) -> Result<Option<RuleExpiry>, RuleError> {
    fields.take("until").map(|until| RuleExpiry::from_json(&until)).transpose()
}

/// Parses the body of `PUT` of `actions`: `{"actions":[…]}`.
///
/// # Errors
/// If the body has another form, or an action is invalid.
pub fn read_actions(body: &[u8]) -> Result<Vec<Action>, RuleError> {
    need_actions(&mut Fields::read(body)?)
}

/// Reads the required field `actions`.
pub(super) fn need_actions(fields: &mut Fields) -> Result<Vec<Action>, RuleError> {
    read_array("actions", fields.need("actions")?, Action::from_json)
}

/// Parses the body of `POST /pushrules/reset`: `{"scope":"global"}`; without a scope, or without a
/// body, all scopes are reset.
///
/// # Errors
/// If the body has another form. Unknown fields are rejected, because all rules would be deleted if
/// `scope` is misspelt.
pub fn read_reset(body: &[u8]) -> Result<Option<RuleScope>, RuleError> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::read(body)?;
    let scope = fields.take_string("scope")?;
    reject_unknown(fields, "scope")?;
    Ok(scope.map(|scope| scope.parse()).transpose()?)
}

/// Rejects the fields that were not read.
pub(super) fn reject_unknown(fields: Fields, expected: &'static str) -> Result<(), RuleError> {
    match fields.rest().into_iter().next() {
        Some((name, _)) => Err(RuleError::unknown_field(&name, expected)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
