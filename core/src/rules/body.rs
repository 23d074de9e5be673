//! Bodies of requests that create, change or reset rules.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Action, Condition, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleId, RuleKind, RuleScope,
};
use crate::json::{self, Fields, Location, read_array};

/// A valid rule without its id: the body of a `PUT` request for a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRule(Rule);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledChange {
    pub(super) enabled: bool,
    /// The time at which a change to a built-in rule expires; rejected for user rules.
    pub(super) until: Option<RuleExpiry>,
}

impl NewRule {
    /// Parses the body of a `PUT` request for a rule.
    ///
    /// `rule_id`, `default` and `enabled` are accepted and ignored, so that a client can send back
    /// a rule as it received it. A rule whose `until` is not after `now` is rejected.
    ///
    /// ```
    /// use belfry_core::rules::{NewRule, NewRuleLimits, RuleKind};
    /// use jiff::Timestamp;
    ///
    /// let (limits, now) = (NewRuleLimits::default(), Timestamp::UNIX_EPOCH);
    /// let body = br#"{"pattern": "cake", "actions": ["notify"]}"#;
    /// assert!(NewRule::parse(RuleKind::Content, body, limits, now).is_ok());
    ///
    /// let error = NewRule::parse(RuleKind::Content, br#"{"pattern": "cake"}"#, limits, now);
    /// assert_eq!(error.unwrap_err().to_string(), "actions is missing");
    /// ```
    pub fn parse(
        kind: RuleKind,
        body: &[u8],
        limits: NewRuleLimits,
        now: Timestamp,
    ) -> Result<Self, RuleError> {
        Self::from_json(kind, json::parse(body)?, limits, now)
    }

    /// Reads a rule from a parsed body, with the same checks as [`NewRule::parse`].
    pub fn from_json(
        kind: RuleKind,
        body: Value,
        limits: NewRuleLimits,
        now: Timestamp,
    ) -> Result<Self, RuleError> {
        let fields = Fields::new(body, Location::Body)?;
        let new_rule = Self::from_fields(kind, fields, limits)?;
        new_rule.0.until.map_or(Ok(()), |until| until.require_after(now))?;
        Ok(new_rule)
    }

    /// Reads a rule that may have expired. Used for imported rules.
    pub(super) fn from_fields(
        kind: RuleKind,
        mut fields: Fields,
        limits: NewRuleLimits,
    ) -> Result<Self, RuleError> {
        let actions = require_actions(&mut fields)?;
        let conditions = match fields.take("conditions") {
            Some(value) => Some(read_array("conditions", value, Condition::from_json)?),
            None => matches!(kind, RuleKind::Override | RuleKind::Underride).then(Vec::new),
        };
        let pattern = match kind {
            RuleKind::Content => Some(fields.require_string("pattern")?),
            _ => fields.take_string("pattern")?,
        };
        let until = take_until(&mut fields)?;
        for ignored_field in ["rule_id", "default", "enabled"] {
            fields.take(ignored_field);
        }
        let rule_id = String::new();
        let enabled = true;
        let extra = fields.into_remaining();
        let rule = Rule { rule_id, enabled, actions, conditions, pattern, until, extra };
        Self::from_rule(rule, limits)
    }

    /// Creates a new rule from a rule without an id, after checking it against the limits.
    pub(super) fn from_rule(rule: Rule, limits: NewRuleLimits) -> Result<Self, RuleError> {
        limits.check_rule(&rule)?;
        Ok(Self(rule))
    }

    pub(super) fn into_rule(self, id: RuleId, enabled: bool) -> Rule {
        Rule { rule_id: id.into(), enabled, ..self.0 }
    }
}

impl EnabledChange {
    /// Parses the body of a `PUT` request for `enabled`: a boolean, or an object with `enabled` and
    /// optionally `until`. An `until` that is not after `now` is rejected.
    pub fn parse(body: &[u8], now: Timestamp) -> Result<Self, RuleError> {
        match json::parse(body)? {
            Value::Bool(enabled) => Ok(enabled.into()),
            object @ Value::Object(_) => {
                let mut fields = Fields::new(object, Location::Body)?;
                let enabled = fields.require_bool("enabled")?;
                let until = take_until(&mut fields)?;
                until.map_or(Ok(()), |until| until.require_after(now))?;
                Ok(Self { enabled, until })
            }
            _ => Err(Location::Body.wrong_type("true, false, or an object with enabled").into()),
        }
    }
}

/// Creates a change that does not expire.
impl From<bool> for EnabledChange {
    fn from(enabled: bool) -> Self {
        Self { enabled, until: None }
    }
}

/// Reads the optional field `until`.
pub(super) fn take_until(fields: &mut Fields) -> Result<Option<RuleExpiry>, RuleError> {
    fields.take("until").map(|until| RuleExpiry::from_json(&until)).transpose()
}

pub(super) fn take_actions(fields: &mut Fields) -> Result<Option<Vec<Action>>, RuleError> {
    let actions = fields.take("actions");
    actions.map(|actions| read_array("actions", actions, Action::from_json)).transpose()
}

pub(super) fn require_actions(fields: &mut Fields) -> Result<Vec<Action>, RuleError> {
    read_array("actions", fields.require("actions")?, Action::from_json)
}

/// Parses the body of `POST /pushrules/reset`, such as `{"scope":"global"}`. Returns `None`, for
/// all scopes, if there is no scope or no body. Unknown fields are rejected, because a misspelt
/// `scope` would delete all rules.
pub fn parse_reset_scope(body: &[u8]) -> Result<Option<RuleScope>, RuleError> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::parse(body)?;
    let scope = fields.take_string("scope")?;
    reject_unknown_fields(fields, "scope")?;
    Ok(scope.map(|scope| scope.parse()).transpose()?)
}

/// Returns an error if there are fields that were not read. The error lists the known fields.
pub(super) fn reject_unknown_fields(
    fields: Fields,
    known_fields: &'static str,
) -> Result<(), RuleError> {
    match fields.into_remaining().into_iter().next() {
        Some((name, _)) => Err(RuleError::unknown_field(&name, known_fields)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
